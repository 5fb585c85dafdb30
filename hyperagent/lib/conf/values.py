"""What several settings have in common: how their values are read, and how it is said what is allowed."""

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


def _words(value: object) -> object:
    return tuple(word.strip() for word in value.split(",") if word.strip()) if isinstance(value, str) else value


def _words_or_none(value: object) -> object:
    return () if value == "none" else _words(value)


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


Words = Annotated[tuple[str, ...], BeforeValidator(_words)]
Percents = Annotated[tuple[Annotated[int, Field(ge=1, le=100)], ...], BeforeValidator(_words_or_none)]
Lower = BeforeValidator(_lower)
FLAG = "true or false"
DOLLARS = "dollars such as 2.50, 0 for no limit"
TOKENS = "tokens, 0 for no limit"
HOSTS = "hosts, with commas between them, such as example.com,*.example.com"
REDACTABLE = ("card", "iban", "ssn", "email", "phone", "ip", "secret")
MONTH_S = 2_592_000
SIGNING_SECRET = re.compile(r"whsec_(?:[A-Za-z0-9+/]{4}){8,}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
SECONDS = f"whole seconds, 1 to {MONTH_S} (30 days)"


class Topic(BaseModel):
    """Settings that belong together. A field's alias is the variable's name, its description says what is allowed."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=False)


# As Django reads the `Host` of a request: without a port, and for names in other scripts as they are sent (xn--…).
_HOST = re.compile(r"\*|\.?[a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[a-f0-9:.]+\]", re.IGNORECASE)


def host_pattern(value: str) -> str:
    """A host that is answered, `.` and a domain for all below it too, or `*` for any. Raises ValueError."""
    if not _HOST.fullmatch(value):
        raise ValueError("no request can name this host")
    return value


def is_ended_by_its_host(url: str) -> bool:
    """False where a sign of the password ends what is taken for the host: `/` and `#` are written as %2F and %23."""
    parts = urlsplit(url)
    return "@" not in f"{parts.path}{parts.fragment}"


def web_address(value: str) -> str:
    """Raises ValueError."""
    parts = urlsplit(value)
    # To look at a port that is no number raises.
    is_reached = parts.hostname and parts.port != 0
    if parts.scheme not in ("http", "https") or not is_reached or parts.path.strip("/"):
        raise ValueError("not a web address")
    return value.rstrip("/")
