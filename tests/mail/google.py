"""Google on this machine: the consent page, the tokens, and as much of Gmail's REST API as is used, in its real shapes.

As Gmail does, it gives a mail that is sent a Message-ID of its own. Failures are scripted by the test.
"""

import base64
import hashlib
import json
import re
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

CLIENT_ID, CLIENT_SECRET = "client-1", "client-secret-canary"
ADDRESS = "alice@gmail.example"


@dataclass
class Stored:
    id: str
    raw: bytes
    labels: tuple[str, ...]
    thread_id: str
    at_ms: int = 0

    @property
    def message(self) -> Any:
        return message_from_bytes(self.raw)


@dataclass
class Google:
    """Use as a context manager. `fails`: paths' ends → (status, body) that is answered instead, while they are there.

    `on_send` is called when a mail was taken and before it is said; it may kill. `hangs_up`: closes the connection
    instead of the answer to a mail that was sent or drafted. `scopes`: what people allow. `whole_takes_s`: how long it
    takes to give a whole mail; `most_whole`: how many were given at the same time.
    """

    fails: dict[str, tuple[int, dict[str, Any]]] = field(default_factory=dict)
    hangs_up: bool = False
    on_send: Callable[[], None] = lambda: None
    scopes: str = ""
    keeps_ids: bool = False
    whole_takes_s: float = 0
    most_whole: int = 0
    whole_now: int = 0
    mails: list[Stored] = field(default_factory=list)
    drafts: dict[str, Stored] = field(default_factory=dict)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    refresh_tokens: set[str] = field(default_factory=set)
    access_tokens: set[str] = field(default_factory=set)
    revoked: list[str] = field(default_factory=list)
    refreshes: int = 0
    asked: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> Self:
        google = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                google.answer(self)

            do_POST = do_DELETE = do_GET  # noqa: N815

            def log_message(self, *arguments: Any) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def grant(self) -> str:
        """A refresh token, as if somebody had gone through the consent page."""
        token = f"refresh-{secrets.token_hex(8)}"
        self.refresh_tokens.add(token)
        return token

    def consent(self, url: str) -> dict[str, str]:
        """A person says yes on the consent page at `url`: what they are sent back with."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert url.startswith(f"{self.url}/o/oauth2/v2/auth?")
        assert (asked["client_id"], asked["response_type"]) == (CLIENT_ID, "code")
        assert (asked["code_challenge_method"], asked["access_type"]) == ("S256", "offline")
        code = f"code-{secrets.token_hex(8)}"
        self.codes[code] = asked
        return {"code": code, "state": asked["state"]}

    def put(self, raw: bytes, *labels: str, thread_id: str = "") -> Stored:
        with self._lock:
            id_ = f"{len(self.mails) + 0x18C0:x}"
            mail = Stored(id_, raw, labels or ("INBOX",), thread_id or f"t{id_}", 1_790_000_000_000 + len(self.mails))
            self.mails.append(mail)
            return mail

    # --- answering

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(handler.path)
        length = int(handler.headers.get("content-length") or 0)
        body = handler.rfile.read(length)
        self.asked.append(f"{handler.command} {parts.path}")
        try:
            scripted = next((said for end, said in self.fails.items() if parts.path.endswith(end)), None)
            status, said = scripted or self._said(handler, parts.path, parse_qs(parts.query), body)
        except _HangUp:
            handler.close_connection = True
            handler.connection.close()
            return
        text = json.dumps(said).encode()
        handler.send_response(status)
        handler.send_header("content-type", "application/json; charset=UTF-8")
        handler.send_header("content-length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text)

    def _said(self, handler: Any, path: str, query: dict[str, list[str]], body: bytes) -> tuple[int, dict[str, Any]]:
        if path == "/token":
            return self._token({name: values[0] for name, values in parse_qs(body.decode()).items()})
        if path == "/revoke":
            token = parse_qs(body.decode())["token"][0]
            self.revoked.append(token)
            self.refresh_tokens.discard(token)
            return 200, {}
        token = handler.headers.get("authorization", "").removeprefix("Bearer ")
        if token not in self.access_tokens:
            return 401, _error(401, "authError", "UNAUTHENTICATED")
        below = re.sub(r"^(/upload)?/gmail/v1/users/me/", "", path)
        return self._gmail(handler.command, below, query, body, handler.headers.get("content-type", ""))

    def _token(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        if (form.get("client_id"), form.get("client_secret")) != (CLIENT_ID, CLIENT_SECRET):
            return 401, {"error": "invalid_client", "error_description": "The OAuth client was not found."}
        said: dict[str, Any] = {"expires_in": 3599, "token_type": "Bearer"}
        if form["grant_type"] == "authorization_code":
            asked = self.codes.pop(form["code"], None)
            challenge = hashlib.sha256(form["code_verifier"].encode()).digest()
            fits = base64.urlsafe_b64encode(challenge).rstrip(b"=").decode()
            if asked is None or asked["code_challenge"] != fits or asked["redirect_uri"] != form["redirect_uri"]:
                return 400, {"error": "invalid_grant", "error_description": "Bad Request"}
            said |= {"refresh_token": self.grant(), "scope": self.scopes or asked["scope"]}
        elif form["refresh_token"] not in self.refresh_tokens:
            return 400, {"error": "invalid_grant", "error_description": "Token has been expired or revoked."}
        else:
            self.refreshes += 1
        access = f"access-{secrets.token_hex(8)}"
        self.access_tokens.add(access)
        return 200, {**said, "access_token": access}

    def _gmail(
        self, method: str, path: str, query: dict[str, list[str]], body: bytes, kind: str
    ) -> tuple[int, dict[str, Any]]:
        what, _, id_ = path.partition("/")
        match method, what, id_:
            case "GET", "profile", _:
                return 200, {"emailAddress": ADDRESS, "messagesTotal": len(self.mails), "threadsTotal": 1}
            case "GET", "settings", _:
                alias = {"sendAsEmail": ADDRESS, "displayName": "Alice Ärmel", "isPrimary": True}
                return 200, {"sendAs": [alias]}
            case "GET", "labels", _:
                own = {"id": "L1", "name": "Bills", "type": "user"}
                return 200, {"labels": [{"id": "INBOX", "name": "INBOX", "type": "system"}, own]}
            case "POST", "messages", "send":
                return self._send(body, kind)
            case "POST", "drafts", _:
                raw, told = _handed_over(body, kind)
                raw = raw or _bytes(told["message"]["raw"])
                draft_id = f"r-{len(self.drafts) + 1}"
                thread_id = told["message"].get("threadId", "td")
                self.drafts[draft_id] = Stored(f"d{len(self.drafts)}", raw, ("DRAFT",), thread_id)
                if self.hangs_up:
                    raise _HangUp
                return 200, {"id": draft_id, "message": {"id": self.drafts[draft_id].id, "labelIds": ["DRAFT"]}}
            case "GET", "drafts", "":
                found = [(name, mail) for name, mail in self.drafts.items() if _fits(mail, query)]
                listed = [{"id": name, "message": {"id": mail.id, "threadId": mail.thread_id}} for name, mail in found]
                return 200, {"drafts": listed, "resultSizeEstimate": len(listed)}
            case "GET", "drafts", _:
                draft = self.drafts.get(id_)
                return (200, {"id": id_, "message": _shown(draft, "raw")}) if draft else _gone()
            case "DELETE", "drafts", _:
                return (200, {}) if self.drafts.pop(id_, None) else _gone()
            case "GET", "messages", "":
                fitting = [mail for mail in reversed(self.mails) if _fits(mail, query)]
                fitting = fitting[: int(query.get("maxResults", ["100"])[0])]
                listed = [{"id": mail.id, "threadId": mail.thread_id} for mail in fitting]
                return 200, {"resultSizeEstimate": len(listed), **({"messages": listed} if listed else {})}
            case "GET", "messages", _ if query["format"] == ["raw"] and self.whole_takes_s:
                with self._lock:
                    self.whole_now += 1
                    self.most_whole = max(self.most_whole, self.whole_now)
                time.sleep(self.whole_takes_s)
                with self._lock:
                    self.whole_now -= 1
                return 200, _shown(next(mail for mail in self.mails if mail.id == id_), "raw")
            case "GET", "messages", _:
                stored = next((mail for mail in [*self.mails, *self.drafts.values()] if mail.id == id_), None)
                return (200, _shown(stored, query["format"][0])) if stored else _gone()
            case "GET", "threads", _:
                mails = [{"id": mail.id, "threadId": id_} for mail in self.mails if mail.thread_id == id_]
                return (200, {"id": id_, "messages": mails}) if mails else _gone()
            case _:
                return 400, _error(400, "badRequest", "INVALID_ARGUMENT")

    def _send(self, body: bytes, kind: str) -> tuple[int, dict[str, Any]]:
        raw, told = _handed_over(body, kind)
        raw = raw or _bytes(told["raw"])
        if not message_from_bytes(raw)["To"]:
            return 400, _error(400, "invalidArgument", "INVALID_ARGUMENT")
        if not self.keeps_ids:
            own = f"Message-ID: <{secrets.token_hex(6)}@mail.gmail.com>"
            raw = re.sub(rb"(?im)^message-id:.*$", own.encode(), raw, count=1)
        sent = self.put(raw, "SENT", thread_id=told.get("threadId", ""))
        self.on_send()
        if self.hangs_up:
            raise _HangUp
        return 200, {"id": sent.id, "threadId": sent.thread_id, "labelIds": ["SENT"]}

    @property
    def sent(self) -> list[Any]:
        return [mail.message for mail in self.mails if "SENT" in mail.labels]


class _HangUp(Exception):
    """No answer."""


def _handed_over(body: bytes, kind: str) -> tuple[bytes, Any]:
    """A mail that is beside what is told of it, none if it is within; and that."""
    if not kind.startswith("multipart/related"):
        return b"", json.loads(body)
    whole = message_from_bytes(f"Content-Type: {kind}\r\n\r\n".encode() + body)
    parts: Any = whole.get_payload()
    return parts[1].get_payload()[0].as_bytes(), json.loads(parts[0].get_payload())


def _fits(mail: Stored, query: dict[str, list[str]]) -> bool:
    """The few words of Gmail's syntax that the tests use."""
    if any(label not in mail.labels for label in query.get("labelIds", [])):
        return False
    head = mail.message
    for word in query.get("q", [""])[0].split():
        name, _, value = word.partition(":")
        if name == "rfc822msgid" and head["Message-ID"] != f"<{value}>":
            return False
        if name in ("from", "subject") and value.lower() not in str(head[name]).lower():
            return False
        if name == "label" and value not in mail.labels:
            return False
    return True


def _shown(mail: Stored, form: str) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "id": mail.id,
        "threadId": mail.thread_id,
        "labelIds": list(mail.labels),
        "snippet": "It&#39;s here &amp; there",
        "internalDate": str(mail.at_ms),
        "sizeEstimate": len(mail.raw),
    }
    if form == "raw":
        return {**shown, "raw": base64.urlsafe_b64encode(mail.raw).decode()}
    headers = [{"name": name, "value": str(value)} for name, value in mail.message.items()]
    return {**shown, "payload": {"headers": headers}}


def _bytes(raw: str) -> bytes:
    return base64.urlsafe_b64decode(raw + "=" * (-len(raw) % 4))


def _error(code: int, reason: str, status: str) -> dict[str, Any]:
    one = {"message": "Said <b>by</b> Google", "domain": "global", "reason": reason}
    return {"error": {"code": code, "message": "Said <b>by</b> Google", "errors": [one], "status": status}}


def _gone() -> tuple[int, dict[str, Any]]:
    return 404, _error(404, "notFound", "NOT_FOUND")


__all__ = ["ADDRESS", "CLIENT_ID", "CLIENT_SECRET", "Google"]
