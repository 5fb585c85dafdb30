"""What router, planner, verifier and clarifier share: the form of a request, and of what they are told."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from agents.craft.earlier_turns import as_quotation
from agents.craft.exchange import Options
from agents.craft.project_rules import with_project_rules, with_rules_of_another
from agents.craft.today import dated
from agents.spec import AgentSpec
from hyperagent.lib.clipping import beginning, ending
from hyperagent.lib.llm.types import Message, ModelRequest, Role, Tier

QUESTION_CHARS: Final = 12_000


def request_of(role: str, tier: Tier, system: str, *said: Message, options: Options | None = None) -> ModelRequest:
    """A request in a role's name. `options`: with the provider and model that whoever asked chose, the instructions of
    the project that it was asked in, and the day."""
    chosen = options or Options()
    told = Message(role=Role.SYSTEM, content=with_project_rules(system, chosen))
    return ModelRequest(
        tier=tier,
        messages=dated((told, *with_rules_of_another(said, chosen)), chosen.today),
        provider=chosen.provider,
        model=chosen.model,
        agent=role,
    )


def user(text: str) -> Message:
    return Message(role=Role.USER, content=text)


def assistant(text: str) -> Message:
    return Message(role=Role.ASSISTANT, content=text)


def sections(*parts: tuple[str, str]) -> str:
    """Headed parts, the empty ones left out."""
    return "\n\n".join(f"## {heading}\n{text}" for heading, text in parts if text.strip())


def question_of(question: str) -> str:
    """The question as a role reads it: whole, unless it is very long."""
    if len(question) <= QUESTION_CHARS:
        return question
    half = QUESTION_CHARS // 2
    return f"{beginning(question, half)}\n[…]\n{ending(question, half)}"


def conversation_of(history: Sequence[Mapping[str, str]]) -> str:
    """The last turns in short, as data; empty if there were none."""
    return as_quotation(history, whole_chars=0)


def described(roster: Iterable[AgentSpec], *, tools: bool) -> str:
    """The agents with their examples, in the order of their names."""
    return "\n".join(_described(spec, tools=tools) for spec in sorted(roster, key=lambda spec: spec.name))


def _described(spec: AgentSpec, *, tools: bool) -> str:
    lines = [f"- {spec.name}: {spec.description}", f"  can: {', '.join(spec.capabilities)}"]
    if tools:
        lines.append(f"  tools: {', '.join(spec.tools) or 'none'}")
    examples = "; ".join(f'"{case}"' for case in spec.typical_use_cases)
    return "\n".join([*lines, f"  for example: {examples}"])
