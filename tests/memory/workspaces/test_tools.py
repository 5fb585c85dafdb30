"""Agents' tools on real files: what they write is the user's, whatever is interrupted, and a plan is a file as well."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from asgiref.sync import sync_to_async

from agents.pipeline.todo_file import PATH as TODO
from agents.runtime.context import AgentContext
from agents.runtime.driven import About
from agents.tools.catalogue.original_tools import file_name
from agents.tools.free_names import put_beside
from agents.tools.gateway import Gateway
from agents.tools.providers import Providers
from agents.tools.tool import ToolError
from agents.workspace import OwnFiles, place_of, replaced
from conversations import actions as conversations
from memory.workspaces import files
from memory.workspaces.places import Place, Scope
from tests.doubles.memory_journal import Death
from tests.faces.conftest import in_threads
from tests.memory.workspaces.conftest import Places
from tests.pipeline.graphs import DIAMOND, QUESTION, lines
from tests.runtime.conftest import make_runner
from tests.runtime.driving import Runners, ended, events
from tests.scripted.fixtures import scripted_server
from tests.scripted.script import Script, ScriptedCall
from tests.scripted.server import ScriptedServer
from tests.tools.doubles import FakeWorkspace
from tests.tools.driving import ToolCase, case_of, seen

__all__ = ["in_threads", "make_runner", "scripted_server"]
pytestmark = pytest.mark.usefixtures("in_threads")
GATEWAY = Gateway(Providers(workspace=OwnFiles()))
Program = Callable[[AgentContext], Awaitable[Any]]


def case(program: Program, user: Any, conversation_id: UUID | None) -> ToolCase:
    found = case_of(program, GATEWAY)
    found.user_id, found.conversation_id = user.pk, conversation_id
    return found


async def calls(
    user: Any, conversation_id: UUID | None, *steps: tuple[str, dict[str, Any]]
) -> tuple[list[Any], ToolCase]:
    """What each call gave, and the case that it was driven in."""

    async def program(context: AgentContext) -> Any:
        return [seen(await context.tool(name, arguments)) for name, arguments in steps]

    driven = case(program, user, conversation_id)
    end = await driven.drive()
    assert end.how == "completed", end
    return list(end.value), driven


@pytest.mark.spec("S81", "S139")
async def test_an_agent_writes_reads_changes_and_deletes_files_of_the_run_and_people_see_it(
    alice: Any, places: Places
) -> None:
    here = places["conversation"]
    long = "".join(f"line {number}\n" for number in range(1, 4001))

    told, driven = await calls(
        alice,
        here.scope_id,
        ("write_file", {"path": "/home/user/out/report.md", "content": "# Q3\n\nGrew by 12 %."}),
        ("edit_file", {"path": "out/report.md", "old": "12 %", "new": "14 %"}),
        ("edit_file", {"path": "out/report.md", "old": "12 %", "new": "14 %"}),
        ("read_file", {"path": "./out/report.md"}),
        ("write_file", {"path": "long.txt", "content": long}),
        ("read_file", {"path": "long.txt"}),
        ("read_file", {"path": "long.txt", "first_line": 3999}),
        ("read_file", {"path": "long.txt", "first_line": 9999}),
        ("list_files", {}),
        ("delete_file", {"path": "long.txt"}),
        ("read_file", {"path": "long.txt"}),
        ("write_file", {"path": "../../etc/passwd", "content": "x"}),
    )

    assert told[0]["data"] == {
        "path": "out/report.md",
        "size_bytes": 19,
        "media_type": "text/markdown",
        "version": 1,
        "scope_id": str(here.scope_id),
    }
    assert told[2]["content"].startswith("Error: The text to replace does not stand in out/report.md.")
    assert told[3]["data"]["text"] == "# Q3\n\nGrew by 14 %."
    assert "of 4,000; read on with first_line=" in told[5]["content"]
    assert told[6]["data"]["text"] == "line 3999\nline 4000\n"
    assert "4,000 lines" in told[7]["content"]
    assert [file["path"] for file in told[8]["data"]] == ["long.txt", "out/report.md"]
    assert told[10]["content"] == (
        "Error: There is no file long.txt in this workspace. Take a path as list_files gives it."
    )
    assert told[11]["is_error"]
    updates = [(one["operation"], one["path"], one["version"]) for one in driven.events("workspace_update")]
    assert updates == [
        ("written", "out/report.md", 1),
        ("written", "out/report.md", 2),
        ("written", "long.txt", 1),
        ("deleted", "long.txt", 1),
    ]
    kept = await sync_to_async(files.versions)(alice.pk, here, "out/report.md")
    assert {(row.by, row.by_execution) for row in kept} == {("chat", driven.execution_id)}


@pytest.mark.spec("S81")
async def test_scopes_lead_to_the_conversation_its_project_and_the_user_and_to_nothing_of_others(
    alice: Any, charlie: Any, places: Places
) -> None:
    write = [("write_file", {"path": f"{scope}.txt", "content": scope, "scope": scope}) for scope in places]
    read = [("read_file", {"path": f"{scope}.txt", "scope": scope}) for scope in places]

    await calls(alice, places["conversation"].scope_id, *write)
    foreign, _ = await calls(charlie, places["conversation"].scope_id, *read, *write[1:], ("list_files", {}))
    alone, _ = await calls(alice, None, *read)

    for scope, place in places.items():
        listed = await sync_to_async(files.listed)(alice.pk, place)
        assert [facts.path for facts in listed] == [f"{scope}.txt"]
    assert [told["is_error"] for told in foreign] == [True] * len(foreign)
    assert [told["is_error"] for told in alone] == [False, True, True]
    assert "Use the scope 'user'" in alone[2]["content"]
    with pytest.raises(ToolError, match="belongs to nobody"):
        place_of(About(UUID(int=1)), "user")


@pytest.mark.slow
@pytest.mark.spec("B1", "B2")
@pytest.mark.parametrize("death", list(Death))
async def test_files_that_were_being_changed_when_the_runner_died_are_changed_once(
    death: Death, alice: Any, places: Places
) -> None:
    here = places["user"]

    async def program(context: AgentContext) -> Any:
        for name, arguments in (
            ("write_file", {"path": "a.md", "content": "one, two"}),
            ("edit_file", {"path": "a.md", "old": "two", "new": "two, two"}),
            ("write_file", {"path": "b.md", "content": "x"}),
            ("delete_file", {"path": "b.md"}),
        ):
            reply = await context.tool(name, {**arguments, "scope": "user"})
            assert not reply.is_error, reply
        return True

    for at in range(2, 18, 3):
        driven = case(program, alice, None)
        end = await driven.drive(death=death, at=at)
        while end.how == "killed":
            end = await driven.drive()
        kept = await sync_to_async(files.versions)(alice.pk, here, "a.md")
        assert (end.value, driven.open_requests, [row.number for row in kept]) == (True, [], [2, 1]), at
        assert (await sync_to_async(files.read)(alice.pk, here, "a.md"))[1] == b"one, two, two"
        assert [facts.path for facts in await sync_to_async(files.listed)(alice.pk, here)] == ["a.md"]
        await sync_to_async(files.forget)(here)


async def test_bytes_go_in_and_out_for_other_tools_and_are_no_text(alice: Any, places: Places) -> None:
    about = About(UUID(int=7), alice.pk, places["conversation"].scope_id)
    picture = b"\x89PNG\r\n\x1a\n\0\0"

    stored = await OwnFiles().write_bytes(about, "plot", picture, "image/png", by="execute_code")
    told, _ = await calls(alice, places["conversation"].scope_id, ("read_file", {"path": "plot"}))

    assert (stored.media_type, await OwnFiles().read_bytes(about, "plot")) == ("image/png", picture)
    assert "is no text but image/png of 10 bytes" in told[0]["content"]


async def test_two_agents_who_change_one_file_at_once_both_have_their_way(alice: Any, places: Places) -> None:
    about = About(UUID(int=7), alice.pk, places["conversation"].scope_id)
    await OwnFiles().write_file(about, "a.md", "red green")

    await asyncio.gather(
        OwnFiles().edit_file(about, "a.md", "red", "blue"), OwnFiles().edit_file(about, "a.md", "green", "white")
    )

    assert (await OwnFiles().read_file(about, "a.md")).text == "blue white"


@pytest.mark.parametrize("workspace", [OwnFiles(), FakeWorkspace()], ids=["real", "double"])
async def test_the_double_does_as_the_real_one(workspace: Any, alice: Any, places: Places) -> None:
    about = About(UUID(int=7), alice.pk, places["conversation"].scope_id)
    scope: Any = {"scope": "conversation"}

    await workspace.write_file(about, "a/b.md", "one two two", key="k", **scope)
    await workspace.write_bytes(about, "c.md", b"bytes")

    assert await workspace.was_written(about, "a/b.md", "k", **scope)
    assert not await workspace.was_written(about, "a/b.md", "other", **scope)
    for path in ("a/b.md", "a/", "not/there.md"):
        assert not await workspace.stood_before(about, path, runs=(about.execution_id,), **scope)
    for old in ("three", "two"):
        with pytest.raises(ToolError):
            await workspace.edit_file(about, "a/b.md", old, "x", **scope)
    assert (await workspace.edit_file(about, "a/b.md", "one", "1", **scope)).size_bytes == 9
    assert (await workspace.read_file(about, "a/b.md", **scope)).text == "1 two two"
    assert await workspace.read_bytes(about, "c.md") == b"bytes"
    assert [file.path for file in await workspace.list_files(about, prefix="a/", **scope)] == ["a/b.md"]
    assert (await workspace.delete_file(about, "c.md", **scope)).path == "c.md"
    for missing in (workspace.read_file, workspace.delete_file):
        with pytest.raises(ToolError):
            await missing(about, "c.md", **scope)


@pytest.mark.threat("T16")
async def test_whose_a_file_is_tells_its_present_version(alice: Any, charlie: Any, places: Places) -> None:
    here = places["conversation"]
    mine, other = About(UUID(int=7), alice.pk, here.scope_id), About(UUID(int=8), alice.pk, here.scope_id)
    by_hand = sync_to_async(files.write)

    await OwnFiles().write_file(mine, "a/mine.md", "mine")
    await OwnFiles().write_file(other, "a/theirs.md", "theirs")
    await by_hand(alice.pk, here, "a/person.md", b"a person's")
    await OwnFiles().write_file(mine, "b/over.md", "mine, and then")
    await by_hand(alice.pk, here, "b/over.md", b"a person's")
    await OwnFiles().write_file(other, "c/gone.md", "theirs")
    await OwnFiles().delete_file(other, "c/gone.md")

    async def stood(path: str, *runs: int) -> bool:
        return await OwnFiles().stood_before(mine, path, runs=[UUID(int=run) for run in runs or (7,)])

    told = {path: await stood(path) for path in ("a/mine.md", "a/theirs.md", "a/person.md", "b/over.md", "c/gone.md")}
    assert told == {
        "a/mine.md": False,
        "a/theirs.md": True,
        "a/person.md": True,
        "b/over.md": True,
        "c/gone.md": False,
    }
    assert (await stood("a/"), await stood("c/"), await stood("/home/user/a/theirs.md")) == (True, False, True)
    assert not await stood("a/theirs.md", 7, 8)
    with pytest.raises(ToolError):
        await OwnFiles().stood_before(About(UUID(int=9), charlie.pk, here.scope_id), "a/theirs.md")


def test_lines_of_another_system_are_replaced_as_well_and_stay_what_they_are() -> None:
    assert replaced(b"a\r\nb\r\nc", "a\nb", "x\ny", path="a") == b"x\r\ny\r\nc"
    assert replaced("ü a".encode(), "a", "b", path="a") == "ü b".encode()
    with pytest.raises(ToolError, match="no text in UTF-8"):
        replaced("ü a".encode("latin-1"), "a", "b", path="a")


@pytest.mark.slow
@pytest.mark.spec("S62", "S81")
async def test_a_plan_stands_as_a_checklist_among_the_files_and_is_ticked_off(
    alice: Any, places: Places, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    here: Place = places["conversation"]
    scripted_server.script(*lines(DIAMOND))
    await make_runner(scripted_server.url, providers=Providers(workspace=OwnFiles()))

    said = await sync_to_async(conversations.say)(alice, here.scope_id, conversations.Question(QUESTION))
    run = await ended(said.execution.id)

    assert run.status == "completed", (await events(run.id))[-4:]
    kept = await sync_to_async(files.versions)(alice.pk, here, TODO)
    texts = [(await sync_to_async(files.read)(alice.pk, here, TODO, version=row.number))[1].decode() for row in kept]
    ticked = [text.count("- [x]") for text in reversed(texts)]
    assert {text.count("- [") for text in texts} == {4}
    assert ticked == sorted(set(ticked))
    assert (ticked[0] < 4, ticked[-1]) == (True, 4)
    assert {(row.by, row.by_execution) for row in kept} == {("plan", run.id)}
    assert not [event for event in await events(run.id) if event["type"] == "workspace_update"]


@pytest.mark.spec("S81")
async def test_in_a_real_run_the_chat_agent_keeps_an_answer_as_a_file(
    alice: Any, charlie: Any, places: Places, scripted_server: ScriptedServer, make_runner: Runners, media: Path
) -> None:
    here: Place = places["conversation"]
    call = ScriptedCall(name="write_file", arguments='{"path": "notes.md", "content": "# Notes"}')
    scripted_server.script(Script(tool_calls=[call]), Script(text="I kept it in notes.md."))
    await make_runner(scripted_server.url, providers=Providers(workspace=OwnFiles()))

    said = await sync_to_async(conversations.say)(
        alice,
        here.scope_id,
        conversations.Question("Write a short note on the sort of Kahn into the file notes.md, please.", mode="chat"),
    )
    run = await ended(said.execution.id)

    told = [event for event in await events(run.id) if event["type"] == "workspace_update"]
    assert (run.status, run.answer) == ("completed", "I kept it in notes.md.")
    assert [(one["path"], one["scope"], one["scope_id"]) for one in told] == [
        ("notes.md", "conversation", str(here.scope_id))
    ]
    assert (await sync_to_async(files.read)(alice.pk, here, "notes.md"))[1] == b"# Notes"
    assert await sync_to_async(files.listed)(charlie.pk, Place(Scope.USER, charlie.pk)) == []


class AtOnce(OwnFiles):
    """Two who look at the same moment what stands there, and write then."""

    def __init__(self) -> None:
        self.both_look = asyncio.Barrier(2)
        self.looks = 0

    async def standing(self, about: About, path: str, *, scope: str = "conversation") -> Any:
        found = await super().standing(about, path, scope=scope)
        self.looks += 1
        if self.looks <= 2:
            await self.both_look.wait()
        return found


@pytest.mark.parametrize(
    ("second", "expected"),
    [(b"two", {"sales.csv", "sales-2.csv"}), (b"one", {"sales.csv"})],
    ids=["two files", "the same one"],
)
async def test_what_two_put_beside_at_once_takes_the_place_of_nothing(
    alice: Any, places: Places, second: bytes, expected: set[str]
) -> None:
    about = About(uuid4(), user_id=alice.pk, conversation_id=places["conversation"].scope_id)
    workspace = AtOnce()

    stored = await asyncio.gather(
        *(put_beside(workspace, about, "sales.csv", content, by="data") for content in (b"one", second))
    )

    assert {file.path for file in stored} == expected
    found = [await workspace.read_bytes(about, file.path) for file in stored]
    assert found == [b"one", second]


async def test_a_name_that_is_decomposed_as_on_a_mac_is_that_of_the_file_that_is_there(
    alice: Any, places: Places
) -> None:
    about = About(uuid4(), user_id=alice.pk, conversation_id=places["conversation"].scope_id)
    later = About(uuid4(), user_id=alice.pk, conversation_id=places["conversation"].scope_id)
    workspace, name = OwnFiles(), "mail/U\u0308bersicht.pdf"

    first = await put_beside(workspace, about, name, b"one")
    same = await put_beside(workspace, about, name, b"one")
    second = await put_beside(workspace, about, name, b"two")
    own = await put_beside(workspace, later, name, b"three", only_over=[later.execution_id])
    listed = await workspace.list_files(about, prefix="mail/U\u0308ber")

    paths = [f"mail/\u00dcbersicht{number}.pdf" for number in ("", "-2", "-3")]
    assert (first.path, same.path, second.path, own.path) == (paths[0], paths[0], paths[1], paths[2])
    assert {file.path for file in listed} == set(paths)
    assert await workspace.read_bytes(about, paths[0]) == b"one"
    assert file_name("U\u0308bersicht.csv") == "\u00dcbersicht.csv"
