"""The real page in a real browser, on a stage: its template, scripts and styles are the product's, and what a server
would say comes from recorded runs. What the page sends is kept, to be looked at.
"""

import json
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.contrib.auth.models import AnonymousUser
from django.template.loader import render_to_string
from django.test import RequestFactory
from playwright.sync_api import Page, WebSocketRoute

from hyperagent.accounts.models import User
from hyperagent.accounts.templatetags import frame
from tests.page.files import Files, served
from tests.page.recorded import QUESTION, Recorded

Json = dict[str, Any]
# What the product's own answers say (`hyperagent.settings`).
POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "object-src 'none'"
)
OVER = {"completed", "failed", "cancelled"}
MODES = ["task", "chat", "rag", "web", "research", "code", "data", "writing", "mail"]
MADE_AT = "2026-11-20T09:00:00Z"


@dataclass
class Turn:
    """A question and the run that answers it. `status`: what the tables say of the run when the page is loaded."""

    run: Recorded
    question: str = QUESTION
    status: str = "running"
    follow_ups: tuple[str, ...] = ()
    unasked: Json | None = None
    ids: tuple[str, str] = field(default_factory=lambda: (str(uuid.uuid4()), str(uuid.uuid4())))

    def messages(self, parent_id: str | None) -> list[Json]:
        asked, reply = self.ids
        end = self.run.last
        is_over = self.status in OVER
        execution = {
            "id": self.run.execution_id,
            "status": self.status,
            "last_seq": end["seq"],
            "error": None,
            "usage": end.get("usage", {"prompt_tokens": 0, "completion_tokens": 0, "cost_usd": 0}),
            "model": "gpt-5.2" if is_over else None,
            "started_at": _iso(self.run.began_ms),
            "ended_at": _iso(end["timestamp"]) if is_over else None,
        }
        shared = {"created_at": MADE_AT, "mode": "task", "client_id": None}
        answer = end.get("answer", "") if is_over else ""
        return [
            {
                "id": asked,
                "parent_id": parent_id,
                "role": "user",
                "text": self.question,
                "execution": None,
                "sources": [],
                **shared,
            },
            {
                "id": reply,
                "parent_id": asked,
                "role": "assistant",
                "text": answer,
                "execution": execution,
                "sources": end.get("sources", []),
                "follow_ups": list(self.follow_ups),
                "unasked": self.unasked,
                "checks": end.get("checks", []),
                **shared,
            },
        ]


def _page_of(events: list[Json], url: str) -> Json:
    """As the API gives a log: so many events after a number, and where the next ones are."""
    asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
    wanted = [event for event in events if not (event["type"] == "token" and asked.get("without") == "token")]
    rest = [event for event in wanted if event["seq"] > int(asked.get("after", 0))]
    limit = int(asked.get("limit", 200))
    page = rest[:limit]
    base = url.partition("?")[0]
    without = "&without=token" if "without" in asked else ""
    more = f"{base}?after={page[-1]['seq']}&limit={limit}{without}" if len(rest) > limit else None
    return {"next": more, "previous": None, "results": page}


def _iso(moment_ms: int) -> str:
    return datetime.fromtimestamp(moment_ms / 1000, UTC).isoformat()


@dataclass
class Stage:
    """`posts`: what the page sent to the API, as (path, body). `frames`: what it sent on its socket, but for pings and
    acknowledgements. `answers`: (status, body) by path, for what shall not be answered with an empty success.
    """

    page: Page
    turns: list[Turn]
    site: str = ""
    posts: list[tuple[str, Json]] = field(default_factory=list)
    frames: list[Json] = field(default_factory=list)
    answers: dict[str, tuple[int, Json]] = field(default_factory=dict)
    conversation_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    steer_answer: Json | None = field(default_factory=lambda: {"type": "ack"})
    answers_pings: bool = False
    socket: WebSocketRoute | None = None
    inboxes: list[WebSocketRoute] = field(default_factory=list)
    has_refused: bool = False
    picture: bytes | None = None
    """What every file of a workspace is, to who asks for its bytes; without, there is none."""

    @contextmanager
    def open(self) -> Iterator["Stage"]:
        """With a server of its own: a route in the browser would be asked about each of a hundred modules."""
        with served(partial(_Backstage, self)) as self.site:
            yield self.enter()

    def enter(self) -> "Stage":
        self.page.route_web_socket(re.compile(r"/ws/conversations/"), self._connected)
        self.page.route_web_socket(re.compile(r"/ws/inbox/"), self._inbox_opened)
        self.page.goto(f"{self.site}/c/{self.conversation_id}/")
        self.page.locator(".answer").last.wait_for()
        return self

    def _inbox_opened(self, socket: WebSocketRoute) -> None:
        self.inboxes.append(socket)
        socket.on_message(lambda text: self._pong(socket, json.loads(text)))

    def tell(self, turn: Turn, after: int) -> None:
        """What came to the run's log since."""
        assert self.socket is not None
        for event in turn.run.events[after:]:
            self.socket.send(json.dumps({"type": "event", "event": event}))

    def break_off(self) -> None:
        """The connection is lost; the page makes another."""
        socket, self.socket = self.socket, None
        assert socket is not None
        socket.close(code=1012)

    def html(self) -> str:
        request = RequestFactory().get("/")
        request.user = AnonymousUser()
        page_data = {
            "user": {
                "id": "1",
                "email": "alice@example.org",
                "display_name": "Alice",
                "initials": "A",
                "is_staff": False,
            },
            "frame": frame.of_chat(User(is_staff=True)),
            "conversation_id": self.conversation_id,
            "conversation": self.conversation,
            "model_notice": None,
            "max_question_chars": 100_000,
            "modes": MODES,
        }
        return render_to_string("conversations/chat.html", {"page_data": page_data}, request=request)

    @property
    def conversation(self) -> Json:
        return {"id": self.conversation_id, "title": "Vector databases", "updated_at": MADE_AT, "running": False}

    def answered(self, url: str, posted: Json | None) -> tuple[int, bytes, str]:
        """What the API says: status, body and its type. `posted`: of a POST, the JSON that it sent, if it was some."""
        path = url.removeprefix("/api/v1").partition("?")[0]
        if posted is not None:
            self.posts.append((path, posted))
        if path.startswith("/files/") and self.picture is not None:
            return 200, self.picture, "image/png"
        status, body = self.answers.get(path) or (200, self._reading(path, url))
        if path.startswith("/files/"):
            status, body = 404, {"error": {"code": "not_found", "message": "There is no such file."}}
        self.has_refused = self.has_refused or status >= 400
        return status, json.dumps(body).encode(), "application/json"

    def _reading(self, path: str, url: str) -> Json:
        if path == "/conversations":
            return {"next": None, "previous": None, "results": [self.conversation]}
        if path == "/agents":
            return {
                "results": [{"name": name, "description": f"Works on {name}", "enabled": True} for name in MODES[1:]]
            }
        if path.endswith("/messages"):
            rows: list[Json] = []
            for turn in self.turns:
                rows += turn.messages(rows[-1]["id"] if rows else None)
            return {"results": rows}
        for turn in self.turns:
            if path == f"/executions/{turn.run.execution_id}/events":
                return _page_of(turn.run.events, url)
        return {}

    def _connected(self, socket: WebSocketRoute) -> None:
        self.socket = socket
        socket.on_message(self._heard)
        for turn in self.turns:
            if turn.status not in OVER:
                self.tell(turn, 0)

    def _heard(self, text: str | bytes) -> None:
        frame = json.loads(text)
        self._pong(self.socket, frame)
        if frame["type"] in ("ping", "ack"):
            return
        self.frames.append(frame)
        if frame["type"] == "steer" and self.steer_answer and self.socket:
            self.socket.send(json.dumps({**self.steer_answer, "execution_id": frame["execution_id"]}))

    def _pong(self, socket: WebSocketRoute | None, frame: Json) -> None:
        if self.answers_pings and socket and frame["type"] == "ping":
            socket.send(json.dumps({"type": "pong"}))


class _Backstage(Files):
    """The product's files, the page, and the API."""

    def __init__(self, stage: Stage, *arguments: Any, **options: Any) -> None:
        self._stage = stage
        super().__init__(*arguments, **options)

    def do_GET(self) -> None:  # noqa: N802
        if self.path.startswith("/api/v1/"):
            self._answer(None)
        elif re.match(r"/c/[0-9a-f-]+/(\?.*)?$", self.path):
            self._say(200, self._stage.html().encode(), "text/html", {"Content-Security-Policy": POLICY})
        else:
            super().do_GET()

    def do_POST(self) -> None:  # noqa: N802
        sent = self._sent()
        is_form = "multipart" in self.headers.get("Content-Type", "")
        self._answer(json.loads(sent) if sent and not is_form else {})

    def do_PATCH(self) -> None:  # noqa: N802
        self._sent()
        self._answer(None)

    do_PUT = do_DELETE = do_PATCH  # noqa: N815

    def _sent(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _answer(self, posted: Json | None) -> None:
        self._say(*self._stage.answered(self.path, posted), {"X-Content-Type-Options": "nosniff"})

    def _say(self, status: int, body: bytes, kind: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
