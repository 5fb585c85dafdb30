"""What every provider of boxes must do, whatever its boxes are made of.

A file of its own plugs a provider in: it defines a fixture `provider` that gives a `SandboxProvider`, and imports this
suite with `from tests.sandbox.conformance import *`. Boxes need a shell, its usual programs and Python.
"""

import asyncio
import contextlib
import io
import tarfile
import time
from collections.abc import AsyncIterator

import pytest

from agents.sandbox.base import (
    HOME,
    OUTPUTS,
    Box,
    BoxGone,
    BoxSpec,
    Command,
    Ending,
    Limits,
    SandboxError,
    SandboxProvider,
    Stream,
)

__all__ = [
    "box",
    "test_a_box_that_is_closed_is_gone_for_everybody",
    "test_a_folder_is_packed_and_unpacked_into_another_box",
    "test_a_program_is_heard_while_it_runs_in_whole_characters",
    "test_a_program_tells_its_streams_and_its_exit_code",
    "test_a_program_that_is_cancelled_is_gone_and_the_box_goes_on",
    "test_a_program_that_takes_too_long_is_stopped_with_its_children",
    "test_a_server_is_reached_until_it_is_stopped",
    "test_an_archive_puts_nothing_outside_of_the_writable_folders",
    "test_boxes_do_not_see_each_other",
    "test_files_go_in_and_out_as_they_are",
    "test_output_without_end_is_cut_and_ends_the_program",
    "test_outputs_have_a_folder_from_the_start",
    "test_several_programs_run_at_once",
    "test_what_cannot_be_read_is_left_out",
    "test_what_is_no_ordinary_file_is_neither_listed_nor_read",
    "test_what_is_no_text_is_replaced",
    "test_where_a_link_leads_is_not_told_as_words_of_ours",
]

DEADLINE_S = 20.0
LIMITS = Limits(kept_output_bytes=1000, most_output_bytes=100_000, home_bytes=16 << 20, tmp_bytes=16 << 20)


@pytest.fixture
async def box(provider: SandboxProvider) -> AsyncIterator[Box]:
    opened = await provider.open(BoxSpec(key="conformance", limits=LIMITS))
    yield opened
    await opened.close()


def sh(script: str, *, wall_s: float = DEADLINE_S, **env: str) -> Command:
    return Command(["sh", "-c", script], env=env, wall_s=wall_s)


async def test_a_program_tells_its_streams_and_its_exit_code(box: Box) -> None:
    command = Command(["sh", "-c", "pwd; echo $COLOUR >&2; cat; exit 3"], env={"COLOUR": "red"}, cwd=f"{HOME}/new")

    outcome = await box.run(command)

    assert (outcome.ending, outcome.exit_code) == (Ending.EXITED, 3)
    assert (outcome.stdout, outcome.stderr, outcome.note) == (f"{HOME}/new\n", "red\n", "")
    assert 0 < outcome.seconds < DEADLINE_S
    missing = await box.run(Command(["no-such-program"]))
    assert missing.exit_code == 127
    assert "no-such-program" in missing.stderr


async def test_a_program_is_heard_while_it_runs_in_whole_characters(box: Box) -> None:
    heard: list[tuple[Stream, str]] = []
    first = asyncio.Event()

    def hear(stream: Stream, text: str) -> None:
        heard.append((stream, text))
        first.set()

    script = r"printf 'gr\303'; sleep 0.05; printf '\274n\n'; while [ ! -e go ]; do sleep 0.02; done; echo end >&2"
    running = asyncio.create_task(box.run(sh(script), heard=hear))
    await asyncio.wait_for(first.wait(), DEADLINE_S)
    assert not running.done()
    await box.write(f"{HOME}/go", b"")
    outcome = await running

    assert "".join(text for stream, text in heard if stream == "stdout") == "grün\n" == outcome.stdout
    assert all("\ufffd" not in text for _, text in heard)
    assert heard[-1] == ("stderr", "end\n")


async def test_what_is_no_text_is_replaced(box: Box) -> None:
    outcome = await box.run(sh(r"printf 'a\000b\377c\355\240\200'"))

    assert outcome.stdout.startswith("a\ufffdb\ufffdc\ufffd")
    outcome.stdout.encode()


async def test_output_without_end_is_cut_and_ends_the_program(box: Box) -> None:
    flood = await box.run(sh("yes"))
    long = await box.run(sh("echo begin; seq 1 2000; echo the end"))

    assert (flood.ending, flood.exit_code) == (Ending.TOO_MUCH_OUTPUT, None)
    assert flood.note
    assert len(flood.stdout) < 2 * LIMITS.kept_output_bytes
    assert long.exit_code == 0
    assert long.stdout.startswith("begin\n1\n")
    assert "the end" in long.stdout
    assert "cut" in long.stdout.splitlines()[-1]


async def test_a_program_that_takes_too_long_is_stopped_with_its_children(box: Box) -> None:
    outcome = await box.run(sh("trap '' TERM; (setsid sleep 12345 &) ; echo begun; sleep 12345", wall_s=0.5))

    assert (outcome.ending, outcome.exit_code, outcome.stdout) == (Ending.TIMED_OUT, None, "begun\n")
    assert "0.5 seconds" in outcome.note
    assert await running(box, "12345") == 0


@pytest.mark.spec("B16")
async def test_a_program_that_is_cancelled_is_gone_and_the_box_goes_on(box: Box) -> None:
    begun = asyncio.Event()
    task = asyncio.create_task(
        box.run(sh("(setsid sleep 12346 &); echo begun; sleep 12346"), heard=lambda *_: begun.set())
    )
    await asyncio.wait_for(begun.wait(), DEADLINE_S)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert box.alive
    assert await running(box, "12346") == 0


async def running(box: Box, word: str) -> int:
    """How many programs with this word in their arguments run in the box."""
    script = "for one in /proc/[0-9]*; do tr '\\0' ' ' < $one/cmdline; echo; done 2>/dev/null"
    listed = await box.run(sh(script))
    return sum(f"sleep {word}" in line for line in listed.stdout.splitlines())


async def test_a_server_is_reached_until_it_is_stopped(box: Box) -> None:
    await box.write(f"{HOME}/page.txt", b"a page")
    with pytest.raises(SandboxError):
        await box.connect(8123)

    server = await box.start(Command(["python3", "-m", "http.server", "8123", "--bind", "127.0.0.1"]))
    assert await page(box) == b"a page"
    await box.run(sh("true"))
    assert await box.running(server)
    assert await page(box) == b"a page"
    await box.stop(server)
    await box.stop(server)

    assert not await box.running(server)
    with pytest.raises(SandboxError):
        await box.connect(8123)


async def page(box: Box) -> bytes:
    until = time.monotonic() + DEADLINE_S
    while True:
        try:
            reader, writer = await box.connect(8123)
        except SandboxError:
            assert time.monotonic() < until
            await asyncio.sleep(0.02)
            continue
        writer.write(b"GET /page.txt HTTP/1.0\r\n\r\n")
        answer = await reader.read()
        writer.close()
        return answer.partition(b"\r\n\r\n")[2]


async def test_several_programs_run_at_once(box: Box) -> None:
    meeting = 'echo > $ME; while [ ! -e $OTHER ]; do sleep 0.02; done; echo "$ME met $OTHER"'

    outcomes = await asyncio.gather(
        box.run(sh(meeting, ME="alice", OTHER="bob")), box.run(sh(meeting, ME="bob", OTHER="alice"))
    )

    assert [outcome.stdout for outcome in outcomes] == ["alice met bob\n", "bob met alice\n"]


async def test_files_go_in_and_out_as_they_are(box: Box) -> None:
    content = bytes(range(256)) * 1000
    odd = f"{HOME}/deep/er/a b\n'ü\".bin"

    written = await box.write(odd, content)
    again = await box.write(odd, content)

    assert (written.path, written.size_bytes) == (odd, len(content))
    assert again.changed_ns >= written.changed_ns
    assert await box.read(odd, max_bytes=len(content)) == content
    assert [file.path for file in await box.files()] == [odd]
    with pytest.raises(SandboxError, match="256,000"):
        await box.read(odd, max_bytes=len(content) - 1)
    with pytest.raises(SandboxError, match="missing"):
        await box.read(f"{HOME}/missing", max_bytes=10)
    for outside in ("/etc/passwd", f"{HOME}/../../etc/new", "relative"):
        with pytest.raises(SandboxError):
            await box.write(outside, b"")
    with pytest.raises(SandboxError):
        await box.write(f"{HOME}/large", bytes(LIMITS.home_bytes + 1))


@pytest.mark.spec("S204")
async def test_outputs_have_a_folder_from_the_start(box: Box) -> None:
    ran = await box.run(Command(["python3", "-c", f"open('{OUTPUTS}/o.csv', 'w').write('a,b')"], wall_s=DEADLINE_S))

    assert (ran.exit_code, ran.stderr) == (0, "")
    assert await box.read(f"{OUTPUTS}/o.csv", max_bytes=10) == b"a,b"


async def test_what_is_no_ordinary_file_is_neither_listed_nor_read(box: Box) -> None:
    await box.run(sh("mkfifo pipe; ln -s /etc/passwd link; ln -s / root; ln -s loop loop; echo > file"))

    assert [file.path for file in await box.files()] == [f"{HOME}/file"]
    for name in ("pipe", "link", "root/etc/passwd", "loop"):
        with pytest.raises(SandboxError):
            await box.read(f"{HOME}/{name}", max_bytes=1000)
    for name in ("pipe", "link", "root/tmp/new"):
        with pytest.raises(SandboxError):
            await box.write(f"{HOME}/{name}", b"new")


async def test_what_cannot_be_read_is_left_out(box: Box) -> None:
    """And does not make the rest, and every later run in this box, impossible."""
    await box.run(sh("mkdir shut; echo > shut/file; chmod 444 shut; echo > closed; chmod 0 closed; echo > open"))

    listed = [file.path for file in await box.files()]
    archive = await box.pack([HOME], max_bytes=1 << 20)
    await box.run(sh("chmod 755 shut"))

    assert listed == [f"{HOME}/closed", f"{HOME}/open"]
    with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        assert packed.getnames() == [f"{HOME}/open".lstrip("/")]


@pytest.mark.threat("T16")
async def test_where_a_link_leads_is_not_told_as_words_of_ours(box: Box) -> None:
    """What a program unpacked may have links, and whoever packed it wrote where they lead."""
    await box.run(sh("mkdir /tmp/Obey-me; ln -s /tmp/Obey-me way; echo > way/file"))

    for call in (box.read(f"{HOME}/way/file", max_bytes=10), box.write(f"{HOME}/way/new", b"new")):
        with pytest.raises(SandboxError) as refused:
            await call
        assert "leads over a link" in refused.value.message
        assert "bey" not in refused.value.message


async def test_a_folder_is_packed_and_unpacked_into_another_box(box: Box, provider: SandboxProvider) -> None:
    await box.run(sh("mkdir -p a/b; printf one > a/b/1; printf '#!/bin/sh\necho run' > go; chmod +x go; ln -s go link"))
    await box.write("/tmp/outputs/2", b"two")

    with pytest.raises(SandboxError):
        await box.pack([HOME], max_bytes=100)
    archive = await box.pack([HOME, "/tmp/outputs", "/tmp/none"], max_bytes=1 << 20)
    other = await provider.open(BoxSpec(key="other", limits=LIMITS))
    try:
        await other.unpack(archive)
        names = [file.path for folder in (HOME, "/tmp") for file in await other.files(folder)]
        ran = await other.run(sh("./go; cat a/b/1"))
    finally:
        await other.close()

    assert names == [f"{HOME}/a/b/1", f"{HOME}/go", "/tmp/outputs/2"]
    assert ran.stdout == "run\none"


@pytest.mark.threat("T36")
async def test_an_archive_puts_nothing_outside_of_the_writable_folders(box: Box) -> None:
    made = io.BytesIO()
    home = HOME.lstrip("/")
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name in ("etc/new", f"{home}/../../etc/new", "../tmp/new", f"/{home}/good", f"{home}/way/new"):
            member = tarfile.TarInfo(name)
            member.size = 3
            archive.addfile(member, io.BytesIO(b"bad"))
        for name, kind in ((f"{home}/link", tarfile.SYMTYPE), (f"{home}/hard", tarfile.LNKTYPE)):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/passwd"
            archive.addfile(member)
    await box.run(sh("ln -s /tmp way"))

    await box.unpack(made.getvalue())

    assert [file.path for file in (*await box.files(), *await box.files("/tmp"))] == [f"{HOME}/good"]
    with pytest.raises(SandboxError):
        await box.unpack(b"no archive at all" * 100)


async def test_boxes_do_not_see_each_other(box: Box, provider: SandboxProvider) -> None:
    await box.write("/tmp/mine", b"secret")
    await box.start(Command(["python3", "-m", "http.server", "8123"]))

    other = await provider.open(BoxSpec(key="other", limits=LIMITS))
    try:
        assert await other.files("/tmp") == ()
        with pytest.raises(SandboxError):
            await other.connect(8123)
    finally:
        await other.close()


async def test_a_box_that_is_closed_is_gone_for_everybody(box: Box) -> None:
    begun = asyncio.Event()
    task = asyncio.create_task(box.run(sh("echo begun; sleep 12347"), heard=lambda *_: begun.set()))
    server = await box.start(sh("sleep 12348"))
    await asyncio.wait_for(begun.wait(), DEADLINE_S)

    await box.close()
    await box.close()

    outcome = await asyncio.wait_for(task, DEADLINE_S)
    assert (outcome.ending, outcome.exit_code) == (Ending.LOST, None)
    assert not box.alive
    for call in (box.run(sh("true")), box.read(f"{HOME}/a", max_bytes=1), box.connect(80)):
        with pytest.raises(BoxGone):
            await call
    with contextlib.suppress(BoxGone):
        assert not await box.running(server)
