"""Deciding requests at a terminal: how one is shown, what may be typed, and what `--yes` says in a person's place: not
about what text of others may have brought about.

All of it goes to standard error, so that the answer alone stands on standard output.
"""

import asyncio
import json
import os
import shlex
import subprocess
import sys
import tempfile
import threading
import unicodedata
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TextIO

import orjson
from django.conf import settings
from django.utils import timezone

from agents.log.reading import LoggedEvent
from hitl import actions, budgets
from hitl.answers import response_from
from hitl.kinds import RequestKind, RequestStatus, Via
from hitl.line_diff import Line, line_diff
from hitl.models import Request
from hitl.shapes import request_shape
from hyperagent.accounts.models import User
from hyperagent.lib.refusals import NotThere, Refused
from hyperagent.lib.text import named_sign, revealed
from hyperagent.lib.threads import in_thread

ASKING: Final = ("hitl_required", "interrupt")
# What `--yes` says: it approves what the run asks to do, and spends nothing that nobody named.
_YES: Final[Mapping[str, dict[str, str]]] = {
    RequestKind.APPROVAL: {"decision": "approved"},
    RequestKind.PLAN: {"decision": "approved"},
    RequestKind.BUDGET: {"decision": "answered", "choice": "finish"},
    RequestKind.DECISION: {"decision": "denied"},
    RequestKind.INPUT: {"decision": "denied"},
}
LATER: Final = "later"
# For a key: the decision, what is asked for next, and the field that it goes to.
_KEYS: Final[Mapping[str, tuple[str, str, str]]] = {
    "y": ("approved", "", ""),
    "n": ("denied", "Reason (may be empty): ", "instructions"),
    "i": ("approved", "Instructions: ", "instructions"),
    "a": ("answered", "Answer: ", "text"),
    "l": (LATER, "", ""),
}


class Prompter:
    """Asks for each request of one run in the order in which they come. `always`: `--yes`."""

    def __init__(self, user: User, *, always: bool, words: TextIO = sys.stderr, typed: TextIO = sys.stdin) -> None:
        self._user = user
        self._always = always
        self._words = words
        self._typed = typed
        self._waiting: asyncio.Queue[uuid.UUID] = asyncio.Queue()
        self.has_left = False
        """Whether a request was left for later: the run waits, and need not be waited for here."""

    def hear(self, event: LoggedEvent) -> None:
        """Takes note of a request that an event of the run announces."""
        if event.type in ASKING:
            self._waiting.put_nowait(uuid.UUID(orjson.loads(event.body)["request_id"]))

    async def serve(self) -> None:
        """Until it is cancelled."""
        while True:
            request_id = await self._waiting.get()
            try:
                await self._settle(request_id)
            except NotThere:
                self._say("A request of this run is not yours to see.")

    async def _settle(self, request_id: uuid.UUID) -> None:
        shape = await in_thread(self._read)(request_id)
        if shape["status"] != RequestStatus.PENDING:
            return
        self._say(shown(shape))
        if not shape["may_decide"]:
            who = f"{shape['approvers']['kind']} {shape['approvers']['name']}".strip()
            self._say(f"This waits for others ({who}). The run goes on when they decided: {address(request_id)}")
            return
        # A yes that was said beforehand does not count for what text of others may have brought about.
        says_yes = self._always and not shape["tainted_by"]
        while True:
            given = _YES[shape["kind"]] if says_yes else await self._asked(shape)
            if given == {"decision": LATER}:
                self._say(f"The run waits; go on in your inbox: {address(request_id)}")
                self.has_left = True
                return
            try:
                decided = await in_thread(self._decide)(
                    request_id, {"arguments_hash": shape["arguments_hash"], **given}
                )
            except Refused as refused:
                self._say(refused.message)
                if says_yes or "request" in refused.more:
                    return
                continue
            self._say(f"{decided}.")
            return

    def _read(self, request_id: uuid.UUID) -> dict[str, Any]:
        row = Request.objects.read_by(self._user).filter(request_id=request_id).first()
        if row is None:
            raise NotThere
        return request_shape(row)

    def _decide(self, request_id: uuid.UUID, given: Mapping[str, Any]) -> str:
        response = response_from(given, now=timezone.now())
        return actions.respond(self._user, request_id, response, via=Via.COMMAND).status

    async def _asked(self, shape: Mapping[str, Any]) -> dict[str, Any]:
        """What was typed, as the fields of a response. An empty line asks again; the end of input leaves it waiting."""
        offered = keys_of(shape)
        while True:
            line = await self._line(f"{'  '.join(offered.values())} > ")
            if line is None:
                return {"decision": LATER}
            typed = line.strip().lower()
            key = typed if typed.isdigit() else typed[:1]
            if key not in offered:
                continue
            given = await self._said(key, shape)
            if given is not None:
                return given

    async def _said(self, key: str, shape: Mapping[str, Any]) -> dict[str, Any] | None:
        """What follows the key that was typed; None if nothing did, and the question stands again."""
        if key == "e":
            return await self._edited(shape)
        if key.isdigit():
            return await self._chosen(shape["options"][int(key) - 1], shape)
        decision, prompt, field = _KEYS[key]
        if not prompt:
            return {"decision": decision}
        words = await self._line(prompt)
        if decision == "denied":
            return {"decision": decision, field: words or ""}
        return {"decision": decision, field: words} if words and words.strip() else None

    async def _chosen(self, option: str, shape: Mapping[str, Any]) -> dict[str, Any] | None:
        """A raise may be to another limit than the one that is suggested; None at the end of input."""
        given = {"decision": "answered", "choice": option}
        if shape["kind"] != RequestKind.BUDGET or option != budgets.RAISE:
            return given
        asked = shape["details"]
        unit = "in dollars" if asked.get("unit") == budgets.USD else "in tokens"
        limit = await self._line(f"Another limit, {unit} (empty: {plain(asked.get('suggested', ''))}): ")
        if limit is None:
            return None
        return {**given, "text": limit.strip()} if limit.strip() else given

    async def _edited(self, shape: Mapping[str, Any]) -> dict[str, Any] | None:
        """The arguments as an editor left them; None if they cannot be read."""
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
        if not editor:
            self._say("Set EDITOR to the program that you edit texts with, or edit in the inbox.")
            return None
        text = json.dumps(shape["tool_calls"][0]["arguments"], ensure_ascii=False, indent=2)
        try:
            edited = json.loads(await asyncio.to_thread(in_editor, editor, text))
        except (ValueError, OSError, subprocess.SubprocessError) as error:
            self._say(f"What was edited cannot be read, so nothing was decided: {error}")
            return None
        return {"decision": "approved", "edited_arguments": edited}

    async def _line(self, prompt: str) -> str | None:
        """A line that somebody types; None at the end of input. Read by a thread that does not hold up the end."""
        self._words.write(prompt)
        self._words.flush()
        loop = asyncio.get_running_loop()
        found: asyncio.Future[str] = loop.create_future()

        def take(line: str) -> None:
            if not found.done():
                found.set_result(line)

        def read() -> None:
            line = self._typed.readline()
            loop.call_soon_threadsafe(take, line)

        threading.Thread(target=read, daemon=True).start()
        line = await found
        return line.rstrip("\n") if line else None

    def _say(self, text: str) -> None:
        self._words.write(f"{text}\n")
        self._words.flush()


def keys_of(shape: Mapping[str, Any]) -> dict[str, str]:
    """What may be typed for a request, and how it is named."""
    kind, options = shape["kind"], shape["options"]
    if kind == RequestKind.APPROVAL:
        found = {"y": "[y]es", "n": "[n]o", "i": "yes, with [i]nstructions"}
        found |= {"e": "[e]dit"} if len(shape["tool_calls"]) == 1 else {}
    elif kind == RequestKind.PLAN:
        found = {"y": "[y]es", "n": "[n]o"}
    else:
        labels = shape["details"].get("labels") or {}
        named = [plain(labels.get(option, option)) for option in options]
        found = {str(number): f"[{number}] {name}" for number, name in enumerate(named, 1)}
        # The options of an input are suggestions, those of a decision are all that there is.
        found |= {"a": "[a]nswer"} if not options or kind == RequestKind.INPUT else {}
        found |= {"n": "[n]o answer"}
    return {**found, "l": "[l]ater"}


def shown(shape: Mapping[str, Any]) -> str:
    """A request in plain text. What models and others wrote in it cannot act on the terminal."""
    lines = [
        "",
        f"── {shape['kind']} · {plain(shape['agent_name'])} agent"
        + (f" · risk {shape['risk']}" if shape["risk"] else ""),
    ]
    said = [words for words in (shape["question"], shape["why"], shape["task_description"]) if words]
    # Marked, so that no text of a model looks like the call below it.
    lines += [plain(words).replace("\n", "\n│ ") for words in said]
    lines += [f"   read: {plain(one['title'])} {plain(one.get('url', ''))}".rstrip() for one in shape["tainted_by"]]
    lines += [f"   and {shape['tainted_more']} more"] if shape["tainted_more"] else []
    for call in shape["tool_calls"]:
        lines.append(f"   {plain(call['tool'])}")
        lines += [f"     {plain(name)}: {_value(value)}" for name, value in call["arguments"].items()]
        lines += [f"     {plain(line)}" for line in _changes(call.get("preview"))]
    for number, task in enumerate(shape["details"].get("tasks") or (), 1):
        lines.append(f"   {number}. {plain(task.get('agent', ''))}: {plain(task.get('task', ''))}")
    return "\n".join(lines)


def _changes(preview: Any) -> list[str]:
    """Of a file that would be written: what of it would go, and what would come."""
    if not isinstance(preview, Mapping) or preview.get("kind") != "diff":
        return []
    marks = {Line.GONE: "-", Line.NEW: "+", Line.SAME: " ", Line.LEFT_OUT: "…"}
    changed = [f"{marks[line]} {text}" for line, text in line_diff(preview.get("before"), preview.get("after"))]
    return [f"changes of {preview.get('path')}:", *changed]


def address(request_id: uuid.UUID) -> str:
    return f"{settings.CONFIG.site_url}/inbox/{request_id}"


def plain(value: Any) -> str:
    """The text as it is, but for signs that a terminal would obey and those that cannot be seen: they are named."""
    text = revealed(str(value).replace("\r\n", "\n"))
    return "".join(sign if is_plain(sign) else named_sign(sign) for sign in text)


def is_plain(sign: str) -> bool:
    return sign in "\n\t" or sign.isprintable() or unicodedata.category(sign) == "Zs"


def _value(value: Any) -> str:
    """Whole, however long: what is approved is what was shown."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return plain(text).replace("\n", "\n       ")


def in_editor(editor: str, text: str) -> str:
    """Opens the editor on the text, in a file that nobody else may read, and gives what it became."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arguments.json"
        file.write_text(text, encoding="utf-8")
        subprocess.run([*shlex.split(editor), str(file)], check=True)
        return file.read_text(encoding="utf-8")
