"""What a data analysis works on: files and texts that came with the task, and the tables in them. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agents.attached import Given
from agents.briefing import clipped, quoted
from agents.exchange import AgentInput, DependencyOutput
from agents.programming import GIVEN
from agents.roster.data.table import Table, described, table_in

SAMPLE_CHARS: Final = 600


@dataclass(frozen=True, slots=True)
class Material:
    """A text by the name of the file that it is in the sandbox. Of a file that `is_there` already, `text` is what is
    known of it."""

    name: str
    text: str
    table: Table | None
    is_there: bool = False


def material_of(task: AgentInput, files: Sequence[Given]) -> tuple[Material, ...]:
    """Texts with a table in the task or in what other agents found, and all of the `files`."""
    found = [_material(file.name, file.text, is_there=file.is_there) for file in files]
    told = [("task.txt", task.task), ("question.txt", task.original_question if not table_in(task.task) else "")]
    for number, output in enumerate((task.dependency_outputs[key] for key in sorted(task.dependency_outputs)), start=1):
        told += [(f"found_{number}_{place}.txt", text) for place, text in enumerate(_texts_of(output), start=1)]
    texts = [_material(f"{GIVEN}/{name}", text) for name, text in told]
    found += [material for material in texts if material.table is not None]
    return tuple(found)


def told(materials: Sequence[Material]) -> str:
    """For a prompt or a person: what lies there, and what is in it."""
    return "\n\n".join(_told(material) for material in materials)


def _told(material: Material) -> str:
    if not material.text:
        return f"`{material.name}`: not looked into yet; the program has to find out what is in it"
    described_as = described(material.table) if material.table else f"text of {len(material.text):,} characters"
    if material.is_there:
        described_as = f"its beginning has {described_as}"
    sample = quoted(f"the beginning of {material.name}", clipped(material.text, SAMPLE_CHARS))
    return f"`{material.name}`: {described_as}\n{sample}"


def _material(name: str, text: str, *, is_there: bool = False) -> Material:
    return Material(name, text, table_in(text), is_there)


def _texts_of(output: DependencyOutput) -> list[str]:
    chunks = output.data.get("chunks") or []
    passages = [str(chunk.get("text", "")) for chunk in chunks if isinstance(chunk, dict)]
    return [text for text in (output.result, str(output.data.get("stdout") or ""), *passages) if text]
