"""Which variables are secrets, and what of them may be shown."""

import re
from collections.abc import Mapping
from urllib.parse import parse_qs, unquote, urlsplit

from hyperagent.lib.clipping import beginning
from hyperagent.lib.llm.config import LLMSettings
from hyperagent.lib.llm.environment import without_password

SECRET_NAMES = ("SECRET_KEY", "PASSWORD", "API_KEY", "TOKEN", "_SECRET", "OTLP_HEADERS", "OTLP_TRACES_HEADERS")
# A number of tokens, not one.
NO_SECRETS = (
    "CONTEXT_COMPRESSION_TOKEN_THRESHOLD",
    "RUN_BUDGET_TOKENS",
    "USER_BUDGET_TOKENS_PER_DAY",
    "USER_BUDGET_TOKENS_PER_MONTH",
    "INSTALLATION_BUDGET_TOKENS_PER_DAY",
    "INSTALLATION_BUDGET_TOKENS_PER_MONTH",
)
_SERVERS = ("DATABASE_URL", "DATABASE_DIRECT_URL", "REDIS_URL", "STORAGE_URL")
SECRET_URLS = (*_SERVERS, "EMAIL_URL", "IMAP_URL", "SMTP_URL", "SENTRY_DSN")
# Several secrets with commas between.
SECRET_LISTS = ("SECRET_KEY_FALLBACKS",)
_SHOWN_CHARS = 80


def is_secret(name: str) -> bool:
    return name not in NO_SECRETS and (name in SECRET_URLS or any(mark in name for mark in SECRET_NAMES))


def shown(name: str, value: str) -> str:
    """The value as a person may see it: secrets hidden, passwords within addresses too, long ones cut."""
    if is_secret(name):
        return "(hidden)"
    safe = without_password(value)
    return repr(beginning(safe, _SHOWN_CHARS))


def secrets_in(env: Mapping[str, str]) -> tuple[str, ...]:
    """The secret values of the environment (passwords within addresses too), longest first: what no log may show."""
    found = {secret for provider in LLMSettings.from_env(env).providers for secret in provider.secrets}
    for name, value in env.items():
        found |= _secrets_of(name, value)
    # Shorter ones would blot out ordinary words.
    return tuple(sorted((value for value in found if len(value) >= 6), key=len, reverse=True))


def _secrets_of(name: str, value: str) -> set[str]:
    if name in SECRET_URLS or not is_secret(name):
        return _passwords_in(value)
    return {value, *(part.strip() for part in value.split(","))} if name in SECRET_LISTS else {value}


def _passwords_in(value: str) -> set[str]:
    """Of an address, as they are written and as they are meant. One with a `#` in it, which ends what is taken for the
    host, goes on to its `@`."""
    whole = re.match(r"[^:/]*://[^:@/]*:(.*)@", value)
    written = {whole[1]} if whole else set()
    try:
        parts = urlsplit(value)
    except ValueError:
        pass  # no address
    else:
        written |= {parts.password or "", *parse_qs(parts.query).get("password", ())}
    return {*written, *map(unquote, written)}
