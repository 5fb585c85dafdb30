"""Which variables are secrets, and what of them may be shown."""

import re
from collections.abc import Mapping
from urllib.parse import parse_qs, unquote, urlsplit

from hyperagent.lib.llm.config import LLMSettings

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


def is_secret(name: str) -> bool:
    return name not in NO_SECRETS and (name in SECRET_URLS or any(mark in name for mark in SECRET_NAMES))


def shown(name: str, value: str) -> str:
    """The value as a person may see it: secrets hidden, long ones cut."""
    return "(hidden)" if is_secret(name) else repr(value if len(value) <= 80 else value[:77] + "…")


def secrets_in(env: Mapping[str, str]) -> tuple[str, ...]:
    """The secret values of the environment (passwords within addresses too), longest first: what no log may show."""
    found = {secret for provider in LLMSettings.from_env(env).providers for secret in provider.secrets}
    for name, value in env.items():
        if name in SECRET_URLS:
            found |= _passwords_in(value)
        elif is_secret(name):
            found |= {value, *(part.strip() for part in value.split(","))} if name in SECRET_LISTS else {value}
    # Shorter ones would blot out ordinary words.
    return tuple(sorted((value for value in found if len(value) >= 6), key=len, reverse=True))


def _passwords_in(url: str) -> set[str]:
    """As they are written, and as they are meant. One with a `#` in it, which ends what is taken for the host, goes
    on to its `@`."""
    parts = urlsplit(url)
    whole = re.match(r"[^:/]*://[^:@/]*:(.*)@", url)
    written = {parts.password or "", whole[1] if whole else "", *parse_qs(parts.query).get("password", ())}
    return {*written, *map(unquote, written)}
