"""What a data analysis works on: files and texts that came with the task, and the tables in them. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from agents.craft.attached import Given
from agents.craft.briefing import quoted
from agents.craft.earlier_turns import TURNS
from agents.craft.exchange import AgentInput, DependencyOutput
from agents.craft.programming import GIVEN
from agents.roster.data.table import Table, described, form_of, table_in
from hyperagent.lib.clipping import beginning

SAMPLE_CHARS: Final = 600
TASK: Final = "text of the task"
QUESTION: Final = "text of the question"
EARLIER: Final = "text of the conversation"
_NUMBER: Final = re.compile(r"^\d+_")


@dataclass(frozen=True, slots=True)
class Material:
    """A text by the name of the file that it is in the sandbox. Of a file that `is_there` already, `text` is what is
    known of it. `source`: what it is for people; `form`: how it is written, such as csv, xlsx, json or text."""

    name: str
    text: str
    table: Table | None
    source: str
    form: str
    is_there: bool = False


def material_of(
    task: AgentInput, files: Sequence[Given], *, folder: str, earlier: Sequence[Mapping[str, str]] = ()
) -> tuple[Material, ...]:
    """Texts with a table in the task, else in the `earlier` turns, or in what other agents found, which go into this
    `folder`, and all of the `files`."""
    found = [_of_file(file) for file in files]
    told = [("task.txt", task.task, TASK)]
    if not table_in(task.task):
        told.append(("question.txt", task.original_question, QUESTION))
    if earlier and not any(table_in(text) for _, text, _ in told):
        told.append(("earlier.txt", _last_table(earlier), EARLIER))
    for number, output in enumerate((task.dependency_outputs[key] for key in sorted(task.dependency_outputs)), start=1):
        texts = enumerate(_texts_of(output), start=1)
        told += [(f"found_{number}_{place}.txt", text, f"{output.agent_name} agent") for place, text in texts]
    pasted = [Material(f"{folder}/{name}", text, table_in(text), source, form_of(text)) for name, text, source in told]
    found += [material for material in pasted if material.table is not None]
    return tuple(found)


def worked_on(materials: Sequence[Material]) -> dict[str, str]:
    """S55: what was analysed, and how that is written; each once, in the order in which they were given."""
    return {
        "data_source": ", ".join(dict.fromkeys(material.source for material in materials)),
        "data_type": ", ".join(dict.fromkeys(material.form for material in materials)),
    }


def told(materials: Sequence[Material]) -> str:
    """For a prompt or a person: what lies there, and what is in it."""
    return "\n\n".join(_told(material) for material in materials)


def _told(material: Material) -> str:
    if not material.text:
        return f"`{material.name}`: not looked into yet; the program has to find out what is in it"
    whole = described(material.table) if material.table else f"text of {len(material.text):,} characters"
    # What a column is called, and what is in it, is in the words of whoever wrote the table.
    size, _, columns = whole.partition("\n")
    lines = [f"`{material.name}`: {f'its beginning has {size}' if material.is_there else size}"]
    if columns:
        lines.append(quoted(f"the columns of {material.name}", columns))
    return "\n".join([*lines, quoted(f"the beginning of {material.name}", beginning(material.text, SAMPLE_CHARS))])


def _of_file(file: Given) -> Material:
    """By its own name: what was put beside the program has a number before it."""
    path = PurePosixPath(file.name)
    source = _NUMBER.sub("", path.name) if path.parts[0] == GIVEN else file.name
    form = path.suffix.lower().removeprefix(".") or form_of(file.text)
    form = "text" if form == "txt" else form
    return Material(file.name, file.text, table_in(file.text), source, form, file.is_there)


def _last_table(history: Sequence[Mapping[str, str]]) -> str:
    """The newest turn with a table in it; empty without one."""
    return next((turn["content"] for turn in reversed(history[-TURNS:]) if _is_table(turn)), "")


def _is_table(turn: Mapping[str, str]) -> bool:
    """In the prose of an answer, lines with as many commas look like a table too: there, one is drawn or fenced."""
    form = form_of(turn["content"])
    return form in ("json", "markdown") or (form == "csv" and (turn["role"] == "user" or "```" in turn["content"]))


def _texts_of(output: DependencyOutput) -> list[str]:
    chunks = output.data.get("chunks") or []
    passages = [str(chunk.get("text", "")) for chunk in chunks if isinstance(chunk, dict)]
    return [text for text in (output.result, str(output.data.get("stdout") or ""), *passages) if text]
