"""Every address of the site, as the resolver has it, and requests to it: filled with ids, sent, and told by their
outcome. Says nothing of who may.
"""

import re
import uuid
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final

from django.core.cache import cache
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver

from tests.walls.owners import FILE

FOR_PROGRAMS: Final = ("/api/", "/v1/", "/mcp", "/a2a")
_PLACE: Final = re.compile(r"<(?:\w+:)?(\w+)>")
# The admin has two addresses as expressions.
_EXPRESSION: Final = re.compile(r"\^?\(\?P<(\w+)>[^)]*\)(/?)\$")
_UUID: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_ONCE: Final = re.compile(rf'(?:nonce|value|content)="[^"]*"|"nonce": *"[^"]*"|{_UUID}')
_NONE: Final[Mapping[str, str]] = {}
# How often somebody opened a link.
_OF_LINKS: Final = "throttle_shared_127.0.0.1"


def routes() -> list[str]:
    return [f"/{route}" for route in _routes(get_resolver())]


def _routes(resolver: Any, prefix: str = "") -> Iterator[str]:
    for pattern in resolver.url_patterns:
        route = prefix + _EXPRESSION.sub(r"<\1>\2", str(pattern.pattern))
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern, route)
        elif isinstance(pattern, URLPattern):
            yield route


def names_in(route: str) -> set[str]:
    return set(_PLACE.findall(route))


def filled(route: str, values: Mapping[str, str]) -> str:
    """Where nothing is known of a part, a word that names nothing."""
    known = {
        "id": values.get("member_id", "x"),
        "number": "1",
        "name": "hyperagent",
        "verdict_id": "1",
        "form": "json",
        "audit_form": "jsonl",
        "app_label": "hitl",
        **FILE,
        **values,
    }
    return _PLACE.sub(lambda part: known.get(part.group(1), "x"), route)


def missing(values: Mapping[str, str]) -> dict[str, str]:
    """Ids that nothing has."""
    return {name: _other(value) for name, value in values.items()}


def _other(value: str) -> str:
    if value.isdecimal():
        return str(int(value) + 1_000_000)
    return str(uuid.uuid4()) if "-" in value else "x" * len(value)


@dataclass(frozen=True, slots=True)
class Outcome:
    """`kind`: done, login (sent to the login page), or the status of the refusal."""

    kind: str
    status: int
    body: bytes = field(repr=False)
    headers: str = field(repr=False)
    queries: int

    @property
    def plainly(self) -> tuple[int, str]:
        """But for ids, and for what is another one each time."""
        return self.status, _ONCE.sub("", self.body.decode(errors="replace"))


class Browser:
    """One person's, or nobody's; it forgets what an answer did to its cookies."""

    def __init__(
        self, user: Any = None, *, token: str = "", csrf: bool = False, cookies: Mapping[str, str] = _NONE
    ) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.client = Client(enforce_csrf_checks=csrf, headers=headers)
        if user and not token:
            self.client.force_login(user)
        self.client.cookies.load(dict(cookies))
        self._cookies = deepcopy(self.client.cookies)

    def send(self, method: str, address: str, body: Any = None, **options: Any) -> Outcome:
        """`body`: a form as a mapping; without one an empty form, or empty JSON below /api/."""
        if address.startswith("/s/"):
            cache.delete(_OF_LINKS)
        is_json = address.startswith(FOR_PROGRAMS) and "content_type" not in options
        given: dict[str, Any] = {"content_type": "application/json", "data": "{}"} if is_json else {"data": body or {}}
        if method in ("PUT", "PATCH", "DELETE"):
            given["data"] = given["data"] or ""
        given = {} if method in ("GET", "HEAD", "OPTIONS") else given
        with CaptureQueriesContext(connection) as caught:
            answer = getattr(self.client, method.lower())(address, **given, **options)
        self.client.cookies = deepcopy(self._cookies)
        content = b"".join(answer) if answer.streaming and not answer.is_async else getattr(answer, "content", b"")
        return Outcome(_kind(answer), answer.status_code, content, str(answer.headers), len(caught))

    def try_out(self, method: str, address: str, body: Any = None) -> Outcome:
        """What it does is undone."""
        undone: Any = transaction.atomic()
        undone._from_testcase = True  # as Django's own test cases have it: what is durable may stand in it
        with undone:
            outcome = self.send(method, address, body)
            transaction.set_rollback(True)
        return outcome


def _kind(answer: Any) -> str:
    if "/login/" in answer.headers.get("Location", "") and answer.status_code == 302:
        return "login"
    return str(answer.status_code) if answer.status_code in (401, 403, 404, 405) else "done"
