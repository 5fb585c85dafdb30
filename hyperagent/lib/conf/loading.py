"""Reads all settings and names every bad one at once."""

import argparse
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from hyperagent.lib.conf.config import Config
from hyperagent.lib.conf.problems import BadConfig
from hyperagent.lib.conf.secrets import shown
from hyperagent.lib.llm.config import BadSettings, LLMSettings


def load(env: Mapping[str, str], *, needs_servers: bool = True) -> Config:
    """Reads all settings; `BadConfig` names every bad one, the models' included.

    Without `needs_servers`, the key and the addresses of Postgres and Redis may be missing.
    """
    problems: list[str] = []
    try:
        config = Config.read(env)
    except ValidationError as error:
        problems += [_sentence(fault) for fault in error.errors()]
        config = Config.model_construct()
    try:
        LLMSettings.from_env(env)
    except BadSettings as error:
        problems += [str(fault) for fault in error.faults]
    problems += _half(env, ("SMTP_URL", "IMAP_URL"), "the mailbox")
    problems += _half(env, ("GMAIL_CLIENT_ID", "GMAIL_CLIENT_SECRET"), "connecting Gmail")
    problems += _half(env, ("OIDC_ISSUER", "OIDC_CLIENT_ID"), "single sign-on")
    problems += _unsigned(env)
    problems += _alone(env)
    problems += _search_without_means(env)
    if needs_servers:
        problems += _missing(env)
    if problems:
        raise BadConfig(problems)
    return config


def number_as(name: str) -> Callable[[str], int]:
    """How argparse reads the option that stands in for this setting: by the same rule."""
    field, allowed = next((key, field.description) for key, field in Config.model_fields.items() if field.alias == name)

    def read(text: str) -> int:
        try:
            number: int = getattr(Config.model_validate({name: text}), field)
        except ValidationError:
            raise argparse.ArgumentTypeError(f"{text!r} is not allowed; allowed: {allowed}") from None
        return number

    return read


def _sentence(fault: Any) -> str:
    name = str(fault["loc"][0])
    allowed = next(field.description for field in Config.model_fields.values() if field.alias == name)
    return f"{name}={shown(name, str(fault['input']))} is not allowed; allowed: {allowed}"


def _missing(env: Mapping[str, str]) -> list[str]:
    ways = {
        "SECRET_KEY": "set it to at least 32 random characters, the same for every process",
        "DATABASE_URL": "set it to postgresql://user:password@host:port/database",
        "REDIS_URL": "set it to redis://host:port/0",
    }
    return [
        f"{name} is not set; {way}, or start everything with `manage.py up`, which brings its own"
        for name, way in ways.items()
        if not env.get(name, "").strip()
    ]


def _unsigned(env: Mapping[str, str]) -> list[str]:
    """Whoever takes the audit log has to be able to tell it from what others send."""
    goes_to, secret = (env.get(f"AUDIT_LOG_STREAM{part}", "").strip() for part in ("", "_SECRET"))
    if goes_to in ("", "stdout") or secret:
        return []
    return ["AUDIT_LOG_STREAM is set to an address, and AUDIT_LOG_STREAM_SECRET is not; what is posted there is signed"]


def _half(env: Mapping[str, str], names: tuple[str, str], what: str) -> list[str]:
    missing = [name for name in names if not env.get(name, "").strip()]
    if len(missing) != 1:
        return []
    return [f"{missing[0]} is not set, and {what} needs both {names[0]} and {names[1]}: set it, or none of them"]


def _alone(env: Mapping[str, str]) -> list[str]:
    """Settings of single sign-on that do nothing by themselves, and would be believed to."""
    needed = {"OIDC_REQUIRED": "OIDC_ISSUER", "OIDC_ALLOWED_DOMAINS": "OIDC_ISSUER", "OIDC_ROLES": "OIDC_ROLES_CLAIM"}
    off = ("", "false", "0", "no", "off", "{}")
    return [
        f"{other} is not set, and {name} needs it: set it, or take {name} out"
        for name, other in needed.items()
        if env.get(name, "").strip().lower() not in off and not env.get(other, "").strip()
    ]


def _search_without_means(env: Mapping[str, str]) -> list[str]:
    """The service that is named cannot be asked without its key or its address."""
    needed = {"tavily": "TAVILY_API_KEY", "searxng": "SEARXNG_URL"}
    chosen = env.get("SEARCH_PROVIDER", "").strip().lower()
    name = needed.get(chosen, "")
    if not name or env.get(name, "").strip():
        return []
    return [f"{name} is not set, and SEARCH_PROVIDER={chosen} needs it: set it, or take SEARCH_PROVIDER out"]
