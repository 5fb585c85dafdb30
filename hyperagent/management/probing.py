"""Whether the servers that the settings name are there. They are asked side by side, for a few seconds; one that does
not answer is a warning, for it may be started yet. Says no secret.
"""

import socket
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from django.core import mail

from hyperagent.lib.conf import Config, SearchProvider
from hyperagent.lib.llm.config import LLMSettings
from hyperagent.lib.llm.providers import BUNDLED, Provider
from hyperagent.lib.outgoing_mails import mails_leave
from hyperagent.management.findings import Finding, State

PATIENCE_S: Final = 3.0
_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Probe:
    """`ask` raises OSError, or ValueError for what is no address, where nobody answers."""

    name: str
    mend: str
    ask: Callable[[], None]


def check_services(config: Config, models: LLMSettings) -> Iterable[Finding]:
    """A finding for each server that is named: model servers, the search, the mail server."""
    probes = [*_model_servers(models), *_search(config), *_mail_server(config)]
    with ThreadPoolExecutor(max_workers=len(probes) or 1, thread_name_prefix="probe") as threads:
        yield from threads.map(_finding, probes)


def check_mails() -> Iterable[Finding]:
    if not mails_leave():
        yield Finding(
            State.WARNING,
            "mails to people stand in the log only (EMAIL_URL=consolemail://)",
            "set EMAIL_URL to a mail server",
        )


def shown(address: str) -> str:
    """Of an address what everybody may see: neither user nor password, nor what is asked there."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _model_servers(models: LLMSettings) -> Iterable[Probe]:
    for provider in models.providers:
        if provider.base_url:
            name = f"the model server {provider.name} at {shown(provider.base_url)}"
            yield Probe(name, _way_to(provider), _connecting(provider.base_url))


def _way_to(provider: Provider) -> str:
    if provider.name == BUNDLED:
        return "start `manage.py up`, which brings it, or set a provider's key (see .env.example)"
    where = "OPENAI_COMPATIBLE_PROVIDERS" if provider.plain else f"{provider.name.upper()}_BASE_URL"
    return f"start it, or correct {where}"


def _search(config: Config) -> Iterable[Probe]:
    if config.searxng_url and config.search_provider in (None, SearchProvider.SEARXNG):
        yield Probe(
            f"SearXNG at {shown(config.searxng_url)}",
            "start it, or correct SEARXNG_URL",
            _connecting(config.searxng_url),
        )
    if config.tavily_base_url:
        mend = "start it, or correct TAVILY_BASE_URL"
        yield Probe(f"Tavily at {shown(config.tavily_base_url)}", mend, _connecting(config.tavily_base_url))


def _mail_server(config: Config) -> Iterable[Probe]:
    address = config.email_url.get_secret_value()
    if urlsplit(address).scheme not in ("consolemail", "memorymail"):
        yield Probe(
            f"the mail server of EMAIL_URL, {shown(address)},", "start it, or correct EMAIL_URL", _sign_in_for_mail
        )


def _connecting(address: str) -> Callable[[], None]:
    def ask() -> None:
        parts = urlsplit(address)
        socket.create_connection((parts.hostname or "", parts.port or _PORTS[parts.scheme]), PATIENCE_S).close()

    return ask


def _sign_in_for_mail() -> None:
    """As before each mail: with the user and the password of EMAIL_URL."""
    server = mail.get_connection(timeout=PATIENCE_S)
    server.open()
    server.close()


def _finding(probe: Probe) -> Finding:
    try:
        probe.ask()
    except (OSError, ValueError) as error:
        why = str(error) or type(error).__name__
        return Finding(State.WARNING, f"{probe.name} does not answer: {why.splitlines()[0]}", probe.mend)
    return Finding(State.FINE, f"{probe.name} answers")
