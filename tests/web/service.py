"""Search services on loopback that speak the real protocols, Tavily's and SearXNG's: they find what a test wrote for a
query, check what they are asked as the real ones do, and can be told to fail."""

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

KEY = "tvly-scripted-0123456789"
DEPTHS = ("basic", "advanced", "fast", "ultra-fast")
TOPICS = ("general", "news", "finance")


@dataclass(frozen=True)
class Said:
    """An answer in place of the real one."""

    status: int = 200
    body: bytes = b"{}"
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)


def row(url: str, **more: Any) -> dict[str, Any]:
    """A result with the fields of both services."""
    return {"url": url, "title": f"About {url}", "content": f"What {url} says.", "score": 0.5, **more}


class SearchServer:
    """`rows`: what is found. `instead`: answers that come first, each once."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.answer: str | None = None
        self.dead_engines: list[Any] = []
        self.instead: list[Said] = []
        self.asked: list[dict[str, Any]] = []
        self.leave = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                self._give(server._tavily(self.path, self.headers.get("authorization", ""), body))

            def do_GET(self) -> None:
                self._give(server._searxng(self.path))

            def _give(self, said: Said) -> None:
                self.send_response(said.status)
                self.send_header("content-type", said.content_type)
                self.send_header("content-length", str(len(said.body)))
                for name, value in said.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(said.body)

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: Any) -> None:
                """Whoever asks may hang up."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self.leave.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    def _tavily(self, path: str, authorization: str, body: bytes) -> Said:
        asked = json.loads(body)
        self.asked.append(asked)
        if self.instead:
            return self._first()
        if path != "/search":
            return Said(404, b'{"detail": "Not Found"}')
        if authorization != f"Bearer {KEY}":
            return _json({"detail": {"error": "Unauthorized: missing or invalid API key."}}, 401)
        fault = self._tavily_fault(asked)
        if fault:
            return _json({"detail": {"error": fault}}, 400)
        found = [self._tavily_row(one, asked) for one in self.rows][: asked["max_results"]]
        answer = self.answer if asked.get("include_answer") else None
        said = {"query": asked["query"], "answer": answer, "images": [], "results": found, "response_time": 0.1}
        return _json({**said, "follow_up_questions": None, "request_id": "1"})

    def _tavily_fault(self, asked: dict[str, Any]) -> str:
        if not asked.get("query") or len(asked["query"]) > 400:
            return "Query is missing or too long. Max query length is 400 characters."
        if asked.get("search_depth") not in DEPTHS or asked.get("topic") not in TOPICS:
            return "Invalid search depth or topic."
        return "" if 0 <= asked.get("max_results", 5) <= 20 else "Max results must be between 0 and 20."

    def _tavily_row(self, one: Any, asked: dict[str, Any]) -> Any:
        if not isinstance(one, dict):
            return one
        raw = one.get("raw_content") if asked.get("include_raw_content") else None
        return {**one, "raw_content": raw}

    def _searxng(self, path: str) -> Said:
        parts = urlsplit(path)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.asked.append({"path": parts.path, **asked})
        if self.instead:
            return self._first()
        if parts.path != "/search":
            return Said(404, b"<html>Not Found</html>", "text/html")
        if asked.get("format") != "json":
            return Said(200, b"<!DOCTYPE html><html><body>SearXNG</body></html>", "text/html; charset=utf-8")
        answers = [{"answer": self.answer, "url": None, "template": "answer/legacy.html"}] if self.answer else []
        said = {"query": asked["q"], "number_of_results": 0, "results": self.rows, "answers": answers}
        more = {"corrections": [], "infoboxes": [], "suggestions": [], "unresponsive_engines": self.dead_engines}
        return _json({**said, **more})

    def _first(self) -> Said:
        said = self.instead.pop(0)
        if said.status == 0:
            self.leave.wait(60)
        return said


def _json(value: Any, status: int = 200) -> Said:
    return Said(status, json.dumps(value).encode())


HANGS = Said(0)
"""Says nothing until the test is over."""
