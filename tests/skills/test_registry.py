"""Skills are found in their folders, or the server does not start and says why."""

import importlib
import itertools
import re
from pathlib import Path
from types import ModuleType

import pytest

from agents.skills.base import BadSkill, SkillMetadata
from agents.skills.registry import discover, skills

CODE = """
from pydantic import BaseModel
from agents.skills.base import SkillResult, ToolSkill

class Params(BaseModel):
    text: str

class Output(BaseModel):
    text: str

class Shout(ToolSkill[Params]):
    id, version, category = "{id}", "{version}", "writing"
    description = "Says a text in capital letters."
    params, output = Params, Output

    async def execute(self, params, context):
        return SkillResult(output={{"text": params.text.upper()}}, text=params.text.upper())

SKILL = Shout()
"""
TEXT = """---
id: meeting_notes
version: 1.2.0
description: "Turns a transcript into notes with decisions and tasks."
category: writing
tools: web_search, fetch_url
---
Read the transcript. List decisions first, then tasks with their owners.

---
A line of its own is no end.
"""
USUAL = """---
name: meeting-notes
description: Turns a transcript into notes with decisions and tasks.
license: Apache-2.0
---

Read the transcript. List decisions first.
"""
_numbers = itertools.count()


class Folders:
    """A package of skills under a name that no other test has."""

    def __init__(self, root: Path) -> None:
        self.name = f"skills_of_test_{next(_numbers)}"
        self.path = root / self.name
        self.write("__init__.py", "")

    def write(self, path: str, text: str) -> None:
        file = self.path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def package(self) -> ModuleType:
        importlib.invalidate_caches()
        return importlib.import_module(self.name)


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folders:
    monkeypatch.syspath_prepend(tmp_path)
    return Folders(tmp_path)


@pytest.mark.spec("S194")
def test_the_skills_of_the_product_are_whole() -> None:
    assert {"code_generation", "data_analysis", "task_planning", "web_research"} <= skills().keys()


@pytest.mark.spec("S192")
@pytest.mark.parametrize("skill_id", ["code_generation", "data_analysis", "task_planning", "web_research"])
def test_a_skill_describes_itself_with_schemas_of_what_it_takes_and_gives(skill_id: str) -> None:
    metadata = skills()[skill_id].metadata

    assert isinstance(metadata, SkillMetadata)
    assert metadata.id == skill_id
    assert metadata.parameters["type"] == metadata.output_schema["type"] == "object"
    assert all("description" in field for field in metadata.parameters["properties"].values())


@pytest.mark.spec("S192")
def test_a_skill_is_a_folder_and_nothing_else(folders: Folders) -> None:
    folders.write("shout/skill.py", CODE.format(id="shout", version="1.0.0"))
    folders.write("meeting_notes/SKILL.md", TEXT)
    folders.write("__pycache__/old.pyc", "")
    (folders.path / "left_over" / "__pycache__").mkdir(parents=True)

    found = discover(folders.package())

    assert list(found) == ["meeting_notes", "shout"]
    assert found["shout"].metadata.parameters["required"] == ["text"]


@pytest.mark.spec("S192")
def test_a_text_is_a_skill_with_its_fields_and_tools(folders: Folders) -> None:
    folders.write("meeting_notes/SKILL.md", TEXT)

    skill = discover(folders.package())["meeting_notes"]

    assert (skill.version, skill.category) == ("1.2.0", "writing")
    assert skill.description == "Turns a transcript into notes with decisions and tasks."
    assert skill.tools == ("web_search", "fetch_url")
    assert skill.metadata.parameters["required"] == ["task"]


@pytest.mark.spec("S192")
def test_a_text_with_a_name_and_a_description_is_a_skill_as_it_is(folders: Folders) -> None:
    folders.write("meeting-notes/SKILL.md", USUAL)

    skill = discover(folders.package())["meeting_notes"]

    assert (skill.metadata.id, skill.version, skill.category, skill.tools) == ("meeting_notes", "1.0.0", "general", ())


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        ("shout/readme.md", "hello", "the skill 'shout' needs either skill.py or SKILL.md"),
        ("shout/skill.py", "SKILL = 3", "shout/skill.py needs SKILL, an instance of a Skill"),
        ("shout/skill.py", "import not_there", "shout/skill.py cannot be imported: No module named 'not_there'"),
        ("shout/skill.py", CODE.format(id="whisper", version="1.0.0"), "in the folder 'shout' calls itself 'whisper'"),
        ("shout/skill.py", CODE.format(id="shout", version="one"), "the skill 'shout' does not describe itself"),
        ("notes/SKILL.md", "Just do it.", "does not begin with its fields"),
        ("notes/SKILL.md", "---\nid: notes\n", "does not begin with its fields"),
        ("notes/SKILL.md", "---\nid: notes\nmood: good\n---\nbody", "notes/SKILL.md lacks 'description'; has"),
        ("notes/SKILL.md", "---\ndescription: Writes notes of a talk.\n---\nbody", "notes/SKILL.md lacks 'name'"),
        ("notes/SKILL.md", USUAL, "in the folder 'notes' calls itself 'meeting_notes'"),
        ("notes/SKILL.md", "---\nid: notes\nmood: good\n---\nbody", "has 'mood', which means nothing here"),
        ("meeting_notes/SKILL.md", TEXT.partition("Read")[0], "has no instructions"),
        ("meeting_notes/SKILL.md", TEXT.replace("fetch_url", "invoke_skill"), "may not use the tool 'invoke_skill'"),
        ("meeting_notes/SKILL.md", TEXT.replace("fetch_url", "teleport"), "needs the tool 'teleport', which is not th"),
        ("meeting_notes/SKILL.md", TEXT.replace("1.2.0", "latest"), "does not describe itself"),
    ],
)
def test_a_folder_that_is_no_skill_stops_the_start_and_says_why(
    path: str, text: str, why: str, folders: Folders
) -> None:
    folders.write(path, text)

    with pytest.raises(BadSkill, match=re.escape(why)):
        discover(folders.package())


def test_two_forms_in_one_folder_are_one_too_many(folders: Folders) -> None:
    folders.write("shout/skill.py", CODE.format(id="shout", version="1.0.0"))
    folders.write("shout/SKILL.md", TEXT)

    with pytest.raises(BadSkill, match="either"):
        discover(folders.package())


def test_every_broken_folder_is_named_at_once(folders: Folders) -> None:
    folders.write("one/skill.py", "SKILL = 1")
    folders.write("two/SKILL.md", "nothing")

    with pytest.raises(BadSkill, match=r"one/skill\.py.*; two/SKILL\.md"):
        discover(folders.package())
