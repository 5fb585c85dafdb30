"""Which files a task of programs is about: the person's own first, and none of them is written over."""

from dataclasses import dataclass, field

import pytest

from agents.craft.code_blocks import fenced
from agents.craft.exchange import Options
from agents.tools.providers import OriginalFile, Providers
from agents.tools.values import ListedDocument
from tests.roster.driving import Cases, prompt, says, task_for
from tests.scripted.server import ScriptedServer
from tests.tools.doubles import FakeDocuments, FakeWorkspace, fake_providers

HERS, HIS = "# Her plan", "# His plan"
TASK = "Write a program that counts the words in plan.md"


@dataclass
class Files:
    """`documents`: name, text and whether it is her own."""

    documents: tuple[tuple[str, str, bool], ...] = ()
    workspace: FakeWorkspace = field(default_factory=FakeWorkspace)

    @property
    def providers(self) -> Providers:
        listed = tuple(
            ListedDocument(doc_id=f"d{number}", filename=name, is_own=is_own)
            for number, (name, _, is_own) in enumerate(self.documents)
        )
        originals = {
            f"d{number}": OriginalFile(name, text.encode()) for number, (name, text, _) in enumerate(self.documents)
        }
        documents = FakeDocuments(documents=listed, originals=originals)
        return fake_providers(documents=documents, workspace=self.workspace)


async def asked_of(server: ScriptedServer, cases: Cases, files: Files, *, attached: tuple[str, ...] = ()) -> str:
    """What the model that writes the program is told."""
    server.script(says(fenced("print(3)", "python")), says("There are three."))
    options = Options(attachment_ids=attached, interactive=False)
    await cases(task_for("code", TASK, options=options), files.providers).output()
    return prompt(server, 0)


@pytest.mark.threat("T16", "T27")
async def test_a_file_of_the_conversation_that_the_task_names_is_meant_and_no_document_of_another(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    files = Files((("plan.md", HIS, False),), FakeWorkspace({"plan.md": HERS}))

    told = await asked_of(scripted_server, cases, files)

    assert files.workspace.files == {"plan.md": HERS}
    assert "- `plan.md`" in told


@pytest.mark.threat("T16", "T27")
async def test_a_document_of_ones_own_goes_before_newer_ones_of_others(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    files = Files((("plan.md", HIS, False), ("plan.md", HERS, True)))

    await asked_of(scripted_server, cases, files)

    assert files.workspace.files == {"plan.md": HERS}


@pytest.mark.threat("T16", "T27")
async def test_an_attached_document_whose_name_a_file_has_gets_a_name_of_its_own_and_the_model_is_told(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    files = Files((("plan.md", HIS, False),), FakeWorkspace({"plan.md": HERS}))

    told = await asked_of(scripted_server, cases, files, attached=("d0",))

    assert files.workspace.files == {"plan.md": HERS, "plan-2.md": HIS}
    assert "`plan-2.md` is the document `plan.md`." in told


async def test_a_document_that_lies_there_already_is_not_put_there_twice(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    files = Files((("plan.md", HIS, False),), FakeWorkspace({"plan.md": HERS, "plan-2.md": HIS}))

    await asked_of(scripted_server, cases, files, attached=("d0",))

    assert sorted(files.workspace.files) == ["plan-2.md", "plan.md"]
