"""What a data analysis works on: texts that came with the task, and the tables in them. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agents.briefing import clipped, quoted
from agents.exchange import AgentInput, DependencyOutput
from agents.roster.data.table import Table, described, table_in

SAMPLE_CHARS: Final = 600


@dataclass(frozen=True, slots=True)
class Material:
    """A text by the name of the file that it is in the sandbox."""

    name: str
    text: str
    table: Table | None


def material_of(task: AgentInput, documents: Sequence[tuple[str, str]]) -> tuple[Material, ...]:
    """Texts with a table in the task or in what other agents found, and all of the `documents` (name, text)."""
    found = [_material(f"{place}_{_file_name(name)}", text) for place, (name, text) in enumerate(documents, start=1)]
    told = [("task.txt", task.task), ("question.txt", task.original_question if not table_in(task.task) else "")]
    for number, output in enumerate((task.dependency_outputs[key] for key in sorted(task.dependency_outputs)), start=1):
        told += [(f"found_{number}_{place}.txt", text) for place, text in enumerate(_texts_of(output), start=1)]
    found += [material for name, text in told if (material := _material(name, text)).table is not None]
    return tuple(found)


def told(materials: Sequence[Material]) -> str:
    """For a prompt or a person: what lies there, and what is in it."""
    return "\n\n".join(_told(material) for material in materials)


def _told(material: Material) -> str:
    described_as = described(material.table) if material.table else f"text of {len(material.text):,} characters"
    sample = quoted(f"the beginning of {material.name}", clipped(material.text, SAMPLE_CHARS))
    return f"`{material.name}`: {described_as}\n{sample}"


def _file_name(name: str) -> str:
    """What a file may be called in the sandbox, whatever it was called where it came from."""
    return re.sub(r"[^\w.-]+", "_", name.rsplit("/", 1)[-1]).strip("._")[-80:] or "document.txt"


def _material(name: str, text: str) -> Material:
    return Material(name, text, table_in(text))


def _texts_of(output: DependencyOutput) -> list[str]:
    chunks = output.data.get("chunks") or []
    passages = [str(chunk.get("text", "")) for chunk in chunks if isinstance(chunk, dict)]
    return [text for text in (output.result, str(output.data.get("stdout") or ""), *passages) if text]
