"""The host of the boxes over its socket: whoever has the same user and task has the same box, and who goes leaves
nothing running."""

import asyncio
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from agents.sandbox.base import HOME, BoxGone, BoxType, Command, Ending, SandboxError
from tests.runtime.driving import until
from tests.sandbox.sessions.memory_box import MemoryProvider


async def test_what_a_program_prints_is_heard_while_it_runs_and_told_at_its_end(hosting: Any, people: Any) -> None:
    alive = await hosting()
    box = await alive.client.box(await people("alice"))
    heard: list[tuple[str, str]] = []

    outcome = await box.run(Command(["echo", "hello", "ü\x1b[31m"]), heard=lambda *said: heard.append(said))

    assert heard == [("stdout", "hello ü\x1b[31m")]
    assert (outcome.ending, outcome.exit_code, outcome.stdout) == (Ending.EXITED, 0, "hello ü\x1b[31m")


@pytest.mark.spec("S203")
async def test_one_user_and_conversation_have_one_box_for_code_and_apps_and_another_for_the_desktop(
    hosting: Any, people: Any
) -> None:
    alive = await hosting()
    alice, bob = await people("alice"), await people("bob")

    code, app, desktop = [await alive.client.box(alice, kind) for kind in (BoxType.CODE, BoxType.APP, BoxType.DESKTOP)]
    others = await alive.client.box(bob)
    await code.write(f"{HOME}/notes.txt", b"mine")

    assert code.key == f"unified:{alice.user_id}:{alice.conversation_id}"
    assert (code.is_new, app.is_new, desktop.is_new) == (True, False, True)
    assert await app.read(f"{HOME}/notes.txt", max_bytes=10) == b"mine"
    assert await desktop.files() == () == await others.files()
    assert await alive.client.existing(bob.user_id, alice.conversation_id) is None
    assert len(alive.provider.opened) == 3


async def test_whoever_cancels_a_run_has_its_program_stopped_before_they_go_on(hosting: Any, people: Any) -> None:
    alive = await hosting()
    box = await alive.client.box(await people("alice"))
    (inside,) = alive.provider.opened

    running = asyncio.create_task(box.run(Command(["sleep"])))
    await inside.sleeping.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert inside.stopped == 1
    assert (await box.run(Command(["echo", "again"]))).stdout == "again"


async def test_a_caller_whose_connection_breaks_leaves_nothing_running(hosting: Any, people: Any) -> None:
    alive = await hosting()
    box = await alive.client.box(await people("alice"))
    (inside,) = alive.provider.opened
    wire = await alive.client.call(
        {"op": "run", "box": box.session_id, "heard": False, "answers": False}
        | {"command": {"argv": ["sleep"], "env": {}, "cwd": HOME, "wall_s": 60}}
    )
    await inside.sleeping.wait()

    wire.writer.transport.abort()

    async with asyncio.timeout(5):
        while not inside.stopped:
            await asyncio.sleep(0.01)
    assert inside.alive


async def test_a_box_that_dies_is_told_of_and_the_next_call_opens_another(hosting: Any, people: Any) -> None:
    alive = await hosting()
    alice = await people("alice")
    box = await alive.client.box(alice)
    alive.provider.opened[0].die()

    with pytest.raises(BoxGone):
        await box.files()
    again = await alive.client.box(alice)

    assert not box.alive
    assert again.is_new
    assert again.alive
    assert (await again.run(Command(["echo", "hi"]))).stdout == "hi"


async def test_what_a_program_asks_through_the_door_is_answered_by_whoever_runs_it(hosting: Any, people: Any) -> None:
    alive = await hosting()
    alice, bob = await people("alice"), await people("bob")
    asked: list[Any] = []

    async def answer(line: dict[str, Any]) -> dict[str, Any]:
        asked.append(line)
        return {"id": line["id"], "ok": f"for {line['q']}"}

    command = Command(["ask", json.dumps({"id": 7, "q": "Alice"})])
    one, other = await alive.client.box(alice), await alive.client.box(bob)
    answered = await one.run(command, answer=answer)
    unanswered = await other.run(command)

    assert json.loads(answered.stdout) == {"id": 7, "ok": "for Alice"}
    assert asked == [{"id": 7, "q": "Alice"}]
    assert "nobody answers it" in json.loads(unanswered.stdout)["error"]["message"]


async def test_files_go_in_and_out_whole_whatever_their_names(hosting: Any, people: Any) -> None:
    alive = await hosting()
    box = await alive.client.box(await people("alice"))
    content = os.urandom(3 << 20)

    await box.write(f"{HOME}/a/b.bin", content)
    await box.write(f"{HOME}/bad \udcff name\n", b"x")
    archive = await box.pack([HOME], max_bytes=4 << 20)

    assert await box.read(f"{HOME}/a/b.bin", max_bytes=len(content)) == content
    assert [file.path for file in await box.files()] == [f"{HOME}/a/b.bin", f"{HOME}/bad \udcff name\n"]
    with pytest.raises(SandboxError, match="more than 10"):
        await box.read(f"{HOME}/a/b.bin", max_bytes=10)
    with pytest.raises(SandboxError, match="cannot be written"):
        await box.write("/etc/passwd", content)
    assert len(archive) > len(content)
    assert box.alive


async def test_a_preview_speaks_with_what_listens_in_the_box(hosting: Any, people: Any) -> None:
    async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.read()).upper())
        writer.close()

    server = await asyncio.start_server(shout, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    alive = await hosting()
    alice = await people("alice")
    await alive.client.box(alice)

    box = await alive.client.existing(alice.user_id, alice.conversation_id)
    reader, writer = await box.connect(port)
    writer.write(b"hello")
    writer.write_eof()

    assert await reader.read() == b"HELLO"
    server.close()
    await server.wait_closed()
    with pytest.raises(SandboxError, match="Nothing listens"):
        await box.connect(port)


@pytest.mark.slow
@pytest.mark.parametrize("size", [10, 5_000_000], ids=["all of it sent", "more than the app takes"])
async def test_who_leaves_a_preview_of_an_app_that_never_answers_leaves_no_connection_to_it(
    hosting: Any, people: Any, size: int
) -> None:
    def held() -> int:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())

    async def left() -> bool:
        """What is there then are the three ends of the app itself."""
        return held() == before + 3

    async def sleep(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.append(writer)

    accepted: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(sleep, "127.0.0.1", 0)
    alive = await hosting()
    box = await alive.client.box(await people("alice"))
    before = held()

    for _ in range(3):
        _, writer = await box.connect(server.sockets[0].getsockname()[1])
        writer.write(b"x" * size)
        writer.transport.abort()

    await until(left, timeout_s=15)
    for writer in accepted:
        writer.close()
    server.close()


async def test_nobody_else_on_the_machine_may_open_the_socket_and_its_path_may_be_long(
    hosting: Any, people: Any, tmp_path: Path
) -> None:
    folder = tmp_path / ("long" * 30) / "run"
    alive = await hosting(folder=folder)

    box = await alive.client.box(await people("alice"))

    assert stat.S_IMODE(alive.host.socket.stat().st_mode) == 0o600
    assert len(str(alive.host.socket)) > 108
    assert (await box.run(Command(["ask", "{}"]))).stdout


async def test_a_host_that_is_away_is_told_in_words(people: Any, tmp_path: Path) -> None:
    from agents.sandbox.host import client

    host = client.SandboxHost(tmp_path / "none.sock")

    with pytest.raises(SandboxError, match=r"manage\.py worker"):
        await host.call({"op": "why_not"}, patience_s=0)


async def test_a_provider_that_cannot_open_says_why(hosting: Any, people: Any) -> None:
    alive = await hosting(MemoryProvider(why="Namespaces are forbidden here."))

    assert await alive.client.why_not() == "Namespaces are forbidden here."
    with pytest.raises(SandboxError, match="Namespaces are forbidden"):
        await alive.client.box(await people("alice"))


async def test_a_host_that_takes_the_question_and_says_nothing_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agents.sandbox.host import client

    monkeypatch.setattr(client, "_WHY_NOT_S", 0.05)
    hung_up = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        hung_up.set()
        writer.close()

    server = await asyncio.start_unix_server(silent, tmp_path / "still.sock")
    async with asyncio.timeout(20):
        why = await client.SandboxHost(tmp_path / "still.sock").why_not()
        await hung_up.wait()
    server.close()

    assert "does not answer" in why


class SlowToTell(MemoryProvider):
    asked = 0
    may_tell: asyncio.Event

    async def why_not(self) -> str:
        self.asked += 1
        await self.may_tell.wait()
        return self.why


async def test_all_who_ask_at_once_whether_there_are_boxes_wait_for_one_answer(hosting: Any) -> None:
    provider = SlowToTell()
    provider.may_tell = asyncio.Event()
    alive = await hosting(provider)

    wires = [await alive.client.call({"op": "why_not"}) for _ in range(3)]
    async with asyncio.timeout(20):
        while not provider.asked:
            await asyncio.sleep(0.01)
        provider.may_tell.set()
        told = [await wire.hear() for wire in wires]

    assert told == [{"value": ""}] * 3
    assert provider.asked == 1
    for wire in wires:
        wire.close()


async def test_what_is_no_call_is_hung_up_on_and_others_are_served(hosting: Any, people: Any) -> None:
    alive = await hosting()
    for junk in (b"GET / HTTP/1.1\r\n\r\n", b"V\xff\xff\xff\xff", b"V\x00\x00\x00\x02{]"):
        reader, writer = await asyncio.open_unix_connection(str(alive.host.socket))
        writer.write(junk)
        writer.write_eof()
        async with asyncio.timeout(5):
            await reader.read()
        writer.close()

    assert await alive.client.why_not() == ""
