"""HyperAgent's tools, for scripts in its sandbox.

Every call is checked, shown to people and recorded, and may wait for a person's yes. What cannot be done raises
`ToolError`, whose text says why and what to do instead. A script that was interrupted is run again from its start:
calls that it had made return at once what they returned before, so make the same calls in the same way each time.
"""

import os
import random
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ._gateway import AT_ONCE, GatewayGone, ToolError, call

__all__ = [
    "Finished",
    "GatewayGone",
    "ToolError",
    "ask_user",
    "browse",
    "call",
    "fetch_url",
    "fork",
    "gather",
    "list_files",
    "read_file",
    "run_command",
    "search_documents",
    "wait",
    "web_search",
    "write_file",
]

T = TypeVar("T")

if "HYPERAGENT_SEED" in os.environ:
    # So that chance falls as it did when the script is run again.
    random.seed(os.environ["HYPERAGENT_SEED"])


class Finished(NamedTuple):
    """What a command gave. `exit_code` 0 is success."""

    stdout: str
    stderr: str
    exit_code: int


def web_search(query: str, max_results: int = 5) -> list[dict[str, Any]]:
    """Searches the web: dicts with `title`, `url`, `snippet`, `score`."""
    return list(_part(call("web_search", query=query, max_results=max_results), "results", []))


def fetch_url(url: str, part: int = 1) -> str:
    """The text of a web page. Long pages come in parts, from 1 on."""
    more = {} if part == 1 else {"part": part}
    return str(_part(call("fetch_url", url=url, **more), "text", ""))


def browse(url: str) -> dict[str, Any]:
    """Opens a page in the browser: a dict with `url`, `title`, `text`. Where there is no browser the page is read.

    The browser's other tools, for agents that have them: `call("browser_…", …)`.
    """
    try:
        seen: dict[str, Any] = call("browser_navigate", url=url)
    except ToolError as error:
        if error.code != "not_configured":
            raise
        seen = call("fetch_url", url=url)
    return seen


def search_documents(query: str, top_k: int = 8) -> list[dict[str, Any]]:
    """The best passages of the user's documents: dicts with `text`, `score`, `doc_id`, `metadata`."""
    return list(_part(call("search_documents", query=query, top_k=top_k), "chunks", []))


def list_files(prefix: str = "", scope: str = "conversation") -> list[dict[str, Any]]:
    """Up to 500 files of a workspace: dicts with `path` and `size_bytes`. `scope`: conversation, project or user."""
    found: list[dict[str, Any]] = call("list_files", prefix=prefix, scope=scope)
    return found


def read_file(path: str, scope: str = "conversation") -> str:
    """A text file of a workspace. Those of the conversation also lie in the working folder: `open` them."""
    pieces: list[str] = []
    line: int | None = 1
    while line is not None:
        found = call("read_file", path=path, scope=scope, **({} if line == 1 else {"first_line": line}))
        if _part(found, "is_cut", False):
            # A piece of it would be taken for all of it.
            raise ToolError("read_file", "too_long", f"{path} has a line that is too long to be read by a call.")
        pieces.append(str(_part(found, "text", "")))
        line = _part(found, "next_line", None)
    return "".join(pieces)


def write_file(path: str, content: str, scope: str = "conversation") -> str:
    """Writes a text file of a workspace, and gives its path; one of the conversation into the working folder, too."""
    written = str(_part(call("write_file", path=path, content=content, scope=scope), "path", path))
    if scope == "conversation":
        here = Path.home() / path
        here.parent.mkdir(parents=True, exist_ok=True)
        here.write_text(content, encoding="utf-8")
    return written


def run_command(command: str | Sequence[str], timeout_s: float = 120) -> Finished:
    """Runs a command in this sandbox: a line for bash, or the program with its arguments. Raises TimeoutExpired."""
    argv = ["bash", "-c", command] if isinstance(command, str) else list(command)
    done = subprocess.run(argv, capture_output=True, timeout=timeout_s, check=False, stdin=subprocess.DEVNULL)
    return Finished(done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"), done.returncode)


def fork(prompt: str, agent: str = "chat") -> str:
    """Starts another agent on a task of its own, and gives a handle for `wait`. It knows nothing but the prompt."""
    return str(_part(call("fork", prompt=prompt, agent=agent), "handle", ""))


def wait(handle: str) -> str:
    """Waits until that agent has ended, and gives its result."""
    return str(_part(call("wait", handle=handle), "result", ""))


def ask_user(question: str, options: Sequence[str] = ()) -> str | None:
    """Asks the person, and waits; None where they do not answer. With `options` they choose one of them."""
    said = call("ask_user", question=question, options=list(options))
    return (said.get("choice") or said.get("text") or None) if isinstance(said, dict) else None


def gather(*calls: Callable[[], T]) -> list[T]:
    """Makes several calls at the same time, such as `gather(lambda: web_search("a"), lambda: web_search("b"))`.

    The results stand in the order of the calls. All are waited for; then the first that failed is raised.
    """
    if not calls:
        return []
    with ThreadPoolExecutor(min(len(calls), AT_ONCE)) as threads:
        running = [threads.submit(one) for one in calls]
    return [one.result() for one in running]


def _part(value: Any, name: str, otherwise: Any) -> Any:
    return value.get(name, otherwise) if isinstance(value, dict) else otherwise
