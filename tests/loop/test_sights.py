"""What the model is told besides the conversation: the plan, files, and tools that cannot be used."""

from dataclasses import dataclass

import pytest

from agents.craft.exchange import AgentInput, HandoffInfo
from agents.craft.loop_state import LoopState
from agents.craft.middleware.base import Interrupt, Middleware
from agents.craft.middleware.soft_disable import SoftDisable
from agents.craft.middleware.todo import capped
from agents.craft.middleware.workspace import WorkspaceFiles, chosen, names_in
from agents.pipeline.todo import CONTEXT_CHARS, CONTEXT_HEAD
from agents.runtime.context import AgentContext
from agents.runtime.tool_door import ToolReply
from tests.loop.driving import TASK, Cases, calls, looped, offered, sent
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer

PLANNED: AgentInput = TASK.model_copy(update={"active_context": f"{CONTEXT_HEAD}\n- [x] web: look\n- [ ] helper: find"})


@pytest.mark.spec("S63")
async def test_the_plan_stands_at_the_end_of_every_request_and_once_in_each(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(calls(("search", {})), Script(text="Done."))

    looped_ = await looped(cases({"search": lambda arguments: "found"}, task=PLANNED))

    for number in (0, 1):
        last = sent(scripted_server, number)[-1]
        assert (last["role"], last["content"]) == ("system", PLANNED.active_context)
        assert sum(CONTEXT_HEAD in str(message["content"]) for message in sent(scripted_server, number)) == 1
    assert not any(CONTEXT_HEAD in message.content for message in looped_.messages)


@pytest.mark.spec("S63")
def test_the_plan_takes_at_most_2000_characters_and_is_cut_at_a_line() -> None:
    lines = [f"- [ ] helper: task number {number}" for number in range(200)]

    cut = capped("\n".join(lines))

    assert len(cut) <= CONTEXT_CHARS
    assert cut.startswith(f"{CONTEXT_HEAD}\n- [ ] helper: task number 0\n")
    assert set(cut.splitlines()[1:-1]) <= set(lines)
    assert cut.endswith("\n[…]")
    assert len(capped("x" * 5_000 + "\n- more")) == CONTEXT_CHARS
    assert capped(f"{CONTEXT_HEAD}\nshort") == f"{CONTEXT_HEAD}\nshort"
    assert capped("  ") == capped(CONTEXT_HEAD) == ""


@pytest.mark.spec("S88")
async def test_a_tool_that_is_not_configured_stays_in_the_schema_and_is_named_in_words(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    needs = {"search": ("web",)}
    scripted_server.script(Script(text="Without the web: 42."))
    case = cases(
        {},
        missing={"web": "Web search is not configured: set TAVILY_API_KEY."},
        middleware=(SoftDisable(lambda name: needs.get(name, ())),),
    )

    await looped(case)

    assert offered(scripted_server, 0) == ["search", "read"]
    told = sent(scripted_server, 0)[-1]
    assert told["role"] == "system"
    assert "- search: Web search is not configured: set TAVILY_API_KEY." in told["content"]
    assert "- read" not in told["content"]


@dataclass(frozen=True)
class AskFirst(Middleware):
    async def before_model(self, context: AgentContext, state: LoopState) -> LoopState | Interrupt:
        return state if "asked" in state.metadata else Interrupt("input", {"question": "Go?"}, state.noting("asked", 1))


@pytest.mark.spec("S88")
async def test_a_provider_that_is_configured_while_the_run_waits_does_not_change_what_is_asked(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    case = cases({}, missing={"web": "No web."}, middleware=(SoftDisable(lambda name: ("web",)), AskFirst()))

    await case.drive()
    case.answer({"status": "answered", "text": "yes"})
    assert case.door is not None
    case.door.missing = {}
    scripted_server.script(Script(text="Done."))
    await looped(case)

    assert "- search: No web." in sent(scripted_server, 0)[-1]["content"]
    assert case.events("journal_cut") == []


@pytest.mark.parametrize(
    ("task", "names"),
    [
        ("Sum up report.pdf and data/q3.csv, please.", ("report.pdf", "data/q3.csv")),
        ("Compare a-b_c.tar.gz with x.py (e.g. by size), 3.5 times, i.e. twice.", ("a-b_c.tar.gz", "x.py")),
        ("Nothing is named here. Nor here.", ()),
    ],
)
def test_files_are_found_by_their_names_in_the_task(task: str, names: tuple[str, ...]) -> None:
    assert names_in(task) == names


def test_of_the_files_those_that_are_named_are_chosen() -> None:
    files = [{"path": f"in/{name}", "size_bytes": 5} for name in ("report.pdf", "other.pdf", "q3.csv")]

    assert chosen(files, ("report.pdf", "data/q3.csv")) == [files[0], files[2]]
    assert chosen({"files": files}, ("other.pdf",)) == [files[1]]
    assert chosen(None, ("other.pdf",)) == []


async def test_the_model_is_told_which_files_its_task_speaks_of(scripted_server: ScriptedServer, cases: Cases) -> None:
    files = [{"path": "in/report.pdf", "size_bytes": 1234}, {"path": "in/notes.md", "size_bytes": 1}]
    handoff = HandoffInfo(source_agent="a", target_agent="b", task_description="c", artifacts=("in/notes.md",))
    scripted_server.script(Script(text="Read."), Script(text="Not read."))
    task = TASK.model_copy(update={"task": "Sum up report.pdf", "handoffs": (handoff,)})
    functions = {"list_files": lambda arguments: ToolReply("two files", files)}

    await looped(cases(functions, task=task, tools=("list_files",), middleware=(WorkspaceFiles(),)))
    missing = cases(
        functions, task=task, tools=("list_files",), middleware=(WorkspaceFiles(),), missing={"workspace": "No."}
    )
    await looped(missing)

    assert sent(scripted_server, 0)[-1]["content"].splitlines()[1:] == [
        "- in/report.pdf (1,234 bytes)",
        "- in/notes.md (1 bytes)",
    ]
    assert sent(scripted_server, 1)[-1]["role"] == "user"
    assert missing.door is not None
    assert missing.door.performed == []
