"""What an approval is bound to: the hash of a tool and the arguments that it is called with. Pure."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def arguments_hash(tool: str, arguments: Mapping[str, Any]) -> str:
    """SHA-256 of both in canonical JSON: 64 hexadecimal digits, the same on every machine.

    Whole numbers count as equal however they are written (1 and 1.0), as storage may change that.
    """
    canonical = json.dumps([tool, _exact(arguments)], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def _exact(value: Any) -> Any:
    match value:
        case Mapping():
            return {str(key): _exact(item) for key, item in value.items()}
        case list() | tuple():
            return [_exact(item) for item in value]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value
