"""Servers that are programs: in boxes of this machine, one for each person, without a network."""

import json
import shutil
import zipfile
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.management import CommandError, call_command

from agents.mcp import actions, reading
from agents.mcp.actions import Reviewed, Wanted
from agents.mcp.definitions import Risk
from agents.mcp.models import ServerKind
from agents.mcp.provider import ConnectedServers
from agents.sandbox.local.provider import LocalSandbox
from agents.tools.tool import ToolError
from hyperagent.lib.refusals import NotAllowed, Refused
from tests.mcp.test_calling import call_of
from tests.sandbox.sessions.conftest import hosting
from tests.sandbox.sessions.working import needs_walls

__all__ = ["hosting"]
CLOCK = Path(__file__).parent / "clock.py"


@pytest.fixture
def data(tmp_path: Path, settings: Any) -> Path:
    """DATA_DIR, which the account of the boxes reaches."""
    settings.CONFIG = settings.CONFIG.model_copy(update={"data_dir": tmp_path / "data"})
    for folder in (tmp_path, *tmp_path.parents):
        if folder.is_relative_to(tmp_path.parent.parent.parent):
            folder.chmod(0o755)
    return tmp_path / "data"


@pytest.fixture
def connect_clock(bob: Any, hosting: Any, tmp_path: Path, data: Path, in_threads: None) -> Any:
    """Connects what was installed as clock by Bob for everybody, and reviews it; the boxes' host is a part of this
    process."""

    async def connected() -> Any:
        walls = LocalSandbox(libraries=tmp_path / "libraries", runtime=tmp_path / "boxes")
        await hosting(walls, folder=data / "run")
        wanted = Wanted(
            name="clock",
            kind=ServerKind.STDIO,
            command="python3",
            args=("-m", "clock"),
            folder="clock",
            agents=("chat",),
            secrets={"API_KEY": "s3cret"},
            for_installation=True,
        )
        added = await sync_to_async(actions.add_server)(bob, wanted)
        server = await sync_to_async(actions.look, thread_sensitive=False)(bob, added.pk)
        assert (server.state, server.last_error) == ("connected", "")
        tool = await server.tools.aget()
        await sync_to_async(actions.review_tool)(
            bob, server.pk, tool.pk, Reviewed(tool.pin, Risk.READ, requires_approval=False, allowed=True)
        )
        return server

    return connected


@pytest.fixture
async def clock(connect_clock: Any, data: Path) -> Any:
    home = data / "mcp" / "clock"
    home.mkdir(parents=True)
    shutil.copy(CLOCK, home / "clock.py")
    return await connect_clock()


def wheel(folder: Path, *, version: str) -> Path:
    """The clock as a package that is ready to be installed."""
    path = folder / f"clock-{version}-py3-none-any.whl"
    about = f"clock-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as made:
        made.write(CLOCK, "clock.py")
        made.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: clock\nVersion: {version}\n")
        made.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        made.writestr(f"{about}/RECORD", "")
    return path


@pytest.mark.slow
@needs_walls
@pytest.mark.spec("B26")
async def test_what_an_administrator_installed_is_connected_and_used(
    alice: Any, data: Path, connect_clock: Any, tmp_path: Path
) -> None:
    install = sync_to_async(call_command)
    await install("mcp_install", "clock", str(wheel(tmp_path, version="1.0")), stdout=StringIO())
    said = StringIO()
    await install("mcp_install", "clock", str(wheel(tmp_path, version="2.0")), stdout=said)
    with pytest.raises(CommandError, match="What was there before is still there"):
        await install("mcp_install", "clock", str(tmp_path / "none.whl"))
    for wrong in (("Clock!", "x"), ("clock", "--", "--index-url=http://127.0.0.1/")):
        with pytest.raises(CommandError):
            await install("mcp_install", *wrong)

    await connect_clock()
    offered = (await sync_to_async(reading.offered_to)(alice.pk))["chat"][0]
    reached = ConnectedServers()
    answer = await reached.call(call_of(alice)[0], offered, {"what": "self"})
    await reached.aclose()

    assert "as 'clock'" in said.getvalue()
    assert [path.name for path in (data / "mcp").iterdir()] == ["clock"]
    assert (data / "mcp" / "clock" / "clock-2.0.dist-info").is_dir()
    assert not (data / "mcp" / "clock" / "clock-1.0.dist-info").exists()
    assert json.loads(str(answer.content))["key"] == "s3cret"


@pytest.mark.slow
@needs_walls
@pytest.mark.spec("B26")
async def test_a_program_runs_within_walls_in_a_box_of_each_persons_own(alice: Any, charlie: Any, clock: Any) -> None:
    offered = (await sync_to_async(reading.offered_to)(alice.pk))["chat"][0]
    reached = ConnectedServers()
    mine, theirs = call_of(alice)[0], call_of(charlie)[0]

    async def look(what: str, call: Any = mine) -> Any:
        return json.loads(str((await reached.call(call, offered, {"what": what})).content))

    me = await look("self")

    # It has its secret, and nothing else of ours: no network, no host, nothing to write to but its own.
    assert (offered.called, me["uid"], me["key"]) == ("mcp_clock_look", 1000, "s3cret")
    assert not [name for name in me["env"] if "SECRET" in name or "DATABASE" in name or "HYPERAGENT" in name]
    assert await look("network") != "connected"
    assert await look("host") == [False, False, True, True]
    assert await look("write") == "OSError"
    # One run is one process; what it keeps, it keeps for the same person.
    assert (await look("self"))["pid"] == me["pid"]
    assert (await look("Alice's"), await look("again")) == ("", "Alice's")
    assert await look("Charlie's", theirs) == ""
    assert await look("more", call_of(alice)[0]) == "again"
    # It dies, says why, and is started again.
    with pytest.raises(ToolError, match="it was all too much") as died:
        await look("die")
    assert died.value.may_have_happened
    assert "ended:\n<untrusted source=" in died.value.message
    assert await look("after") == "more"
    await reached.aclose()


def test_only_administrators_connect_programs_and_inner_servers(alice: Any, bob: Any) -> None:
    program = Wanted(name="x", kind=ServerKind.STDIO, command="python3", agents=("chat",))
    inner = Wanted(name="x", url="http://10.0.0.1/mcp", is_inner=True, agents=("chat",))
    shared = Wanted(name="x", url="https://example.org/mcp", agents=("chat",), for_installation=True)

    for wanted in (program, inner, shared):
        with pytest.raises(NotAllowed):
            actions.add_server(alice, wanted)
    with pytest.raises(NotAllowed):
        actions.add_server(bob, program)
    with pytest.raises(Refused) as nothing_there:
        actions.add_server(bob, Wanted(**{**vars_of(program), "for_installation": True, "folder": "nowhere"}))
    assert "folder" in nothing_there.value.fields


def vars_of(wanted: Wanted) -> dict[str, Any]:
    return {name: getattr(wanted, name) for name in Wanted.__dataclass_fields__}
