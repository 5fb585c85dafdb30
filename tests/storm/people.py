"""What people do in a storm: they ask, cancel, steer, try again, and answer what they are asked, as the plan says.

What must not be is noted in `faults`, in words.
"""

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

import psycopg

from tests.invariants import Answered
from tests.storm.client import Away, Line, Watcher
from tests.storm.house import House
from tests.storm.model import BUDGET_TOKENS
from tests.storm.plan import Deed, PlannedRun, Reply, Shape

LOOK_EVERY_S: Final = 0.5
CLICKS: Final = 4
"""For and as many against, where both are clicked at once."""
_TAG = re.compile(r"\[storm (\w+) ")
# The round that a tag is of.
_ROUND = re.compile(r"r(\d+)n")
_PENDING: Final = """
SELECT r.request_id, r.kind, r.question::text AS question, r.user_id, e.question AS asked, r.execution_id
FROM hitl_request r JOIN agents_execution e ON e.id = r.execution_id WHERE r.status = 'pending'
"""


@dataclass
class Begun:
    """A run of the plan and what came of it. `executions`: it, and the tries of it that were begun from it."""

    planned: PlannedRun
    watcher: Watcher
    conversation_id: str
    executions: list[UUID] = field(default_factory=list)


class People:
    """All persons of a storm. Their sockets are one conversation each."""

    def __init__(self, house: House, lines: list[Line]) -> None:
        self._house = house
        self._lines = lines
        self._line_of = {person.id: line for person, line in zip(house.people, lines, strict=True)}
        self.known: dict[str, PlannedRun] = {}
        self.faults: list[str] = []
        self.decisions = 0
        self._handled: set[UUID] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.round_number = 0
        self._watchers: list[Watcher] = []

    async def look_away(self) -> None:
        """Closes all sockets, and answers nothing more."""
        for task in self._tasks:
            task.cancel()
        watchers, self._watchers = self._watchers, []
        await asyncio.gather(*(watcher.stop() for watcher in watchers))

    # --- asking

    async def begin(self, planned: PlannedRun) -> Begun | None:
        """Asks, and does what its person does meanwhile. None where the house was away all the time, which is noted."""
        self.known[planned.tag] = planned
        line = self._lines[planned.person]
        begun: Begun | None = None
        try:
            status, made = await line.post("conversations", {})
            if status != 201:
                self.faults.append(f"a conversation was refused with {status}: {made}")
                return None
            begun = Begun(planned, Watcher(line, made["id"]), made["id"])
            self._watchers.append(begun.watcher)
            await self._ask(line, begun)
            await asyncio.sleep(planned.deed_after_s)
            await self._do(line, begun)
        except Away as error:
            self.faults.append(f"I1: {planned.tag}: {error}")
        return begun

    async def _ask(self, line: Line, begun: Begun) -> None:
        planned = begun.planned
        body: dict[str, Any] = {"text": planned.question, "client_id": planned.tag, "mode": _MODES[planned.shape]}
        if planned.shape in _OPTIONS:
            body["options"] = _OPTIONS[planned.shape]
        if planned.by_socket:
            reply = (await begun.watcher.say(**body))["reply"]
        else:
            status, said = await line.post(f"conversations/{begun.conversation_id}/messages", body)
            if status not in (200, 201):
                self.faults.append(f"{planned.tag} was refused with {status}: {said}")
                return
            reply = said["reply"]
            await begun.watcher.knows(reply["execution"])
        begun.executions.append(UUID(reply["execution"]["id"]))

    async def _do(self, line: Line, begun: Begun) -> None:
        if not begun.executions:
            return
        id_ = begun.executions[0]
        match begun.planned.deed:
            case Deed.CANCEL:
                await self._post(line, f"executions/{id_}/cancel", {}, expected=(200, 202))
            case Deed.STEER:
                await self._post(line, f"executions/{id_}/steer", {"text": "Be brief."}, expected=(202, 409))
            case Deed.SAY_TWICE:
                await self._say_again(line, begun)
            case Deed.RETRY:
                await self._try_again(line, begun)
            case Deed.WATCH:
                pass

    async def _say_again(self, line: Line, begun: Begun) -> None:
        planned = begun.planned
        body = {"text": planned.question, "client_id": planned.tag, "mode": _MODES[planned.shape]}
        status, said = await line.post(f"conversations/{begun.conversation_id}/messages", body)
        if status != 200 or UUID(said["reply"]["execution"]["id"]) != begun.executions[0]:
            self.faults.append(f"I4: {planned.tag} was said twice under one name and begun twice: {status} {said}")

    async def _try_again(self, line: Line, begun: Begun) -> None:
        """A retry of what failed, or where nothing did a fork from a step in the middle."""
        id_ = begun.executions[0]
        if self._is_for_later(begun.planned.tag):
            return
        while not self._read("SELECT 1 FROM agents_execution WHERE id = %s AND ended_at IS NOT NULL", id_):
            await asyncio.sleep(LOOK_EVERY_S)
        status, said = await self._post(line, f"executions/{id_}/retry", {}, expected=(202, 409))
        if status == 409 and said["error"]["code"] == "nothing_failed":
            wanted = (
                "SELECT a.id, s.path FROM agents_step s JOIN agents_agentexecution a ON a.id = s.agent_id"
                " WHERE a.execution_id = %s AND s.cut_at IS NULL ORDER BY s.id"
            )
            steps = self._read(wanted, id_)
            middle = steps[len(steps) // 2]
            body = {"agent_id": str(middle["id"]), "step": ".".join(map(str, middle["path"]))}
            status, said = await self._post(line, f"executions/{id_}/fork", body, expected=(202, 409))
        if status == 202:
            begun.executions.append(UUID(said["id"]))
            await begun.watcher.knows(said)

    async def _post(self, line: Line, path: str, body: Any, *, expected: tuple[int, ...]) -> tuple[int, Any]:
        status, said = await line.post(path, body)
        if status not in expected:
            self.faults.append(f"{path} answered {status}: {json.dumps(said)[:300]}")
        return status, said

    # --- answering

    async def answer_all(self) -> None:
        """For ever: whoever is asked answers, each in their own time."""
        while True:
            for row in self._read(_PENDING):
                tag = _TAG.search(row["asked"])
                if row["request_id"] in self._handled or (tag is not None and self._is_for_later(tag[1])):
                    continue
                self._handled.add(row["request_id"])
                answered = self._turn_down(row) if tag is None else self._answer(row, self.known[tag[1]])
                task = asyncio.create_task(answered)
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            await asyncio.sleep(LOOK_EVERY_S)

    @property
    def is_answering(self) -> bool:
        return bool(self._tasks)

    def waits_for_later(self, asked: str) -> bool:
        """Whether a run with this question is to wait until the next round."""
        tag = _TAG.search(asked)
        return tag is not None and self._is_for_later(tag[1])

    def taken_answers(self) -> list[Answered]:
        """What the house said to them since the last time, of what was not as hoped."""
        taken = [answer for line in self._lines for answer in line.answers]
        for line in self._lines:
            line.answers.clear()
        return taken

    def _is_for_later(self, tag: str) -> bool:
        planned = self.known.get(tag)
        if planned is None:
            return True
        number = _ROUND.search(tag)
        return planned.reply is Reply.NEXT_ROUND and number is not None and int(number[1]) == self.round_number

    async def _answer(self, row: Mapping[str, Any], planned: PlannedRun) -> None:
        try:
            await asyncio.sleep(planned.reply_after_s)
            line = self._line_of[row["user_id"]]
            if row["kind"] == "approval":
                await self._approve(line, row, planned)
            else:
                await self._respond(line, row, **self._choice(row, planned))
        except Away as error:
            self.faults.append(f"I1: nobody could answer request {row['request_id']}: {error}")

    async def _turn_down(self, row: Mapping[str, Any]) -> None:
        """What was added to an answer too late is asked by itself, and nobody planned what is made of that."""
        no = {"decision": "answered", "choice": "stop"} if row["kind"] == "budget" else {"decision": "denied"}
        with suppress(Away):
            await self._respond(self._line_of[row["user_id"]], row, **no)

    def _choice(self, row: Mapping[str, Any], planned: PlannedRun) -> dict[str, Any]:
        question = json.loads(row["question"])
        if question.get("in_doubt"):
            return {"decision": "answered", "choice": "done" if self._house.sinks.has(planned.tag) else "again"}
        if row["kind"] == "budget":
            return {"decision": "answered", "choice": ("raise", "finish", "stop")[planned.tokens % 3]}
        if row["kind"] == "plan":
            return {"decision": "approved"}
        options = question.get("options")
        return {"decision": "answered", **({"choice": str(options[0])} if options else {"text": "Go on."})}

    async def _approve(self, line: Line, row: Mapping[str, Any], planned: PlannedRun) -> None:
        match planned.reply:
            case Reply.APPROVE | Reply.NEXT_ROUND:
                await self._respond(line, row, decision="approved")
            case Reply.DENY:
                await self._respond(line, row, decision="denied")
            case Reply.BOTH:
                await self._click_everything(line, row)
            case Reply.EXPIRE:
                await self._answer_too_late(line, row)

    async def _click_everything(self, line: Line, row: Mapping[str, Any]) -> None:
        words = ("approved", "denied") * CLICKS
        said = await asyncio.gather(*(self._respond(line, row, decision=word) for word in words))
        taken = {word for word, status in zip(words, said, strict=True) if status == 200}
        if len(taken) > 1:
            self.faults.append(f"I7: request {row['request_id']} took two decisions: {sorted(taken)}")

    async def _answer_too_late(self, line: Line, row: Mapping[str, Any]) -> None:
        """Its time is over at once: only the database's clock counts, and this sets it so."""
        ended = "UPDATE hitl_request SET expires_at = clock_timestamp() WHERE request_id = %s RETURNING request_id"
        while not self._read(ended, row["request_id"]):
            await asyncio.sleep(LOOK_EVERY_S)
        if await self._respond(line, row, decision="approved") == 200:
            self.faults.append(f"I7: request {row['request_id']} was approved after its time")

    async def _respond(self, line: Line, row: Mapping[str, Any], **answer: Any) -> int:
        self.decisions += 1
        body = {"request_id": str(row["request_id"]), **answer}
        return (await self._post(line, "hitl/respond", body, expected=(200, 409)))[0]

    def _read(self, sql: str, *values: Any) -> list[dict[str, Any]]:
        """Nothing while the database is away."""
        try:
            return self._house.query(sql, *values)
        except psycopg.Error:
            return []


def faults_of_sockets(begun: Begun, told: Callable[[UUID], list[dict[str, Any]]]) -> list[str]:
    """I3, as whoever looked on saw it."""
    found = list(begun.watcher.faults)
    for id_ in begun.executions:
        seen, stored = begun.watcher.events.get(str(id_), []), told(id_)
        if seen != stored:
            at = next((number for number, (a, b) in enumerate(zip(seen, stored, strict=False)) if a != b), None)
            found.append(f"run {id_}: a socket saw {len(seen)} of {len(stored)} events, and the first other is {at}")
    return found


_MODES: Final[Mapping[Shape, str | None]] = {
    Shape.CHAT: "chat",
    Shape.PLAN: None,
    Shape.FILES: "chat",
    Shape.MAIL: "mail",
    Shape.ORDER: "chat",
    Shape.CODE: "code",
    Shape.CODEACT: "chat",
    Shape.BUDGET: "chat",
    Shape.LOOP: "chat",
}
_OPTIONS: Final[Mapping[Shape, dict[str, Any]]] = {
    Shape.CODEACT: {"execution_mode": "codeact"},
    Shape.BUDGET: {"budget": {"max_tokens": BUDGET_TOKENS}},
}
