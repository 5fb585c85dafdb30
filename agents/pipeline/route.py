"""Who works on a question: the mode that was chosen, else the patterns, else the router's model. Emits Routing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from agents.craft.exchange import Options
from agents.engine.errors import StepFailed
from agents.engine.events import Routing
from agents.modes import MODES, Mode, is_available, mode_named
from agents.pipeline.chosen import has_documents, has_only_tables
from agents.pipeline.clauses import readable
from agents.pipeline.own_documents import speaking_of
from agents.pipeline.patterns import CHAT, KNOWN_AGENTS, PLANNER, Guess, classify
from agents.pipeline.replies import goes_on
from agents.roles.router import Routed, ask_router
from agents.runtime.context import AgentContext
from agents.spec import AgentSpec

LOW_CONFIDENCE: Final = 0.5
ALTERNATIVES: Final = 3
CERTAIN: Final = 0.9
_UNSURE: Final = 0.4
RAG: Final = "rag"
DATA: Final = "data"
_TAKING_PICTURES: Final = frozenset({"analyze_image", "use_document"})
_NO_OPTIONS: Final = Options()
GOES_ON: Final = "It goes on with what was said before."
# What people most often mean where nothing tells.
_USUAL: Final = ("web", "rag", "research", "writing", "code", "data", "mail", "chat")


@dataclass(frozen=True, slots=True)
class Route:
    """`kind` "plan": several agents, by a plan. `method`: explicit, heuristic, model or fallback.

    `skill`: what a dedicated mode begins with. `alternatives`: modes that may rather be meant.
    """

    kind: Literal["direct", "plan"]
    agent: str
    reason: str
    confidence: float = 1.0
    is_low_confidence: bool = False
    method: str = "explicit"
    skill: str | None = None
    alternatives: tuple[str, ...] = ()


async def decide(
    context: AgentContext,
    question: str,
    *,
    mode: str | None,
    roster: Mapping[str, AgentSpec],
    routing_mode: str,
    history: Sequence[Mapping[str, str]] = (),
    options: Options = _NO_OPTIONS,
) -> Route:
    """`routing_mode`: as in `RoutingMode`. `history`: the turns before this question; `options`: with what is attached
    to it."""
    route = await _explicit(context, mode, roster)
    if route is None:
        guess = await _guessed(
            context, question, roster=roster, routing_mode=routing_mode, history=history, options=options
        )
        if routing_mode == "llm" or (routing_mode == "auto" and not guess.sure):
            route = await _asked(context, question, guess, roster=roster, history=history, options=options)
        else:
            route = by_guess(guess, roster)
    context.emit(
        Routing(
            agent=route.agent,
            reason=route.reason,
            confidence=route.confidence,
            is_low_confidence=route.is_low_confidence,
            method=route.method,
            alternatives=route.alternatives,
        )
    )
    return route


async def _explicit(context: AgentContext, name: str | None, roster: Mapping[str, AgentSpec]) -> Route | None:
    """The way that the mode names; None where it leaves the choice open, or cannot be gone here any more."""
    mode = mode_named(name)
    if mode is None or mode.agent is None or mode.agent not in roster:
        return None
    if mode.skill is not None and not await context.note("mode", lambda: is_available(mode)):
        return None
    return Route("direct", mode.agent, _chosen(mode), skill=mode.skill)


def _chosen(mode: Mode) -> str:
    return f"The mode '{mode.name}' was chosen."


async def _guessed(
    context: AgentContext,
    question: str,
    *,
    roster: Mapping[str, AgentSpec],
    routing_mode: str,
    history: Sequence[Mapping[str, str]],
    options: Options,
) -> Guess:
    """What the patterns say, heard with what is known besides; of what is attached, only where they may decide."""
    guess = _heard_with_history(classify(question), question, history)
    guess = _heard_with_newcomers(guess, roster)
    if routing_mode == "llm":
        return guess
    if has_only_tables(options) and DATA in roster:
        return _heard_with_tables(guess)
    if options.image_attachments and not has_documents(options):
        return _heard_with_pictures(guess, roster)
    return await _heard_with_documents(context, guess, question, roster, has_chosen=has_documents(options))


def by_guess(guess: Guess, roster: Mapping[str, AgentSpec]) -> Route:
    """The way that the patterns point out."""
    rivals = (guess.agent, *guess.rivals)
    if guess.agent not in (*roster, PLANNER):
        reason = f"{guess.reason} There is no {guess.agent} agent here."
        guess = replace(guess, kind="direct", agent=CHAT, reason=reason)
    return _settled(guess.agent, guess.reason, guess.confidence, method="heuristic", rivals=rivals, roster=roster)


async def _asked(
    context: AgentContext,
    question: str,
    guess: Guess,
    *,
    roster: Mapping[str, AgentSpec],
    history: Sequence[Mapping[str, str]],
    options: Options,
) -> Route:
    """The way that the router's model points out. An answer that cannot be used is no confidence at all."""
    rivals = (guess.agent, *guess.rivals)
    try:
        routed = await ask_router(context, question, roster=roster, history=history, options=options)
    except StepFailed as error:
        return _settled(
            CHAT,
            f"The router gave no answer. {error.message}",
            _UNSURE,
            method="fallback",
            rivals=rivals,
            roster=roster,
        )
    if routed.agent not in (*roster, PLANNER):
        reason = f"The router named '{routed.agent[:40]}', and there is no such agent."
        return _settled(CHAT, reason, _UNSURE, method="fallback", rivals=rivals, roster=roster)
    return _settled(
        routed.agent,
        _reason(routed),
        routed.confidence,
        method="model",
        rivals=(routed.agent, *rivals),
        roster=roster,
    )


def _reason(routed: Routed) -> str:
    return routed.reason.strip()[:300] or "The router chose it."


def _settled(
    agent: str, reason: str, confidence: float, *, method: str, rivals: Sequence[str], roster: Mapping[str, AgentSpec]
) -> Route:
    """With low confidence the chat agent works on it, and people are offered what else could be meant."""
    low = confidence < LOW_CONFIDENCE
    agent = CHAT if low else agent
    return Route(
        kind="plan" if agent == PLANNER else "direct",
        agent=agent,
        reason=reason,
        confidence=confidence,
        is_low_confidence=low,
        method=method,
        alternatives=_alternatives(agent, rivals, roster) if low else (),
    )


def _alternatives(agent: str, rivals: Sequence[str], roster: Mapping[str, AgentSpec]) -> tuple[str, ...]:
    likely = dict.fromkeys((*rivals, *_USUAL))
    return tuple(one for one in likely if one != agent and one in roster and one in MODES)[:ALTERNATIVES]


async def _heard_with_documents(
    context: AgentContext, guess: Guess, question: str, roster: Mapping[str, AgentSpec], *, has_chosen: bool
) -> Guess:
    """Where the patterns see nobody but chat, the person's own documents may speak of it: then they are asked. Those
    that come with a question are what it is about, whatever was said before."""
    if not _is_for_chat(guess) or RAG not in roster:
        return guess
    if has_chosen:
        return Guess("direct", RAG, 0.8, "Documents were chosen for it.", True, (CHAT,))
    named = await speaking_of(context, question) if guess.reason != GOES_ON else ""
    return Guess("direct", RAG, 0.8, f"Your documents speak of it: {named}.", True, (CHAT,)) if named else guess


def _heard_with_tables(guess: Guess) -> Guess:
    """A search finds some of the rows, and sums of these are wrong: where nothing but tables is attached, they go to
    whoever reckons with all of them."""
    if not _is_for_chat(guess) and guess.agent != RAG:
        return guess
    return Guess("direct", DATA, 0.8, "A table is attached to it.", True, (RAG, CHAT))


def _is_for_chat(guess: Guess) -> bool:
    """For want of anybody else. Small talk is, whatever comes with it."""
    return guess.agent == CHAT and guess.confidence < CERTAIN


def _heard_with_pictures(guess: Guess, roster: Mapping[str, AgentSpec]) -> Guess:
    """Where nothing but pictures is attached, an agent that can neither look at them nor take them as files is of no
    use: chat looks at them, and hands over."""
    if guess.kind == "plan" or (guess.agent != CHAT and _takes_pictures(roster.get(guess.agent))):
        return guess
    rivals = tuple(one for one in (guess.agent, *guess.rivals) if one != CHAT)
    return Guess("direct", CHAT, max(guess.confidence, 0.8), "A picture is attached to it.", True, rivals)


def _takes_pictures(spec: AgentSpec | None) -> bool:
    return spec is not None and not _TAKING_PICTURES.isdisjoint(spec.tools) and spec.name != RAG


def _heard_with_newcomers(guess: Guess, roster: Mapping[str, AgentSpec]) -> Guess:
    """The patterns know nothing of an agent that was added: where they are not quite sure, it may be meant."""
    if guess.sure and guess.confidence < CERTAIN and not set(roster) <= KNOWN_AGENTS:
        return replace(guess, sure=False)
    return guess


def _heard_with_history(guess: Guess, question: str, history: Sequence[Mapping[str, str]]) -> Guess:
    """In a conversation, "and in 2024?" and "no, the other one" belong to whoever answered before: the patterns cannot
    tell who that was."""
    if history and guess.sure and _is_for_chat(guess) and goes_on(readable(question)):
        return replace(guess, sure=False, confidence=0.6, reason=GOES_ON)
    return guess
