"""The role that reads what a person wrote for what is worth remembering of them (S154). What becomes of it is decided
in `memory.remembering`.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, field_validator

from agents.craft.briefing import quoted
from agents.craft.exchange import Options
from agents.craft.prompts import read_prompt
from agents.craft.today import dated
from agents.roles.asking import question_of, sections, user
from agents.runtime.context import AgentContext
from hyperagent.lib.clipping import beginning
from hyperagent.lib.llm.types import Message, ModelRequest, Role, Tier
from memory.kinds import MemoryKind, ProfileField
from memory.remembering.profile import kind_of
from memory.remembering.values import Finding, Recalled

NAME: Final = "memory_extractor"
PROMPT = Path(__file__).parent / "memory_extractor_prompt.md"
TEMPERATURE: Final = 0.1
MAX_TOKENS: Final = 512
AT_MOST: Final = 10
KNOWN_CHARS: Final = 200
SHARED: Final = 0.5
"""How much of the words that the model gives as evidence must stand in what the person wrote."""
_WORD: Final = re.compile(r"\w+")


class Found(BaseModel):
    """A thing to remember, as the model says it. Words that are not known here are read as the plainest ones."""

    kind: str = MemoryKind.FACT.value
    field: str | None = None
    text: str
    evidence: str = ""
    replaces: str | None = None

    @field_validator("kind", mode="before")
    @classmethod
    def _known_kind(cls, kind: Any) -> str:
        said = str(kind).strip().lower()
        return said if said in set(MemoryKind) else MemoryKind.FACT.value

    @field_validator("field", mode="before")
    @classmethod
    def _known_field(cls, field: Any) -> str | None:
        said = str(field or "").strip().lower()
        return said if said in set(ProfileField) else None


class Extraction(BaseModel):
    found: bool
    memories: tuple[Found, ...] = ()


async def extracted(context: AgentContext, text: str, known: Sequence[Recalled], *, options: Options) -> list[Finding]:
    """What the person says of themselves in `text`. `known`: memories that it may repeat or contradict. Raises
    StepFailed.

    `options`: where the person chose a provider, what they wrote is not shown to another.
    """
    marks = {f"m{number}": one for number, one in enumerate(known, start=1)}
    told = sections(
        ("What the person wrote", quoted("the person", question_of(text))),
        (
            "Known memories",
            quoted("memories", "\n".join(_known(mark, one) for mark, one in marks.items())) if marks else "",
        ),
    )
    request = ModelRequest(
        tier=Tier.FLASH,
        messages=dated((Message(role=Role.SYSTEM, content=read_prompt(PROMPT)), user(told)), options.today),
        temperature=TEMPERATURE,
        keeps_temperature=True,
        max_tokens=MAX_TOKENS,
        provider=options.provider,
        agent=NAME,
    )
    answer = await context.structured(request, Extraction, stage=NAME, aside=True)
    return findings_of(answer, text, marks)


def findings_of(answer: Extraction, text: str, marks: Mapping[str, Recalled]) -> list[Finding]:
    """What of the answer is the person's own: its evidence stands in their text."""
    if not answer.found:
        return []
    return [_finding(one, marks) for one in answer.memories[:AT_MOST] if one.text.strip() and _is_said(one, text)]


def _finding(one: Found, marks: Mapping[str, Recalled]) -> Finding:
    field = ProfileField(one.field) if one.field else None
    replaced = marks.get((one.replaces or "").strip())
    return Finding(
        kind=kind_of(field) if field else MemoryKind(one.kind),
        text=one.text.strip(),
        field=field,
        evidence=one.evidence.strip(),
        replaces=replaced.id if replaced else None,
    )


def _is_said(one: Found, text: str) -> bool:
    said = {word.lower() for word in _WORD.findall(text)}
    wanted = {word.lower() for word in _WORD.findall(one.evidence or one.text)}
    return bool(wanted) and len(wanted & said) / len(wanted) >= SHARED


def _known(mark: str, one: Recalled) -> str:
    field = f" [{one.field.value}]" if one.field else ""
    return f"{mark}{field}: {beginning(one.text, KNOWN_CHARS)}"
