"""One call of another program's agent, answered whole or as a stream. Arranges: reads by `asked`, does by `turns`, says
by `told` and `wire`. Imports a2a: open it late.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC
from typing import Any, Final
from uuid import UUID

from a2a.types import Artifact, ListTasksRequest, ListTasksResponse, StreamResponse, Task
from a2a.utils.errors import A2AError, InternalError, JSONParseError, UnsupportedOperationError
from django.conf import settings
from django.http import HttpResponseBase, JsonResponse

from agents.engine.states import TERMINAL_STATUSES, ExecutionStatus
from agents.log import reading, shapes
from agents.log.following import as_it_is, follow, waits
from agents.log.reading import LoggedEvent
from agents.models import Execution
from conversations.a2a import requests, responses, turns, wire
from conversations.a2a.requests import Call, Method
from conversations.models import Message
from hitl.shapes import request_shape
from hyperagent.accounts.models import User
from hyperagent.lib import outage
from hyperagent.lib.async_api import KEEP_ALIVE, Answer, Later, event_stream
from hyperagent.lib.threads import in_thread

log = logging.getLogger(__name__)

# How long a cancel waits for the run to stop, before it answers with the task as it is.
CANCEL_WAIT_S: Final = 10.0
USUAL_PAGE: Final = 50
MOST_PAGE: Final = 100


def answered(user: User, body: Any, *, version: str) -> HttpResponseBase:
    """Synchronous up to where it waits. Whatever is wrong with the call is told in the protocol's words."""
    try:
        return _done(user, requests.read(body, version=version))
    except A2AError as fault:
        return JsonResponse(wire.error(requests.id_of(body), fault))


def unreadable(words: str) -> HttpResponseBase:
    """To who sends what is no JSON."""
    return JsonResponse(wire.error(None, JSONParseError(words)))


def away(body: Any) -> wire.Json:
    """To who calls while a part of the server is not there. `body`: of the call, as far as it could be read."""
    return wire.error(requests.id_of(body), InternalError(outage.MESSAGE))


def _later(call: Call, answer: Answer) -> Later:
    async def told() -> HttpResponseBase:
        try:
            return await answer()
        except Exception as error:
            if not outage.is_outage(error):
                raise
            log.error("answered with 503: %s: %s", type(error).__name__, error)
            await in_thread(outage.heal)(error)
            headers = {"Retry-After": str(outage.RETRY_AFTER_S)}
            return JsonResponse(away({"id": call.id}), status=503, headers=headers)

    return Later(told)


def _done(user: User, call: Call) -> HttpResponseBase:
    match call.method:
        case Method.GET:
            length = call.params.history_length if call.params.HasField("history_length") else None
            return _shown(user, call, turns.own_run(user, call.params.id), length)
        case Method.LIST:
            return JsonResponse(wire.result(call.id, wire.listed(_page(user, call.params))))
        case Method.CANCEL:
            return _later(call, _cancelled(user, call, turns.cancel(user, call.params.id)))
        case Method.SUBSCRIBE:
            execution = turns.own_run(user, call.params.id)
            if execution.status in TERMINAL_STATUSES:
                raise UnsupportedOperationError(f"This task is {execution.status}: nothing comes. GetTask has it.")
            return _later(call, _streamed(user, call, execution, waits_too=True))
        case Method.SEND | Method.STREAM:
            return _said(user, call)


def _said(user: User, call: Call) -> HttpResponseBase:
    wish = requests.wish_of(call.params)
    execution = turns.said(user, wish)
    if call.method is Method.STREAM:
        return _later(call, _streamed(user, call, execution, waits_too=False))
    if wish.at_once:
        return _sent(user, call, execution, wish.history_length)
    return _later(call, _settled(user, call, execution, wish.history_length))


# --- tasks as they are; synchronous


def _task(user: User, execution: Execution, *, length: int | None, telling: responses.Telling | None = None) -> Task:
    """Three queries at most. `telling`: what has been told of it until now, for one that goes on."""
    artifacts = _artifacts([execution])[execution.id] if telling is None else telling.artifacts
    question = _question(turns.questions_of([execution]).get(execution.id)) if length != 0 else None
    asks = _asks(user, [execution])[execution.id]
    return responses.task(_run(execution), artifacts=artifacts, requests=asks, question=question, length=length)


def _question(message: Message | None) -> dict[str, str] | None:
    return {"id": str(message.pk), "text": message.text} if message is not None else None


def _run(execution: Execution) -> dict[str, Any]:
    return {
        **shapes.finished(execution, ()),
        "at": execution.ended_at or execution.started_at or execution.created_at,
        "error": shapes.error_of(execution),
    }


def _artifacts(executions: Sequence[Execution]) -> dict[UUID, list[Artifact]]:
    """Of those that are over. One query."""
    over = [one for one in executions if one.status in TERMINAL_STATUSES]
    files, site = turns.files_of(over), settings.CONFIG.site_url
    whole = {
        one.id: responses.artifacts_of(_run(one), map(responses.event_of, files[one.id]), site=site) for one in over
    }
    return {one.id: whole.get(one.id, []) for one in executions}


def _asks(user: User, executions: Sequence[Execution]) -> dict[UUID, list[dict[str, Any]]]:
    """What those that wait ask people. One query."""
    waiting = turns.waiting_for(user, [one for one in executions if one.status == ExecutionStatus.AWAITING_USER])
    found = {
        id_: [{**request_shape(one), "by_message": turns.is_answered_by_words(one)} for one in asked]
        for id_, asked in waiting.items()
    }
    return {one.id: found.get(one.id, []) for one in executions}


def _shown(user: User, call: Call, execution: Execution, length: int | None) -> JsonResponse:
    shown = wire.shown(_task(user, execution, length=length), is_older=call.is_older)
    return JsonResponse(wire.result(call.id, shown))


def _sent(user: User, call: Call, execution: Execution, length: int | None) -> JsonResponse:
    sent = wire.sent(_task(user, execution, length=length), is_older=call.is_older)
    return JsonResponse(wire.result(call.id, sent))


def _page(user: User, wanted: ListTasksRequest) -> ListTasksResponse:
    size = min(max(wanted.page_size or USUAL_PAGE, 1), MOST_PAGE)
    since = wanted.status_timestamp_after.ToDatetime(UTC) if wanted.HasField("status_timestamp_after") else None
    state = responses.state_of(wanted.status)
    page = turns.page_of(
        user, context_id=wanted.context_id, state=state, since=since, after=wanted.page_token, size=size
    )
    asks = _asks(user, page.tasks)
    artifacts = _artifacts(page.tasks) if wanted.include_artifacts else {}
    questions = turns.questions_of(page.tasks) if wanted.history_length else {}
    tasks = [
        responses.task(
            _run(one),
            artifacts=artifacts.get(one.id, ()),
            requests=asks[one.id],
            question=_question(questions.get(one.id)),
            length=wanted.history_length,
        )
        for one in page.tasks
    ]
    return ListTasksResponse(tasks=tasks, next_page_token=page.next_token, page_size=size, total_size=page.total)


# --- what waits


def _settled(user: User, call: Call, execution: Execution, length: int | None) -> Answer:
    async def answer() -> HttpResponseBase:
        """When it is over, or waits for a person."""
        telling = _telling(execution)
        async with aclosing(_news(user, execution, telling, waits_too=False)) as news:
            async for _ in news:
                pass
        now = await in_thread(as_it_is)(execution.id)
        return await in_thread(_sent)(user, call, now, length)

    return answer


def _cancelled(user: User, call: Call, execution: Execution) -> Answer:
    async def answer() -> HttpResponseBase:
        try:
            async with asyncio.timeout(CANCEL_WAIT_S), aclosing(follow(execution, execution.last_seq)) as events:
                async for _ in events:
                    pass
        except TimeoutError:
            log.info("execution %s is still being stopped", execution.id)
        now = await in_thread(as_it_is)(execution.id)
        return await in_thread(_shown)(user, call, now, None)

    return answer


def _streamed(user: User, call: Call, execution: Execution, *, waits_too: bool) -> Answer:
    async def parts() -> AsyncGenerator[bytes, None]:
        async with aclosing(_news(user, execution, _telling(execution), waits_too=waits_too)) as news:
            async for one in news:
                yield KEEP_ALIVE if one is None else wire.frame(call.id, one, is_older=call.is_older)

    async def answer() -> HttpResponseBase:
        # The run goes on, and is found under its id.
        farewell = wire.error_frame(call.id, InternalError(outage.MESSAGE), is_older=call.is_older)
        return event_stream(parts(), of=f"execution {execution.id}", farewell=farewell)

    return answer


async def _news(
    user: User, execution: Execution, telling: responses.Telling, *, waits_too: bool
) -> AsyncGenerator[StreamResponse | None, None]:
    """The task as it is, with all that was told of it before, and then what happens. Ends where the run ends or,
    without `waits_too`, where it waits for people. If the program leaves, the run goes on."""
    first = await in_thread(_as_it_is)(user, execution)
    if first.is_over:
        yield StreamResponse(task=await in_thread(_task)(user, first.execution, length=None))
        return
    async with aclosing(follow(execution, 0)) as events:
        end = await _caught_up(events, telling, first.last_seq)
        yield StreamResponse(task=await in_thread(_task)(user, first.execution, length=None, telling=telling))
        if first.asks and not waits_too:
            return
        for one in telling.of(end) if end is not None else ():
            yield one
        told = first.last_seq
        async for event in events:
            body = responses.event_of(event.body) if event is not None else None
            told = event.seq if event is not None else told
            news: Sequence[StreamResponse | None] = telling.of(body) if body is not None else (None,)
            for piece in news:
                yield piece
            if body is not None and not waits(body):
                continue
            if asks := await in_thread(_asks_after)(user, execution, told):
                if body is not None or not waits_too:
                    yield telling.waits(asks)
                if not waits_too:
                    return


async def _caught_up(
    events: AsyncIterator[LoggedEvent | None], telling: responses.Telling, last_seq: int
) -> responses.Event | None:
    """Takes in what the log has, without a word; but for the run's end, which is given back to be told."""
    known = 0
    while known < last_seq and (event := await anext(events, None)) is not None:
        if event.is_last:
            return responses.event_of(event.body)
        telling.of(responses.event_of(event.body))
        known = event.seq
    return None


@dataclass(frozen=True, slots=True)
class _AsItIs:
    """A run, how much of its log was there before it was read, and what it asks people."""

    execution: Execution
    last_seq: int
    asks: Sequence[dict[str, Any]]

    @property
    def is_over(self) -> bool:
        return self.execution.status in TERMINAL_STATUSES


def _as_it_is(user: User, execution: Execution) -> _AsItIs:
    progress = reading.progress_of(execution.id)
    now = _again(user, execution)
    return _AsItIs(now, progress.last_seq if progress else 0, _asks_now(user, now))


def _asks_now(user: User, execution: Execution) -> list[dict[str, Any]]:
    return _asks(user, [_again(user, execution)])[execution.id]


def _asks_after(user: User, execution: Execution, told: int) -> list[dict[str, Any]]:
    """Looked at wherever nothing happens: the row may say that the run waits a moment later than the log; or earlier,
    and then what the log has after `told` comes first."""
    asks = _asks_now(user, execution)
    return [] if asks and reading.goes_on_after(execution.id, told) else asks


def _again(user: User, execution: Execution) -> Execution:
    return Execution.objects.of(user).get(id=execution.id)


def _telling(execution: Execution) -> responses.Telling:
    return responses.Telling(
        task_id=str(execution.id), context_id=str(execution.conversation_id), site=settings.CONFIG.site_url
    )
