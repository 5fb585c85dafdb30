"""Reads SENTRY_DSN: where faults are told. Pure."""

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from hyperagent.lib.outside.addresses import BadAddress, canonical

DSN_FORM: Final = "http(s)://key@host[:port][/path]/project, as Sentry shows it"


@dataclass(frozen=True, slots=True)
class FaultAddress:
    """`url` takes envelopes; `key` is the public half of a pair and says whose they are."""

    url: str
    key: str


def fault_address(dsn: str) -> FaultAddress:
    """Raises ValueError. A private address is allowed: it is the operator's own choice."""
    parts = urlsplit(dsn)
    folder, _, project = parts.path.rpartition("/")
    if not parts.username or not project.isalnum() or parts.query or parts.fragment:
        raise ValueError("not a DSN")
    url = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{folder}/api/{project}/envelope/"
    try:
        canonical(url, allow_private=True)
    except BadAddress:
        raise ValueError("not a web address") from None
    return FaultAddress(url, parts.username)
