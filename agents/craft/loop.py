"""The loop of most agents: the model reasons, tools act, the model reasons again, until it answers or must (S17).

Every contact is a step of the context, so a loop that is called again on resume goes the same way to where it was.
Owns no rule about a tool (the gateway does) and none about what is worth stopping for (the middleware does).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from agents.craft.exchange import AgentInput, HandoffInfo
from agents.craft.handing_over import handoff_tools
from agents.craft.hearing import heard
from agents.craft.loop_state import (
    Called,
    Looped,
    LoopState,
    StablePrefix,
    answered,
    get_dynamic_suffix,
    get_stable_prefix,
    handoff_of,
    looped,
    performed,
    tokens_of_fixed,
)
from agents.craft.middleware.base import Interrupt, Middleware
from agents.craft.middleware.dangling import mended
from agents.craft.middleware.default import default_middleware
from agents.craft.small import most_tokens
from agents.engine.context import Branch
from agents.engine.errors import StepFailed
from agents.engine.events import Stage, StageStatus
from agents.run_budget import CODE as OUT_OF_BUDGET
from agents.runtime.context import LIMIT, AgentContext
from agents.runtime.streaming import STREAMED
from agents.runtime.tool_door import ToolReply
from agents.spec import AgentSpec
from hyperagent.lib.clipping import one_line
from hyperagent.lib.llm.types import Message, ModelReply, Role, ToolCall, ToolSpec

CALLS_AT_ONCE: Final = 16
REASON_CHARS: Final = 200
# What a model gives that says nothing at all, whatever the cause. All other trouble is the provider's, and goes up.
EMPTY: Final = "model_garbled"

ASK_AGAIN: Final = "Your last answer was empty. Answer now."
NOT_MADE: Final = "Error: this call was not made: no more tools could be called."
TOO_MANY: Final = f"not performed: at most {CALLS_AT_ONCE} tools are called at once. Call it again if needed."
HANDOFFS: Final = ("handoff_to_", "delegate_to_")
ONE_HANDOFF: Final = "not handed over: one agent takes over, the first that you named in this reply."
OUT_OF_STEPS: Final = "All {rounds} steps for this were used before it was finished."
LAST_ROUND: Final = (
    "{notice} No tools can be called any more. Answer now with what you have: give the best answer that it allows, "
    "and say plainly what is missing or uncertain."
)


@dataclass(frozen=True, slots=True)
class Frame:
    """What stays the same while a loop runs. Made from code and task each time; never stored (S64, S67)."""

    task: AgentInput
    spec: AgentSpec
    system: str
    tools: tuple[ToolSpec, ...]
    stack: tuple[Middleware, ...]
    stage: str
    rounds: int

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(tool.name for tool in self.tools)

    @property
    def is_read(self) -> bool:
        """Whether people read its answers while they are written."""
        return self.task.speaks and self.stage in STREAMED

    def prefix(self, state: LoopState) -> StablePrefix:
        """Without schemas at the end of a budget: what is left of it is for words."""
        return get_stable_prefix(self.system, () if state.stopped == OUT_OF_BUDGET else self.tools, state)


async def react(
    context: AgentContext,
    task: AgentInput,
    spec: AgentSpec,
    *,
    system: str,
    user: str | None = None,
    messages: tuple[Message, ...] = (),
    tools: Sequence[str] | None = None,
    stage: str = "agent",
    middleware: Sequence[Middleware] | None = None,
    max_iterations: int | None = None,
) -> Looped:
    """Lets the model work with tools until it answers: at most `max_iterations` rounds, then one in which it may
    call none.

    `messages`: the conversation before `user`. Without either the model gets the task's text. `tools`: exactly these
    names; without, those of the spec and the handoffs that the matrix allows. Raises StepFailed with a provider's
    trouble; what a tool or a model does wrong is dealt with here and ends, at the latest, in `stopped`.
    """
    frame = _frame(
        context, task, spec, system=system, tools=tools, stage=stage, middleware=middleware, rounds=max_iterations
    )
    state = await _begin(context, frame, user, messages)
    for _ in range(frame.rounds):
        state, reply = await _round(context, frame, state)
        if reply is None:
            break
        if not reply.tool_calls:
            state, is_told = await _heard(context, state)
            if state.stopped or not is_told:
                return looped(state, reply.text)
            state = await _go_on_below(context, frame, state, reply)
            continue
        _take_back(context, state, reply)
        if state.stopped:
            break
        state, handoff = await _act(context, frame, state, reply)
        if handoff is not None:
            return looped(state, reply.text or handoff.task_description, handoff=handoff)
    else:
        state = state.stop("iterations", OUT_OF_STEPS.format(rounds=frame.rounds))
    return await _last_round(context, frame, state)


# --- one round


async def _round(context: AgentContext, frame: Frame, state: LoopState) -> tuple[LoopState, ModelReply | None]:
    """Middleware, model, middleware. Without a reply where the loop was stopped before there was one."""
    state, _ = await _heard(context, state)
    state = await _before(context, frame, state)
    if state.stopped:
        return state, None
    state, reply = await _reason(context, frame, state)
    return (state, None) if reply is None else (await _after(context, frame, state, reply), reply)


async def _last_round(context: AgentContext, frame: Frame, state: LoopState) -> Looped:
    """The model must answer with what it has. If it does not, what the tools found is the answer.

    People are told the limit whatever the model says of it.
    """
    context.emit(Stage(name=LIMIT, description=state.notice, status=StageStatus.FAILED))
    state = mended(state, NOT_MADE)
    if state.stopped == "empty" or (state.stopped == OUT_OF_BUDGET and not frame.task.speaks):
        return looped(state, "")
    state, _ = await _heard(context, state.told(LAST_ROUND.format(notice=state.notice)))
    state = await _before(context, frame, state)
    state, reply = await _reason(context, frame, state)
    if reply is None:
        return looped(state, "")
    state = await _after(context, frame, state, reply)
    said = f"{reply.text}\n\n> {context.beyond_budget}" if context.beyond_budget else reply.text
    return looped(mended(state, NOT_MADE), said)


def _may_go_beyond(task: AgentInput, state: LoopState) -> bool:
    """Whether the answer may be given beyond the budget's end, from what there is: if there is anything."""
    return state.stopped != "" and task.speaks and bool(state.model_used or task.handoffs or task.dependency_outputs)


async def _reason(context: AgentContext, frame: Frame, state: LoopState) -> tuple[LoopState, ModelReply | None]:
    """Asks the model; asks once more if it says nothing. A loop that was stopped keeps its tools' schemas, and so what
    the provider has cached: only calling is forbidden (S88)."""
    prefix = frame.prefix(state)
    error: StepFailed | None = None
    for _ in range(2):
        request = frame.task.request(
            agent=frame.spec.name,
            tier=frame.spec.tier,
            messages=(*prefix.messages, *get_dynamic_suffix(state)),
            tools=prefix.tools,
            may_call=not (state.stopped and prefix.tools),
            temperature=frame.spec.temperature,
            max_tokens=most_tokens(frame.task),
        )
        try:
            reply = await context.model(
                request, stage=frame.stage, shown=frame.task.speaks, last=_may_go_beyond(frame.task, state)
            )
        except StepFailed as failure:
            if failure.code == OUT_OF_BUDGET:
                return state.stop(OUT_OF_BUDGET, failure.message), None
            if failure.code != EMPTY:
                raise
            error = failure
            state = state.told(ASK_AGAIN)
        else:
            return answered(state, reply), reply
    assert error is not None  # two empty answers: each left the loop by its error
    return state.stop("empty", error.message), None


async def _act(
    context: AgentContext, frame: Frame, state: LoopState, reply: ModelReply
) -> tuple[LoopState, HandoffInfo | None]:
    """The tools of one reply, all at once, results in the order of the calls; and the handoff, if one was made."""
    wanted, surplus = reply.tool_calls[:CALLS_AT_ONCE], reply.tool_calls[CALLS_AT_ONCE:]
    spare = [call for call in wanted if call.name.startswith(HANDOFFS)][1:]
    replies: list[ToolReply] = await context.all(*(_calling(call, frame.names, spare) for call in wanted))
    done = [Called(call, replied) for call, replied in zip(wanted, replies, strict=True)]
    refused = [Called(call, ToolReply.failed(TOO_MANY)) for call in surplus]
    return performed(state, [*done, *refused]), handoff_of(done)


def _calling(call: ToolCall, allowed: tuple[str, ...], spare: Sequence[ToolCall]) -> Branch:
    async def branch(context: AgentContext) -> ToolReply:
        if call in spare:
            return ToolReply.failed(ONE_HANDOFF)
        return await context.tool(call.name, call.arguments, allowed=allowed, call_id=call.id)

    return branch


async def _go_on_below(context: AgentContext, frame: Frame, state: LoopState, reply: ModelReply) -> LoopState:
    """What people read when they added something stays; what nobody read is answered anew."""
    kept = await context.go_on_below() if frame.is_read and reply.text.strip() else None
    if kept is None:
        _take_back(context, state, reply)
        return state
    return replace(state, kept=kept)


def _take_back(context: AgentContext, state: LoopState, reply: ModelReply) -> None:
    """What was said before tool calls is no answer: people see it as what the agent is about to do."""
    if not reply.text.strip():
        return
    context.withdraw("the agent goes on", keep=state.kept)
    said = one_line(reply.text)[:REASON_CHARS]
    context.emit(Stage(name="reason", description=said, status=StageStatus.COMPLETED))


async def _heard(context: AgentContext, state: LoopState) -> tuple[LoopState, bool]:
    """What people said to this agent since the last look, as messages; and whether there was anything."""
    said = await context.heard()
    return state.with_messages(*map(heard, said)), bool(said)


# --- middleware


async def _before(context: AgentContext, frame: Frame, state: LoopState) -> LoopState:
    state = replace(state, suffix=())
    for middleware in frame.stack:
        state = await _settled(context, middleware, await middleware.before_model(context, state))
    return replace(state, prefix_hash=frame.prefix(state).hashed)


async def _after(context: AgentContext, frame: Frame, state: LoopState, reply: ModelReply) -> LoopState:
    for middleware in reversed(frame.stack):
        state = await _settled(context, middleware, await middleware.after_model(context, state, reply))
    return state


async def _settled(context: AgentContext, middleware: Middleware, outcome: LoopState | Interrupt) -> LoopState:
    """The state to go on with; where the middleware wants a person to be asked, after the answer."""
    if isinstance(outcome, LoopState):
        return outcome
    answer = await context.ask(outcome.kind, outcome.question)
    return middleware.handle_message(answer, outcome.state)


# --- the beginning


def _frame(
    context: AgentContext,
    task: AgentInput,
    spec: AgentSpec,
    *,
    system: str,
    tools: Sequence[str] | None,
    stage: str,
    middleware: Sequence[Middleware] | None,
    rounds: int | None,
) -> Frame:
    bare = default_middleware(task) if middleware is None else middleware
    stack = tuple(one.init(task, spec) for one in bare)
    door = context.run.tools
    names = _names(spec, tools, stack) if task.capable else ()
    # Whoever chose the names for a purpose of its own has named those of connected servers too, if it wanted them.
    connected = dict(context.connected) if task.capable and tools is None else {}
    connected |= {name: context.connected[name] for name in names if name in context.connected}
    ours = [name for name in names if name not in connected]
    own_specs = door.specs(ours) if door is not None and ours else ()
    return Frame(
        task=task,
        spec=spec,
        system="\n\n".join(filter(None, [system, *(one.system_prompt() for one in stack)])),
        tools=(*own_specs, *(tool.spec() for tool in connected.values())),
        stack=stack,
        stage=stage,
        rounds=max(1, spec.max_iterations if rounds is None else rounds),
    )


def _names(spec: AgentSpec, tools: Sequence[str] | None, stack: Sequence[Middleware]) -> tuple[str, ...]:
    """Always in the same order, for the stable prefix: own tools, handoffs, the middleware's."""
    own = tools
    if own is None:
        own = [*spec.tools, *handoff_tools(spec)]
    return tuple(dict.fromkeys([*own, *(name for one in stack for name in one.tools())]))


async def _begin(context: AgentContext, frame: Frame, user: str | None, messages: tuple[Message, ...]) -> LoopState:
    if user is None and not messages:
        user = frame.task.task
    if user is not None:
        messages = (*messages, Message(role=Role.USER, content=user))
    asked = [message for message in messages if message.role is Role.USER]
    state = LoopState(
        messages=(*messages, *map(heard, context.said)),
        task=asked[-1] if asked else None,
        tools=frame.names,
        fixed_tokens=tokens_of_fixed(frame.system, frame.tools),
    )
    for middleware in frame.stack:
        state = await middleware.on_server_start(context, state)
    return state
