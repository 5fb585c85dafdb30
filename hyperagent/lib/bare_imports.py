"""Imports libraries without the others that they would take along because they happen to be installed, and that nobody
here uses through them. Each of these imports is optional to the library itself; who needs one of the others imports it
by itself, before or after.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from types import ModuleType
from typing import Final

EVERYWHERE: Final[Mapping[str, tuple[str, ...]]] = {
    # Colours, and loggers for other frameworks: 220 modules.
    "structlog": ("rich", "better_exceptions", "greenlet", "twisted"),
    # Metrics of its own, which stay off, and certificates that it could look up.
    "redis.asyncio": ("opentelemetry", "cryptography"),
    # Pages that show the API, another form of its description, and a client for tests.
    "rest_framework.compat": ("requests", "yaml", "markdown", "pygments"),
}
"""Django's setup of a process takes 160 ms and 13 MB less with them."""
WEB: Final[Mapping[str, tuple[str, ...]]] = {
    # TLS and HTTP/2, which the proxy in front speaks; what speaks WAMP; colours.
    "daphne.cli": ("OpenSSL", "h2", "cbor2", "click"),
    # What describes the API asks Django's test client, and that looks for other templates than ours.
    "django.test.utils": ("jinja2",),
}
"""A web process is 10 MB lighter with them."""
UNCALLED: Final = ("autobahn.wamp.auth",)
"""What Daphne's websockets import, by way of what speaks WAMP, and nobody calls: it would load `cryptography`, 6 MB
that a web process needs when it first opens a secret, if ever."""
LITELLM: Final[Mapping[str, tuple[str, ...]]] = {
    # A command that shows what a server answers, in colours.
    "httpx": ("click", "rich", "pygments"),
}
"""A runner that is going to load LiteLLM is 4 MB lighter with them."""


def import_bare(libraries: Mapping[str, tuple[str, ...]]) -> None:
    """Before anybody else imports them. `libraries`: what is to be taken for absent meanwhile, by library."""
    for library, others in libraries.items():
        with absent(others):
            import_module(library)


def absent(names: tuple[str, ...]) -> AbstractContextManager[None]:
    """Inside, importing any of these fails as if it were not installed (None in `sys.modules` means just that). For
    the start of a process, while there is one thread."""
    return _replaced(dict.fromkeys(names))


def hollow(names: tuple[str, ...]) -> AbstractContextManager[None]:
    """Inside, these modules are empty; whoever imports them afterwards gets the real ones. For the start of a process,
    while there is one thread."""
    return _replaced({name: ModuleType(name) for name in names})


@contextmanager
def _replaced(modules: Mapping[str, ModuleType | None]) -> Iterator[None]:
    before = {name: sys.modules[name] for name in modules if name in sys.modules}
    sys.modules.update(modules)  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in modules:
            del sys.modules[name]
        sys.modules.update(before)
