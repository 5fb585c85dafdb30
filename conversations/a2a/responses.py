"""A run in the words of A2A: a task with its status and artifacts, and the news of a stream. Pure: rows and events in,
messages out. Imports a2a: open it late.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import orjson
from a2a.types import (
    Artifact,
    Message,
    Part,
    StreamResponse,
    Task,
    TaskArtifactUpdateEvent,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from a2a.types.a2a_pb2 import ROLE_AGENT, ROLE_USER, TaskState
from google.protobuf.json_format import ParseDict  # type: ignore[import-untyped]

from agents.engine.states import ExecutionStatus
from agents.guardrails.questions import REFUSED

Event = Mapping[str, Any]
Json = Mapping[str, Any]
ANSWER: Final = "answer"
STATES: Final[Mapping[str, TaskState]] = {
    ExecutionStatus.PENDING: TaskState.TASK_STATE_SUBMITTED,
    ExecutionStatus.RUNNING: TaskState.TASK_STATE_WORKING,
    ExecutionStatus.AWAITING_USER: TaskState.TASK_STATE_INPUT_REQUIRED,
    ExecutionStatus.COMPLETED: TaskState.TASK_STATE_COMPLETED,
    ExecutionStatus.FAILED: TaskState.TASK_STATE_FAILED,
    ExecutionStatus.CANCELLED: TaskState.TASK_STATE_CANCELED,
}
_BROKEN_OFF: Final = "The run failed. Try again."
_AT_OTHERS: Final = (
    "A person has to decide about this, on their page /inbox/ or by POST /api/v1/hitl/respond with a token of the "
    "scope 'approve'. No message can: metadata has what is asked."
)


class InState(NamedTuple):
    """Of which runs it is the state: their statuses, none if no run is ever in it, and whether they were refused."""

    statuses: tuple[str, ...]
    is_refused: bool = False


def state_of(state: TaskState) -> InState | None:
    """None where any will do."""
    if state == TaskState.TASK_STATE_UNSPECIFIED:
        return None
    if state == TaskState.TASK_STATE_REJECTED:
        return InState((ExecutionStatus.FAILED,), is_refused=True)
    return InState(tuple(status for status, one in STATES.items() if one == state))


def task(
    run: Json, *, artifacts: Sequence[Artifact], requests: Sequence[Json], question: Json | None, length: int | None
) -> Task:
    """`run`: as `agents.log.shapes.finished` has it, with its `at` and `error`. `length`: how much of the history is
    wanted; None: as much as there is."""
    whole = Task(id=run["execution_id"], context_id=run["conversation_id"], artifacts=artifacts)
    whole.status.CopyFrom(_status_of(run, requests))
    if question is not None and length != 0:
        asked = Message(message_id=question["id"], role=ROLE_USER, parts=[Part(text=question["text"])])
        asked.task_id, asked.context_id = whole.id, whole.context_id
        whole.history.append(asked)
    ParseDict({"usage": run["usage"], "skipped": run["skipped"]}, whole.metadata)
    return whole


def artifacts_of(run: Json, files: Iterable[Event], *, site: str) -> list[Artifact]:
    """Of a run that is over: the answer, and the files that it wrote and left."""
    answer = [_answer(run["answer"], run["sources"])] if run["answer"] else []
    left: dict[str, Artifact] = {}
    for event in files:
        _take_file(left, event, conversation_id=run["conversation_id"], site=site)
    return [*answer, *left.values()]


class Telling:
    """One task as one stream tells it. An answer that begins again takes the place of what was told of it."""

    def __init__(self, *, task_id: str, context_id: str, site: str) -> None:
        self._task_id, self._context_id, self._site = task_id, context_id, site
        self._texts: dict[str | None, str] = {}
        self._sent = ""
        self._answer: Artifact | None = None
        self._files: dict[str, Artifact] = {}

    @property
    def artifacts(self) -> list[Artifact]:
        """As whoever got everything until now has them."""
        begun = [_answer(self._sent, ())] if self._sent else []
        return [*([self._answer] if self._answer else begun), *self._files.values()]

    def of(self, event: Event) -> list[StreamResponse]:
        """What this event is worth; of the last one, the end of the task."""
        is_answer = event.get("channel", "answer") == "answer"
        match event["type"]:
            case "token" if is_answer:
                return self._token(event)
            case "token_reset" if is_answer:
                agent = event.get("agent_id")
                self._texts[agent] = self._texts.get(agent, "")[: event["keep"]]
            case "resync":
                self._texts.clear()
            case "workspace_update":
                found = _take_file(self._files, event, conversation_id=self._context_id, site=self._site)
                return [self._artifact(found, last=True)] if found else []
            case "complete":
                return self._complete(event)
            case "stage" | "status_changed" | "error":
                return self._moved(event)
        return []

    def waits(self, requests: Sequence[Json]) -> StreamResponse:
        """The task goes on when somebody has answered."""
        return self._status(_waiting(requests, task_id=self._task_id, context_id=self._context_id))

    def _token(self, event: Event) -> list[StreamResponse]:
        agent = event.get("agent_id")
        self._texts[agent] = whole = self._texts.get(agent, "") + event["content"]
        if self._sent.startswith(whole):
            return []  # It says again what was told.
        begins = not self._sent or not whole.startswith(self._sent)
        fresh = whole if begins else whole[len(self._sent) :]
        self._sent = whole
        return [self._artifact(_answer(fresh, ()), append=not begins)]

    def _moved(self, event: Event) -> list[StreamResponse]:
        working = TaskState.TASK_STATE_WORKING
        if event["type"] == "error":
            return [self._now(_failure(event.get("code")), event.get("message") or _BROKEN_OFF, event)]
        if event["type"] == "stage" and event["status"] == "running":
            return [self._now(working, event["description"], event)]
        runs = event["type"] == "status_changed" and event["status"] == ExecutionStatus.RUNNING
        return [self._now(working, "", event)] if runs else []

    def _complete(self, event: Event) -> list[StreamResponse]:
        """The answer as it is stored; what has been told of it is not told again."""
        answer, sources, told = event["answer"], event.get("sources") or [], []
        if answer:
            self._answer = _answer(answer, sources)
            is_told = answer == self._sent
            rest = Artifact(artifact_id=ANSWER, name="Answer", parts=_sources(sources)) if is_told else self._answer
            told.append(self._artifact(rest, append=is_told, last=True))
        state = STATES.get(str(event.get("status") or ExecutionStatus.COMPLETED), TaskState.TASK_STATE_COMPLETED)
        ended = self._now(state, "", event)
        ParseDict({"usage": event.get("usage") or {}}, ended.status_update.metadata)
        return [*told, ended]

    def _now(self, state: TaskState, words: str, event: Event) -> StreamResponse:
        status = TaskStatus(state=state)
        if words:
            name = f"{self._task_id}-{event.get('seq', 0)}"
            status.message.CopyFrom(_words(name, words, task_id=self._task_id, context_id=self._context_id))
        if event.get("timestamp"):
            status.timestamp.FromMilliseconds(int(event["timestamp"]))
        return self._status(status)

    def _status(self, status: TaskStatus) -> StreamResponse:
        update = TaskStatusUpdateEvent(task_id=self._task_id, context_id=self._context_id, status=status)
        return StreamResponse(status_update=update)

    def _artifact(self, artifact: Artifact, *, append: bool = False, last: bool = False) -> StreamResponse:
        return StreamResponse(
            artifact_update=TaskArtifactUpdateEvent(
                task_id=self._task_id, context_id=self._context_id, artifact=artifact, append=append, last_chunk=last
            )
        )


# --- inside


def _status_of(run: Json, requests: Sequence[Json]) -> TaskStatus:
    state = STATES[run["status"]]
    where = {"task_id": run["execution_id"], "context_id": run["conversation_id"]}
    status = TaskStatus(state=state)
    if state == TaskState.TASK_STATE_INPUT_REQUIRED:
        status = _waiting(requests, **where)
    elif state == TaskState.TASK_STATE_FAILED:
        fault = run["error"] or {}
        words = fault.get("message") or _BROKEN_OFF
        status = TaskStatus(
            state=_failure(fault.get("code")), message=_words(f"{where['task_id']}-end", words, **where)
        )
    at: datetime = run["at"]
    status.timestamp.FromDatetime(at)
    return status


def _failure(code: Any) -> TaskState:
    """What was not even begun with is rejected."""
    return TaskState.TASK_STATE_REJECTED if code == REFUSED else TaskState.TASK_STATE_FAILED


def _waiting(requests: Sequence[Json], *, task_id: str, context_id: str) -> TaskStatus:
    """What is asked, in words, and whole in the message's metadata. `by_message`: whether a message can answer it."""
    lines = []
    for request in requests:
        options = f" ({', '.join(request['options'])})" if request["options"] else ""
        asked = f"{request['question'] or request['task_description']}{options}"
        lines.append(asked if request["by_message"] else f"{asked}\n{_AT_OTHERS}".strip())
    first = str(requests[0]["request_id"]) if requests else f"{task_id}-waits"
    message = _words(first, "\n\n".join(lines) or _AT_OTHERS, task_id=task_id, context_id=context_id)
    ParseDict({"requests": [dict(request) for request in requests]}, message.metadata)
    return TaskStatus(state=TaskState.TASK_STATE_INPUT_REQUIRED, message=message)


def _words(name: str, text: str, *, task_id: str, context_id: str) -> Message:
    return Message(message_id=name, role=ROLE_AGENT, task_id=task_id, context_id=context_id, parts=[Part(text=text)])


def _answer(text: str, sources: Sequence[Json]) -> Artifact:
    return Artifact(artifact_id=ANSWER, name="Answer", parts=[Part(text=text), *_sources(sources)])


def _sources(sources: Sequence[Json]) -> list[Part]:
    """What its marks stand for: [2] is the second."""
    if not sources:
        return []
    part = Part()
    ParseDict({"sources": [dict(one) for one in sources]}, part.data)
    return [part]


def _take_file(files: dict[str, Artifact], event: Event, *, conversation_id: str, site: str) -> Artifact | None:
    """Keeps the file that the event tells of, or forgets one that was deleted; gives what is new."""
    if event.get("scope", "conversation") != "conversation":
        return None
    path = str(event["path"])
    if event["operation"] == "deleted":
        files.pop(path, None)
        return None
    url = f"{site}/api/v1/files/conversation/{conversation_id}/{quote(path)}"
    part = Part(url=url, filename=path.rpartition("/")[2], media_type=str(event.get("media_type") or ""))
    files[path] = Artifact(artifact_id=f"file {path}", name=path, parts=[part])
    return files[path]


def event_of(body: str) -> Event:
    told: Event = orjson.loads(body)
    return told
