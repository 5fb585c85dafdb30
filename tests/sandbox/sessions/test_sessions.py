"""What becomes of a box over time: idle, full, handed on, kept, forgotten (S203, S204, F22, T30)."""

import asyncio
import errno
import gc
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import time_machine

from agents.sandbox.base import HOME, OUTPUTS, Box, BoxSpec, BoxType, Command, SandboxError
from hyperagent.lib.threads import in_thread
from tests.jobs import do_jobs
from tests.sandbox.sessions.memory_box import MemoryBox, MemoryProvider
from tests.sandbox.sessions.working import handed_on, kept, until_closed


def forget_task(user_id: Any, task_id: Any) -> None:
    from agents.sandbox import actions

    actions.forget_task(user_id, task_id)


async def _until(condition: Any) -> None:
    async with asyncio.timeout(10):
        while not (await condition()):
            await asyncio.sleep(0.02)


def _rows() -> Any:
    from agents.sandbox.models import SandboxSession

    return list(SandboxSession.objects.order_by("opened_at"))


def _snapshots() -> Any:
    from agents.sandbox.models import SandboxSnapshot

    return list(SandboxSnapshot.objects.all())


@pytest.mark.slow
@pytest.mark.spec("S203", "S204")
async def test_a_box_that_nobody_uses_is_closed_and_the_next_one_has_its_files(hosting: Any, people: Any) -> None:
    alive = await hosting(idle_s=1.0)
    alice = await people("alice")
    box = await alive.client.box(alice)
    await box.write(f"{HOME}/app/main.py", b"print(1)")
    await box.write(f"{OUTPUTS}/plot.png", b"png")
    await box.write("/tmp/scratch", b"gone")

    async def is_closed() -> bool:
        return await alive.client.existing(alice.user_id, alice.conversation_id) is None

    await _until(is_closed)
    again = await alive.client.box(alice)

    assert again.is_new
    assert "put back" in again.note
    assert await again.read(f"{HOME}/app/main.py", max_bytes=100) == b"print(1)"
    assert await again.read(f"{OUTPUTS}/plot.png", max_bytes=100) == b"png"
    with pytest.raises(SandboxError):
        await again.read("/tmp/scratch", max_bytes=100)
    first, second = await in_thread(_rows)()
    assert (first.ended_because, second.ended_at) == ("idle", None)


@pytest.mark.spec("S203")
async def test_a_box_is_closed_half_an_hour_after_it_was_used_last_and_not_before(hosting: Any, people: Any) -> None:
    alive = await hosting()
    alice = await people("alice")
    box = await alive.client.box(alice)
    app = await alive.client.box(alice, BoxType.APP)
    session = alive.host.sessions.by_id((await in_thread(_rows)())[0].id)

    session.used_at = time.monotonic() - 29 * 60
    await alive.host.sessions.tend()
    await asyncio.sleep(0.2)
    still = await alive.client.existing(alice.user_id, alice.conversation_id)
    session.used_at = time.monotonic() - 30 * 60

    async def is_closed() -> bool:
        return await alive.client.existing(alice.user_id, alice.conversation_id) is None

    await _until(is_closed)
    assert (box.is_new, app.is_new, app.key) == (True, False, box.key)
    assert still is not None
    assert [row.ended_because for row in await in_thread(_rows)()] == ["idle"]


@pytest.mark.spec("S204")
async def test_a_host_that_is_stopped_keeps_its_boxes_for_the_next_one(people: Any, tmp_path: Path) -> None:
    from tests.sandbox.sessions.conftest import Hosting
    from tests.sandbox.sessions.memory_box import MemoryProvider

    alice, bob = await people("alice"), await people("bob")
    async with Hosting(MemoryProvider(), tmp_path / "run").living() as first:
        box = await first.client.box(alice)
        await box.write(f"{HOME}/notes.txt", b"keep me")
        desktop = await first.client.box(alice, BoxType.DESKTOP)
        await desktop.write(f"{HOME}/other.txt", b"on the desktop")
    async with Hosting(MemoryProvider(), tmp_path / "run").living() as second:
        again = await second.client.box(alice)

        assert [file.path for file in await again.files()] == [f"{HOME}/notes.txt"]
        assert await (await second.client.box(bob)).files() == ()
    assert [row.ended_because for row in await in_thread(_rows)()] == ["drained"] * 4


@pytest.mark.slow
@pytest.mark.spec("S204")
@pytest.mark.parametrize("hindrance", [OSError(errno.EMFILE, "Too many open files"), "not mounted"], ids=str)
async def test_while_what_was_kept_cannot_be_read_no_box_takes_its_place(
    hosting: Any, people: Any, media: Path, hindrance: OSError | str
) -> None:
    from django.core.files.storage import default_storage

    alive = await hosting()
    alice = await people("alice")
    await (await alive.client.box(alice)).write(f"{HOME}/notes.txt", b"keep me")
    await handed_on(alive.client, alice)

    def hindered(*_: Any, **__: Any) -> Any:
        raise hindrance  # type: ignore[misc]

    with pytest.MonkeyPatch.context() as patch:
        if isinstance(hindrance, OSError):
            patch.setattr(default_storage, "open", hindered)
        else:
            media.rename(media.with_name("elsewhere"))
        with pytest.raises(SandboxError, match="The file storage, which has what was in the sandbox, is away"):
            await alive.client.box(alice)
    if not isinstance(hindrance, OSError):
        media.with_name("elsewhere").rename(media)
    again = await alive.client.box(alice)

    assert await again.read(f"{HOME}/notes.txt", max_bytes=100) == b"keep me"


@pytest.mark.spec("S204")
async def test_whoever_opens_a_box_of_which_the_snapshot_is_gone_is_told(
    hosting: Any, people: Any, media: Path
) -> None:
    alive = await hosting()
    alice = await people("alice")
    await (await alive.client.box(alice)).write(f"{HOME}/notes.txt", b"keep me")
    await handed_on(alive.client, alice)
    (archive,) = media.rglob("*.tar")
    archive.unlink()

    box = await alive.client.box(alice)

    assert box.note.endswith("could not be put back: its snapshot is gone from the file storage.")


async def test_a_host_that_was_killed_left_rows_which_the_next_one_ends(people: Any, tmp_path: Path) -> None:
    from agents.sandbox import records
    from tests.sandbox.sessions.conftest import Hosting
    from tests.sandbox.sessions.memory_box import MemoryProvider

    alice = await people("alice")
    again = Hosting(MemoryProvider(), tmp_path / "run")
    owner = records.Owner(alice.user_id, alice.conversation_id)
    await in_thread(records.open_row)(owner, provider="memory", host=again.host.sessions.host)

    async with again.living():
        assert (await again.client.box(alice)).alive

        assert [row.ended_because for row in await in_thread(_rows)()] == ["lost", ""]


@pytest.mark.slow
@pytest.mark.spec("S203")
@pytest.mark.parametrize("leave", ["the conversation is deleted", "another machine goes on with it"])
async def test_of_a_conversation_the_box_of_code_is_closed_before_the_desktop_and_nobody_elses(
    leave: str, hosting: Any, people: Any
) -> None:
    alive = await hosting()
    alice, bob = await people("alice"), await people("bob")
    code = await alive.client.box(alice)
    await alive.client.box(alice, BoxType.DESKTOP)
    other = await alive.client.box(bob)
    await code.write(f"{HOME}/a", b"x")

    if leave == "the conversation is deleted":
        await in_thread(forget_task)(alice.user_id, alice.conversation_id)
        await until_closed(alive.client, alice)
    else:
        await handed_on(alive.client, alice)

    ended = sorted((row for row in await in_thread(_rows)() if row.ended_at), key=lambda row: row.ended_at)
    assert [row.sandbox_type for row in ended] == ["code", "desktop"]
    assert await other.files() == ()


@pytest.mark.spec("S204")
async def test_what_is_too_large_is_not_kept_and_its_row_says_so(hosting: Any, people: Any) -> None:
    alive = await hosting(snapshot_max_bytes=20_000)
    alice = await people("alice")
    await (await alive.client.box(alice)).write(f"{HOME}/big", b"x" * 50_000)

    await handed_on(alive.client, alice)

    (row,) = await in_thread(_rows)()
    assert "more than 20,000 bytes" in row.note
    assert await in_thread(_snapshots)() == []


@pytest.mark.slow
@pytest.mark.spec("S204")
@pytest.mark.parametrize("is_older_kept", [False, True], ids=["nothing", "older"])
async def test_whoever_opens_a_box_anew_is_told_where_what_lay_in_it_last_was_not_kept(
    is_older_kept: bool, hosting: Any, people: Any
) -> None:
    alive = await hosting(snapshot_max_bytes=20_000)
    alice = await people("alice")
    if is_older_kept:
        await (await alive.client.box(alice)).write(f"{HOME}/old.txt", b"old")
        await handed_on(alive.client, alice)
    await (await alive.client.box(alice)).write(f"{HOME}/big", b"x" * 50_000)
    await handed_on(alive.client, alice)

    box = await alive.client.box(alice)
    await box.write(f"{HOME}/big", b"x")
    await handed_on(alive.client, alice)
    after = await alive.client.box(alice)

    assert box.note.startswith("No snapshot was kept: These folders have more than 20,000 bytes. The sandbox")
    assert ("what is older" in box.note) is is_older_kept
    assert after.note.startswith("The sandbox was opened anew; what lay in its folders was put back")


@pytest.mark.spec("S204")
async def test_what_was_changed_is_kept_already_while_the_box_goes_on(hosting: Any, people: Any) -> None:
    alive = await hosting(checkpoint_after_s=0.05)
    box = await alive.client.box(await people("alice"))
    await box.write(f"{HOME}/a", b"x")

    async def is_kept() -> bool:
        return bool(await in_thread(_snapshots)())

    await _until(is_kept)

    assert box.alive
    assert len(alive.provider.opened) == 1


@pytest.mark.slow
@pytest.mark.spec("S204")
@pytest.mark.parametrize("by", ["itself", "who uses it"])
async def test_what_an_app_writes_after_a_snapshot_is_kept(hosting: Any, people: Any, by: str) -> None:
    """Nobody tells what a program writes that goes on."""
    alive = await hosting(checkpoint_after_s=0.05, idle_s=1.5 if by == "itself" else 3600)
    alice = await people("alice")
    box = await alive.client.box(alice)
    if by == "itself":
        await box.start(Command(["serve"]))
    else:
        await box.write(f"{HOME}/app.py", b"x")
    (inside,) = alive.provider.opened

    async def is_kept() -> bool:
        return bool(await in_thread(_snapshots)())

    await _until(is_kept)
    if by == "who uses it":
        served = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
        reader, writer = await box.connect(served.sockets[0].getsockname()[1])
        await reader.read()
    inside.put(f"{HOME}/data", b"much")
    if by == "who uses it":
        writer.close()
        served.close()

    async def has_it() -> bool:
        try:
            archive = await in_thread(_archive)()
        except FileNotFoundError:
            return False  # A newer one has just taken its place.
        return b"much" in archive

    await _until(has_it)


def _archive() -> bytes:
    from django.core.files.storage import default_storage

    (row,) = _snapshots()
    with default_storage.open(row.stored_as, "rb") as stored:
        found: bytes = stored.read()
    return found


class InterruptedBox(MemoryBox):
    """Its first snapshot comes to nothing, as `how` says."""

    def __init__(self, spec: BoxSpec, how: Any) -> None:
        super().__init__(spec)
        self.has_begun = asyncio.Event()
        self._how = [how]

    async def pack(self, folders: Sequence[str], *, max_bytes: int) -> bytes:
        self.has_begun.set()
        if self._how:
            await self._how.pop()()
        return await super().pack(folders, max_bytes=max_bytes)


class InterruptedProvider(MemoryProvider):
    how: Any = None

    async def open(self, spec: BoxSpec) -> Box:
        self.opened.append(InterruptedBox(spec, self.how))
        return self.opened[-1]


async def _stays_away() -> None:
    raise OSError("the disk is away")


async def _takes_for_ever() -> None:
    await asyncio.Event().wait()


@pytest.mark.spec("S204")
@pytest.mark.parametrize(
    ("how", "idle_s", "is_stopped"),
    [
        pytest.param(_takes_for_ever, 3600, True, id="its host stopped"),
        pytest.param(_stays_away, 0.4, False, id="the storage was away"),
    ],
)
async def test_what_a_snapshot_that_came_to_nothing_did_not_keep_is_kept_at_the_end(
    hosting: Any, people: Any, how: Any, idle_s: float, is_stopped: bool
) -> None:
    provider = InterruptedProvider()
    provider.how = how
    alive = await hosting(provider, checkpoint_after_s=0.05, idle_s=idle_s)
    box = await alive.client.box(await people("alice"))
    await box.write(f"{HOME}/a", b"x")
    (inside,) = provider.opened
    assert isinstance(inside, InterruptedBox)
    await asyncio.wait_for(inside.has_begun.wait(), 10)
    if is_stopped:
        alive.host.stop()

    async def is_closed() -> bool:
        return not inside.alive

    await _until(is_closed)

    assert len(await in_thread(_snapshots)()) == 1


class SlowProvider(MemoryProvider):
    may_open: asyncio.Event

    async def open(self, spec: BoxSpec) -> Box:
        box = await super().open(spec)
        await self.may_open.wait()
        return box


async def test_a_box_that_opens_when_nobody_waits_for_it_any_more_is_ended(
    hosting: Any, people: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agents.sandbox import sessions

    monkeypatch.setattr(sessions, "OPENING_S", 0.05)
    provider = SlowProvider()
    provider.may_open = asyncio.Event()
    alive = await hosting(provider)

    with pytest.raises(SandboxError, match="did not open within"):
        await alive.client.box(await people("alice"))
    (late,) = provider.opened
    assert late.alive
    provider.may_open.set()

    async def is_ended() -> bool:
        return not late.alive

    await _until(is_ended)


class StubbornBox(MemoryBox):
    """Its engine is busy when it is to be ended first."""

    has_refused = False

    async def close(self) -> None:
        if not self.has_refused:
            self.has_refused = True
            raise SandboxError("the engine is busy")
        await super().close()


class StubbornProvider(MemoryProvider):
    async def open(self, spec: BoxSpec) -> Box:
        self.opened.append(StubbornBox(spec))
        return self.opened[-1]


async def test_a_box_that_could_not_be_ended_is_ended_later(hosting: Any, people: Any) -> None:
    alive = await hosting(StubbornProvider())
    alice = await people("alice")
    await alive.client.box(alice)
    (inside,) = alive.provider.opened

    await handed_on(alive.client, alice)

    async def is_ended() -> bool:
        return not inside.alive

    await _until(is_ended)
    assert inside.has_refused


@pytest.mark.spec("S204")
async def test_a_box_that_was_given_up_keeps_nothing_in_place_of_what_the_next_one_kept(
    hosting: Any, people: Any, media: Path
) -> None:
    from agents.sandbox import records, snapshots

    alive = await hosting()
    alice = await people("alice")
    owner = records.Owner(alice.user_id, alice.conversation_id)
    box = await alive.client.box(alice)
    await box.write(f"{HOME}/late.txt", b"of the first")
    running = asyncio.create_task(box.run(Command(["sleep"])))
    (inside,) = alive.provider.opened
    await inside.sleeping.wait()

    # Another machine wants it, waits in vain, and goes on with what there was.
    assert await in_thread(records.open_row)(owner, provider="memory", host="another") is None
    await in_thread(records.give_up_row)(owner)
    await in_thread(kept)(owner, b"of the second")
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)

    async def is_closed() -> bool:
        return not inside.alive

    await _until(is_closed)
    assert await in_thread(snapshots.find)(owner) == b"of the second"
    assert len(list(media.rglob("*.tar"))) == 1


async def test_when_all_places_are_taken_what_was_idle_longest_makes_room_and_what_works_does_not(
    hosting: Any, people: Any
) -> None:
    alive = await hosting(boxes=3, boxes_per_user=2)
    alice = [await people("alice") for _ in range(4)]
    first, second = [await alive.client.box(about) for about in alice[:2]]
    await first.files()

    third = await alive.client.box(alice[2])
    running = [asyncio.create_task(box.run(Command(["sleep"]))) for box in (first, third)]
    for inside in (alive.provider.opened[0], alive.provider.opened[2]):
        await inside.sleeping.wait()
    with pytest.raises(SandboxError, match="All 2 sandboxes of this user"):
        await alive.client.box(alice[3])

    assert [inside.alive for inside in alive.provider.opened] == [True, False, True]
    assert not (await alive.client.existing(alice[1].user_id, alice[1].conversation_id))
    assert second.key.endswith(str(alice[1].conversation_id))
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


async def test_a_box_that_somebody_holds_is_closed_neither_for_its_idleness_nor_to_make_room(
    hosting: Any, people: Any
) -> None:
    alive = await hosting(boxes_per_user=2, idle_s=1.0)
    alice = [await people("alice") for _ in range(3)]
    first, second = [await alive.client.box(about) for about in alice[:2]]
    holds = [await box.hold("test") for box in (first, second)]

    with pytest.raises(SandboxError, match="All 2 sandboxes of this user"):
        await alive.client.box(alice[2])
    await holds[1].let_go()

    async def is_closed() -> bool:
        return not alive.provider.opened[1].alive

    await _until(is_closed)
    assert alive.provider.opened[0].alive
    await holds[0].let_go()


async def test_who_holds_a_box_is_told_by_which_names_others_do_who_are_still_there(hosting: Any, people: Any) -> None:
    alive = await hosting()
    box = await alive.client.box(await people("alice"))

    holds = [await box.hold(name) for name in ("script", "script", "mcp")]
    await holds[0].let_go()
    again = await box.hold("script")

    assert [hold.others for hold in (*holds, again)] == [(), ("script",), ("script", "script"), ("script", "mcp")]
    for hold in (*holds[1:], again):
        await hold.let_go()
    assert (await box.hold("script")).others == ()


@pytest.mark.slow
async def test_what_is_said_through_a_preview_keeps_its_box_and_one_that_is_only_open_does_not(
    hosting: Any, people: Any
) -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while said := await reader.read(100):
            writer.write(said)

    served = await asyncio.start_server(echo, "127.0.0.1", 0)
    alive = await hosting(idle_s=1.0, checkpoint_after_s=0.1)
    alice = await people("alice")
    box = await alive.client.box(alice)
    await box.write(f"{HOME}/a", b"x")
    (inside,) = alive.provider.opened
    reader, writer = await box.connect(served.sockets[0].getsockname()[1])

    until = time.monotonic() + 1.6
    while time.monotonic() < until:
        writer.write(b"said")
        assert await reader.readexactly(4) == b"said"
        await asyncio.sleep(0.05)

    assert inside.alive
    assert len(await in_thread(_snapshots)()) == 1

    async def is_closed() -> bool:
        return not inside.alive

    await _until(is_closed)
    writer.close()
    served.close()


@pytest.mark.threat("T30")
async def test_who_has_used_up_the_seconds_of_a_day_is_told_and_others_go_on(hosting: Any, people: Any) -> None:
    from agents.sandbox.models import SandboxSession

    alive = await hosting(seconds_per_day=10)
    alice, bob = await people("alice"), await people("bob")
    box = await alive.client.box(alice)
    await box.run(Command(["echo", "hi"]))

    this_hour = str(int(time.time() // 3600))
    await in_thread(SandboxSession.objects.filter(user_id=alice.user_id).update)(used_by_hour={this_hour: 11.0})

    with pytest.raises(SandboxError, match="10 seconds of sandbox time"):
        await box.run(Command(["echo", "hi"]))
    assert (await (await alive.client.box(bob)).run(Command(["echo", "hi"]))).exit_code == 0
    row, _ = await in_thread(_rows)()
    assert row.runs == 1


async def test_what_ran_in_a_box_days_ago_is_not_counted_as_of_today(hosting: Any, people: Any) -> None:
    from agents.sandbox.models import SandboxSession

    alive = await hosting(seconds_per_day=10)
    alice = await people("alice")
    box = await alive.client.box(alice)
    days_ago = str(int(time.time() // 3600) - 48)
    own = SandboxSession.objects.filter(user_id=alice.user_id)
    await in_thread(own.update)(used_by_hour={days_ago: 11.0}, used_seconds=11)

    first = await box.run(Command(["echo", "hi"]))
    row = await in_thread(own.get)()
    second = await box.run(Command(["echo", "hi"]))

    assert (first.exit_code, second.exit_code) == (0, 0)
    assert row.used_seconds > 11
    assert (len(row.used_by_hour), days_ago in row.used_by_hour) == (1, False)


@pytest.mark.slow
@pytest.mark.spec("F22")
@pytest.mark.parametrize("how", ["deactivated", "deleted"])
async def test_the_box_of_somebody_who_is_gone_is_closed_and_nothing_of_it_is_kept(
    hosting: Any, people: Any, how: str
) -> None:
    from agents.sandbox import snapshots
    from agents.sandbox.records import Owner
    from hyperagent.accounts.models import User

    alive = await hosting()
    alice, bob = await people("alice"), await people("bob")
    box, other = await alive.client.box(alice), await alive.client.box(bob)
    await box.write(f"{HOME}/secret", b"x")
    await in_thread(kept)(Owner(alice.user_id, alice.conversation_id), b"older")
    running = asyncio.create_task(box.run(Command(["sleep"])))
    await alive.provider.opened[0].sleeping.wait()

    if how == "deactivated":
        await in_thread(User.objects.filter(pk=alice.user_id).update)(is_active=False)
    else:
        await in_thread(User.objects.filter(pk=alice.user_id).delete)()

    async with asyncio.timeout(5):
        await asyncio.gather(running, return_exceptions=True)

    async def is_ended() -> bool:
        return bool((await in_thread(_rows)())[0].ended_because == "removed")

    await _until(is_ended)
    assert [inside.alive for inside in alive.provider.opened] == [False, True]
    with pytest.raises(SandboxError, match="may not work here"):
        await alive.client.box(alice)
    assert other.alive
    await in_thread(snapshots.sweep)(retention_hours=24)
    assert await in_thread(_snapshots)() == []


async def test_a_box_of_somebody_who_is_deleted_while_it_opens_is_refused_and_not_waited_for(
    hosting: Any, people: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agents.sandbox import records
    from hyperagent.accounts.models import User

    alive, alice = await hosting(), await people("alice")
    may_work = records.may_work

    def and_is_deleted_then(user_id: Any) -> bool:
        monkeypatch.setattr(records, "may_work", may_work)
        allowed = may_work(user_id)
        User.objects.filter(pk=user_id).delete()
        return allowed

    monkeypatch.setattr(records, "may_work", and_is_deleted_then)

    with pytest.raises(SandboxError, match="may not work here"):
        async with asyncio.timeout(20):
            await alive.client.box(alice)


async def test_another_machine_takes_the_box_over_with_what_lay_in_it(people: Any, tmp_path: Path) -> None:
    from tests.sandbox.sessions.conftest import Hosting
    from tests.sandbox.sessions.memory_box import MemoryProvider

    alice = await people("alice")
    async with (
        Hosting(MemoryProvider(), tmp_path / "one").living() as one,
        Hosting(MemoryProvider(), tmp_path / "two").living() as two,
    ):
        await (await one.client.box(alice)).write(f"{HOME}/a", b"moved")

        there = await two.client.box(alice)

        assert await there.read(f"{HOME}/a", max_bytes=10) == b"moved"
        assert not one.provider.opened[0].alive
    assert [row.ended_because for row in await in_thread(_rows)()] == ["moved", "drained"]


@pytest.mark.spec("S204")
def test_snapshots_are_forgotten_after_their_hours_with_files_that_nobody_knows(people: Any) -> None:
    import uuid
    from datetime import timedelta

    from django.core.files.base import ContentFile
    from django.core.files.storage import default_storage
    from django.utils import timezone

    from agents.sandbox import snapshots
    from agents.sandbox.models import SandboxSnapshot
    from agents.sandbox.records import Owner
    from hyperagent.accounts.models import User

    alice = User.objects.create(email="alice@example.org")
    old, new = Owner(alice.pk, uuid.uuid4()), Owner(alice.pk, uuid.uuid4())
    for owner in (old, new, new):
        kept(owner, b"archive")
    stray = default_storage.save(f"{snapshots.FOLDER}/{alice.pk}/stray.tar", ContentFile(b"x"))
    SandboxSnapshot.objects.filter(task_id=old.task_id).update(made_at=timezone.now() - timedelta(hours=25))
    lies = [row.stored_as for row in SandboxSnapshot.objects.order_by("made_at")]

    snapshots.sweep(retention_hours=24)

    assert snapshots.find(old) is None
    assert snapshots.find(new) == b"archive"
    assert [default_storage.exists(path) for path in (*lies, stray)] == [False, True, True]
    assert len(default_storage.listdir(f"{snapshots.FOLDER}/{alice.pk}")[1]) == 2
    Path(default_storage.path(lies[1])).write_bytes(b"changed")
    with pytest.raises(snapshots.SnapshotLost, match="not what was kept"):
        snapshots.find(new)
    default_storage.delete(stray)


def test_one_machine_with_a_wrong_clock_forgets_no_snapshot(people: Any) -> None:
    from datetime import timedelta
    from uuid import uuid4

    from django.utils import timezone

    from agents.sandbox import snapshots
    from agents.sandbox.records import Owner
    from hyperagent.accounts.models import User

    owner = Owner(User.objects.create(email="alice@example.org").pk, uuid4())
    kept(owner, b"archive")

    with time_machine.travel(timezone.now() + timedelta(days=1, hours=1)):
        snapshots.sweep(retention_hours=24)

    assert snapshots.find(owner) == b"archive"


_WAITING_FOR_US = """
    SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))
"""


@pytest.mark.spec("S204")
def test_a_snapshot_that_is_made_while_the_one_before_is_swept_away_stays(people: Any, media: Path) -> None:
    from datetime import timedelta

    from django.db import transaction
    from django.utils import timezone

    from agents.sandbox import snapshots
    from agents.sandbox.models import SandboxSnapshot
    from agents.sandbox.records import Owner
    from hyperagent.accounts.models import User
    from hyperagent.lib import rows

    owner = Owner(User.objects.create(email="alice@example.org").pk, uuid4())
    kept(owner, b"old")
    SandboxSnapshot.objects.update(made_at=timezone.now() - timedelta(hours=25))

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            kept(owner, b"new")
            sweeping = pool.submit(_in_own_connection, lambda: snapshots.sweep(retention_hours=24))
            while not sweeping.done() and rows.execute(_WAITING_FOR_US, []).fetchone()[0] == 0:
                time.sleep(0.01)
        sweeping.result(20)

    assert snapshots.find(owner) == b"new"


def _in_own_connection(does: Callable[[], None]) -> None:
    from django.db import connection

    try:
        does()
    finally:
        connection.close()


async def test_the_box_of_a_conversation_that_is_deleted_is_closed_and_nothing_of_it_is_kept(
    hosting: Any, people: Any
) -> None:
    from agents.sandbox.records import Owner
    from conversations import actions as conversations
    from hyperagent.accounts.models import User

    alive = await hosting()
    about = await people("alice")
    alice = await in_thread(User.objects.get)(pk=about.user_id)
    gone, stays = [await in_thread(conversations.create)(alice, title=title) for title in ("Gone", "Stays")]
    boxes = [await alive.client.box(await people("alice", one.pk)) for one in (gone, stays)]
    await boxes[0].write(f"{HOME}/secret", b"x")
    await in_thread(kept)(Owner(alice.pk, gone.pk), b"older")

    await in_thread(conversations.delete)(alice, gone.pk)
    await in_thread(do_jobs)()

    async def is_ended() -> bool:
        return bool((await in_thread(_rows)())[0].ended_because == "removed")

    await _until(is_ended)
    assert [inside.alive for inside in alive.provider.opened] == [False, True]
    assert await in_thread(_snapshots)() == []


async def test_of_a_conversation_that_is_deleted_while_its_box_is_being_closed_nothing_is_kept(
    hosting: Any, people: Any
) -> None:
    may_go_on = asyncio.Event()
    provider = InterruptedProvider()
    provider.how = may_go_on.wait
    alive = await hosting(provider)
    alice = await people("alice")
    await (await alive.client.box(alice)).write(f"{HOME}/secret", b"x")
    (inside,) = provider.opened
    assert isinstance(inside, InterruptedBox)
    alive.host.stop()
    await asyncio.wait_for(inside.has_begun.wait(), 10)

    await in_thread(forget_task)(alice.user_id, alice.conversation_id)
    may_go_on.set()

    async def is_ended() -> bool:
        return bool((await in_thread(_rows)())[0].ended_at)

    await _until(is_ended)
    assert await in_thread(_snapshots)() == []


def test_of_a_conversation_that_is_deleted_while_a_snapshot_is_stored_nothing_is_kept(people: Any, media: Path) -> None:
    from django.db import transaction

    from agents.sandbox import records
    from hyperagent.accounts.models import User
    from hyperagent.lib import rows

    owner = records.Owner(User.objects.create(email="alice@example.org").pk, uuid4())
    records.open_row(owner, provider="memory", host="here")

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            kept(owner, b"secret")
            forgetting = pool.submit(_in_own_connection, lambda: forget_task(owner.user_id, owner.task_id))
            while not forgetting.done() and rows.execute(_WAITING_FOR_US, []).fetchone()[0] == 0:
                time.sleep(0.01)
        forgetting.result(20)

    assert _snapshots() == []
    assert not list(media.rglob("*.tar"))


@pytest.mark.slow
async def test_who_only_asks_whether_there_is_a_box_leaves_nothing_behind(hosting: Any, people: Any) -> None:
    def locks() -> int:
        return sum(type(one) is asyncio.Lock for one in gc.get_objects())

    alive = await hosting()
    alice = await people("alice")
    await alive.client.existing(alice.user_id, uuid4())
    before = locks()

    for _ in range(50):
        assert await alive.client.existing(alice.user_id, uuid4()) is None

    assert locks() <= before + 5


async def test_what_is_left_of_a_box_that_did_not_open_is_cleared_away_beside_the_others(
    hosting: Any, people: Any
) -> None:
    cleared: list[str] = []

    def note(event: str, arguments: Any) -> None:
        if event == "shutil.rmtree" and "box-" in str(arguments[0]):
            cleared.append(threading.current_thread().name)

    sys.addaudithook(note)
    alive = await hosting(MemoryProvider(why="Namespaces are forbidden here."))

    with pytest.raises(SandboxError, match="forbidden"):
        await alive.client.box(await people("alice"))

    assert len(cleared) == 1
    assert threading.main_thread().name not in cleared
