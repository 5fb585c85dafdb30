"""The vectors of texts by the product's local model, kept in a folder so that a second run need not make them."""

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from memory.embedding.local import LocalModel

AT_ONCE = 8
SAID_EVERY = 400


class Kept:
    """`folder`: where they are kept, named by the model and the texts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._model: LocalModel | None = None

    def of(self, name: str, texts: Sequence[str]) -> tuple[Any, Any]:
        """(windows, 384) of unit length, and the place of the text that each window is of."""
        path = self._folder / f"{name}-{_digest(texts)}.npz"
        if not path.exists():
            windows, owners = self._made(name, texts)
            path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(path, v=windows, own=owners)
        kept = np.load(path)
        return kept["v"], kept["own"]

    def _made(self, name: str, texts: Sequence[str]) -> tuple[Any, Any]:
        self._model = self._model or LocalModel()
        windows, owners = [], []
        for start in range(0, len(texts), AT_ONCE):
            if start % SAID_EVERY == 0:
                sys.stderr.write(f"vectors of {name}: {start} of {len(texts)}\n")
            some = self._model.windows(texts[start : start + AT_ONCE], lambda: None)
            for at, one in enumerate(some, start):
                windows += one
                owners += [at] * len(one)
        return np.array(windows, dtype=np.float32), np.array(owners, dtype=np.int32)


def _digest(texts: Sequence[str]) -> str:
    digest = hashlib.sha256(LocalModel.name.encode())
    for text in texts:
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()[:16]
