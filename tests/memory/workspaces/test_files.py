"""Files of workspaces by their verbs: versions, paths, limits, and that bytes and rows stay together."""

import os
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from threading import Barrier, Thread
from typing import Any
from uuid import uuid4

import pytest
import time_machine
from django.db import connection
from django.utils import timezone

from conversations import actions as conversations
from conversations.models import Conversation
from hyperagent.accounts.models import User
from hyperagent.lib.refusals import Conflict, NotAllowed, NotThere
from memory import projects
from memory.models import FileVersion, StoredBytes, WorkspaceFile
from memory.workspaces import files, sweeping
from memory.workspaces.files import NONE, Changed, NoRoom, QuotaUsedUp, TooBig, mark_of
from memory.workspaces.places import Place, Scope
from memory.workspaces.sweeping import sweep
from tests.jobs import do_jobs
from tests.memory.ingestion.test_bad_input import FullDisk
from tests.memory.workspaces.conftest import Places, on_disk

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.spec("S81")
def test_what_is_written_is_listed_and_read_and_what_it_was_before_is_a_version(
    alice: Any, places: Places, media: Path
) -> None:
    here = places["conversation"]

    first = files.write(alice.pk, here, "out/a.txt", b"one")
    second = files.write(alice.pk, here, "out/a.txt", b"two", by="data")
    files.write(alice.pk, here, "b.csv", b"x,y\n")

    assert (first.version, second.version, second.media_type) == (1, 2, "text/plain")
    assert [facts.path for facts in files.listed(alice.pk, here)] == ["b.csv", "out/a.txt"]
    assert [facts.path for facts in files.listed(alice.pk, here, "out/")] == ["out/a.txt"]
    assert files.read(alice.pk, here, "out/a.txt")[1] == b"two"
    assert files.read(alice.pk, here, "out/a.txt", version=1) == (first, b"one")
    assert [(row.number, row.by, row.written_by) for row in files.versions(alice.pk, here, "out/a.txt")] == [
        (2, "data", "Alice"),
        (1, "", "Alice"),
    ]


def test_the_same_bytes_again_are_no_version_and_lie_in_the_storage_once(
    alice: Any, places: Places, media: Path
) -> None:
    for path in ("a.txt", "a.txt", "b.txt"):
        files.write(alice.pk, places["user"], path, b"same")

    assert [facts.version for facts in files.listed(alice.pk, places["user"])] == [1, 1]
    assert len(on_disk(media)) == 1


def test_whoever_writes_what_they_read_before_is_told_that_it_changed(alice: Any, places: Places) -> None:
    here = places["user"]
    one = mark_of(files.write(alice.pk, here, "a.txt", b"one"))
    two = mark_of(files.write(alice.pk, here, "a.txt", b"two"))

    with pytest.raises(Changed) as refused:
        files.write(alice.pk, here, "a.txt", b"three", expected=one)
    with pytest.raises(Changed):
        files.write(alice.pk, here, "a.txt", b"three", expected=NONE)
    with pytest.raises(Changed):
        files.write(alice.pk, here, "a.txt", b"two", expected=one)

    assert refused.value.version == 2
    assert files.read(alice.pk, here, "a.txt")[1] == b"two"
    assert files.write(alice.pk, here, "a.txt", b"three", expected=two).version == 3
    assert files.write(alice.pk, here, "new.txt", b"", expected=NONE).version == 1


def test_an_older_version_is_made_the_newest_and_nothing_is_lost_by_it(alice: Any, places: Places) -> None:
    here = places["user"]
    for content in (b"one", b"two"):
        files.write(alice.pk, here, "a.txt", content)

    restored = files.restore(alice.pk, here, "a.txt", 1)

    assert (restored.version, files.read(alice.pk, here, "a.txt")[1]) == (3, b"one")
    assert [row.number for row in files.versions(alice.pk, here, "a.txt")] == [3, 2, 1]
    with pytest.raises(NotThere):
        files.restore(alice.pk, here, "a.txt", 4)


def test_what_is_deleted_is_gone_from_the_list_and_comes_back_by_restore_or_by_writing(
    alice: Any, places: Places
) -> None:
    here = places["user"]
    files.write(alice.pk, here, "a.txt", b"one")

    files.delete(alice.pk, here, "a.txt")
    assert files.listed(alice.pk, here) == []
    with pytest.raises(NotThere):
        files.read(alice.pk, here, "a.txt")
    with pytest.raises(NotThere):
        files.delete(alice.pk, here, "a.txt")
    restored = files.restore(alice.pk, here, "a.txt", 1)
    assert restored.version == 1
    files.delete(alice.pk, here, "a.txt", expected=mark_of(restored))

    assert files.write(alice.pk, here, "a.txt", b"one", expected=NONE).version == 2
    assert files.read(alice.pk, here, "a.txt", version=1)[1] == b"one"


def test_a_file_is_renamed_with_its_versions_and_never_over_another(alice: Any, places: Places) -> None:
    here = places["user"]
    for path, content in (("a.txt", b"one"), ("a.txt", b"two"), ("b.csv", b"x")):
        files.write(alice.pk, here, path, content)

    with pytest.raises(Conflict):
        files.move(alice.pk, here, "a.txt", "b.csv")
    moved = files.move(alice.pk, here, "a.txt", "in/a.md")
    files.delete(alice.pk, here, "b.csv")
    moved = files.move(alice.pk, here, "in/a.md", "b.csv")

    assert (moved.path, moved.version, moved.media_type) == ("b.csv", 3, "text/csv")
    contents = [files.read(alice.pk, here, "b.csv", version=number)[1] for number in (3, 2, 1)]
    assert [row.number for row in files.versions(alice.pk, here, "b.csv")] == [3, 2, 1]
    assert contents == [b"two", b"one", b"x"], "what lay there in the bin is not lost"
    assert [facts.path for facts in files.listed(alice.pk, here)] == ["b.csv"]
    assert files.write(alice.pk, here, "b.csv", b"three").version == 4


def test_a_path_is_a_file_or_a_folder(alice: Any, places: Places) -> None:
    here = places["user"]
    files.write(alice.pk, here, "a/b.txt", b"x")

    for path in ("a", "a/b.txt/c", "a/b.txt/c/d"):
        with pytest.raises(Conflict, match="at once"):
            files.write(alice.pk, here, path, b"y")

    files.move(alice.pk, here, "a/b.txt", "a")
    assert [facts.path for facts in files.listed(alice.pk, here)] == ["a"]


@pytest.mark.slow
def test_twenty_versions_are_kept_and_the_bytes_of_older_ones_go(alice: Any, places: Places, media: Path) -> None:
    here = places["user"]
    for number in range(files.KEPT_VERSIONS + 3):
        files.write(alice.pk, here, "a.txt", b"%d" % number)

    kept = [row.number for row in files.versions(alice.pk, here, "a.txt")]

    assert kept == list(range(files.KEPT_VERSIONS + 3, 3, -1))
    assert StoredBytes.objects.count() == len(on_disk(media)) == files.KEPT_VERSIONS
    with pytest.raises(NotThere):
        files.read(alice.pk, here, "a.txt", version=3)


# --- limits


@pytest.mark.spec("S81")
def test_for_new_files_the_bin_and_old_versions_give_way_and_then_there_is_no_room(
    alice: Any, places: Places, media: Path, limited: Any
) -> None:
    limited(workspace_quota_bytes=1000)
    here = places["user"]
    for path, size in (("old.txt", 300), ("old.txt", 200), ("gone.txt", 400)):
        files.write(alice.pk, here, path, path.encode() * (size // len(path)))
    files.delete(alice.pk, here, "gone.txt")

    files.write(alice.pk, here, "a.txt", b"a" * 350)
    assert [row.number for row in files.versions(alice.pk, here, "old.txt")] == [2, 1]
    files.write(alice.pk, here, "b.txt", b"b" * 400)
    assert [row.number for row in files.versions(alice.pk, here, "old.txt")] == [2]
    before = (on_disk(media), FileVersion.objects.count())
    with pytest.raises(QuotaUsedUp) as refused:
        files.write(alice.pk, places["conversation"], "c.txt", b"c" * 100)

    assert (refused.value.more["used_bytes"], refused.value.status) == (946, 507)
    assert (on_disk(media), FileVersion.objects.count()) == before
    assert files.write(alice.pk, places["project"], "c.txt", b"c" * 100).version == 1


def test_a_file_that_is_too_large_leaves_nothing(alice: Any, places: Places, media: Path, limited: Any) -> None:
    limited(workspace_file_max_bytes=1000)

    with pytest.raises(TooBig, match="WORKSPACE_FILE_MAX_BYTES"):
        files.write(alice.pk, places["user"], "a.txt", b"x" * 1001)

    assert (on_disk(media), WorkspaceFile.objects.count()) == ([], 0)


@pytest.mark.spec("S81")
def test_many_who_write_at_once_lose_nothing_and_never_pass_the_quota(
    alice: Any, places: Places, media: Path, limited: Any
) -> None:
    limited(workspace_quota_bytes=1000)
    here, together, refused = places["user"], Barrier(8), []

    def write(number: int) -> None:
        try:
            together.wait(10)
            files.write(alice.pk, here, "same.txt", b"%d" % number)
            files.write(alice.pk, here, f"{number}.txt", b"%d" % number * 150)
        except QuotaUsedUp as refusal:
            refused.append(refusal)
        finally:
            connection.close()

    threads = [Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    there = files.listed(alice.pk, here)
    newest = next(facts for facts in there if facts.path == "same.txt")
    assert (newest.version, len(there), len(refused)) == (8, 7, 2)
    assert sum(StoredBytes.objects.values_list("size_bytes", flat=True)) <= 1000
    assert len(on_disk(media)) == StoredBytes.objects.count()


# --- bytes and rows


@pytest.mark.spec("S81")
def test_f19_a_full_disk_is_said_and_leaves_neither_half_a_file_nor_a_row(
    alice: Any, places: Places, media: Path, settings: Any
) -> None:
    settings.STORAGES = {**settings.STORAGES, "default": {"BACKEND": f"{FullDisk.__module__}.FullDisk"}}

    with pytest.raises(NoRoom) as refused:
        files.write(alice.pk, places["user"], "a.txt", b"longer than ten bytes")

    assert refused.value.status == 507
    assert (on_disk(media), WorkspaceFile.objects.count(), StoredBytes.objects.count()) == ([], 0, 0)


def test_a_writer_that_dies_leaves_bytes_that_the_sweep_finds_and_no_row(
    alice: Any, places: Places, media: Path
) -> None:
    files.write(alice.pk, places["user"], "a.txt", b"kept")
    kept = on_disk(media)
    young, old = (kept[0].parent / name for name in ("young", "old"))
    for path in (young, old):
        path.write_bytes(b"half")
    os.utime(old, (1, 1))

    sweep()

    assert on_disk(media) == sorted([*kept, young])


def test_a_sweep_that_has_no_time_for_all_empties_the_bin_first_and_others_go_on_anywhere(
    alice: Any, places: Places, media: Path
) -> None:
    files.write(alice.pk, places["user"], "old.txt", b"old")
    files.delete(alice.pk, places["user"], "old.txt")
    WorkspaceFile.objects.update(deleted_at=timezone.now() - timedelta(days=8))
    folder = on_disk(media)[0].parent.parent
    strays = [folder / str(uuid4()) / f"{number}" for number in range(6)]
    for path in strays:
        path.parent.mkdir()
        path.write_bytes(b"of nobody")

    first = sweep(work_s=0)
    bin_after, left = WorkspaceFile.objects.count(), len(on_disk(media))
    sweeps = 1
    while on_disk(media):
        sweep(work_s=0)
        sweeps += 1

    assert (bin_after, first - 1 + left) == (0, len(strays))
    assert sweeps >= len(strays)


def test_conversations_with_files_are_looked_at_a_part_at_a_time(
    alice: Any, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeping, "LOOKED_AT", 2)
    files.write(alice.pk, places["conversation"], "a.txt", b"x")
    kept = WorkspaceFile.objects.get()
    for _ in range(5):
        kept.pk, kept.scope_id = uuid4(), uuid4()
        kept.save(force_insert=True)

    looked_at = [sweeping._some_conversations() for _ in range(50)]

    assert {len(some) for some in looked_at} == {2}
    assert len(set.union(*looked_at)) == 6


def test_bytes_that_were_lost_are_there_again_when_they_are_written_again(
    alice: Any, places: Places, media: Path
) -> None:
    files.write(alice.pk, places["user"], "a.txt", b"one")
    on_disk(media)[0].unlink()
    with pytest.raises(NotThere):
        files.read(alice.pk, places["user"], "a.txt")

    files.write(alice.pk, places["user"], "b.txt", b"one")

    assert files.read(alice.pk, places["user"], "a.txt")[1] == b"one"


def test_the_bin_is_emptied_after_a_week(alice: Any, places: Places, media: Path) -> None:
    for path in ("young.txt", "old.txt"):
        files.write(alice.pk, places["user"], path, path.encode())
        files.delete(alice.pk, places["user"], path)
    WorkspaceFile.objects.filter(path="old.txt").update(deleted_at=timezone.now() - timedelta(days=8))

    sweep()

    assert [file.path for file in WorkspaceFile.objects.all()] == ["young.txt"]
    assert len(on_disk(media)) == StoredBytes.objects.count() == 1


def test_one_machine_with_a_wrong_clock_does_not_empty_the_bin(alice: Any, places: Places, media: Path) -> None:
    files.write(alice.pk, places["user"], "a.txt", b"wanted back")
    files.delete(alice.pk, places["user"], "a.txt")

    with time_machine.travel(timezone.now() + timedelta(days=365)):
        sweep()

    assert [file.path for file in WorkspaceFile.objects.all()] == ["a.txt"]


def test_the_files_of_a_conversation_go_with_it_and_those_of_others_stay(
    alice: Any, places: Places, media: Path
) -> None:
    here = places["conversation"]
    for place in places.values():
        files.write(alice.pk, place, "a.txt", str(place).encode())

    conversations.delete(alice, here.scope_id)
    do_jobs()

    assert {file.scope for file in WorkspaceFile.objects.all()} == {"user", "project"}
    assert len(on_disk(media)) == 2
    with pytest.raises(NotThere):
        files.write(alice.pk, here, "late.txt", b"x")


def test_what_a_run_wrote_at_the_instant_its_conversation_went_is_swept(
    alice: Any, places: Places, media: Path
) -> None:
    files.write(alice.pk, places["conversation"], "late.txt", b"x")
    Conversation.objects.update(deleted_at=timezone.now())

    sweep()

    assert (WorkspaceFile.objects.count(), on_disk(media)) == (0, [])


@pytest.mark.spec("S81")
def test_f22_nothing_of_a_deleted_account_is_left_and_what_it_wrote_for_others_stays(
    alice: Any, bob: Any, places: Places, media: Path
) -> None:
    for path in ("a.txt", "a.txt"):
        files.write(bob.pk, places["project"], path, b"by Bob")
    for content in (b"one", b"two"):
        files.write(bob.pk, Place(Scope.USER, bob.pk), "own.txt", content)

    bob.delete()
    sweep()
    assert [row.written_by for row in files.versions(alice.pk, places["project"], "a.txt")] == [""]
    assert len(on_disk(media)) == 1
    with pytest.raises(NotThere):
        files.write(bob.pk, Place(Scope.USER, bob.pk), "late.txt", b"x")

    alice.delete()
    sweep()
    assert (WorkspaceFile.objects.count(), StoredBytes.objects.count(), on_disk(media)) == (0, 0, [])


# --- whose


@pytest.mark.spec("B4", "S81")
def test_charlie_sees_writes_and_guesses_nothing_by_any_verb_in_any_scope(
    alice: Any, charlie: Any, places: Places, media: Path
) -> None:
    nowhere = Place(Scope.CONVERSATION, uuid4())
    for place in places.values():
        files.write(alice.pk, place, "a.txt", b"Alice's")
    before = sorted(WorkspaceFile.objects.values_list()), sorted(FileVersion.objects.values_list())

    for place in (*places.values(), nowhere, Place(Scope.USER, uuid4()), Place(Scope.PROJECT, uuid4())):
        for verb in (
            lambda place: files.listed(charlie.pk, place),
            lambda place: files.read(charlie.pk, place, "a.txt"),
            lambda place: files.read(charlie.pk, place, "a.txt", version=1),
            lambda place: files.versions(charlie.pk, place, "a.txt"),
            lambda place: files.was_written(charlie.pk, place, "a.txt", ""),
            lambda place: files.write(charlie.pk, place, "a.txt", b"Alice's"),
            lambda place: files.write(charlie.pk, place, "b.txt", b"x", expected=NONE),
            lambda place: files.put(charlie.pk, place, "b.txt", BytesIO(b"x")),
            lambda place: files.delete(charlie.pk, place, "a.txt"),
            lambda place: files.restore(charlie.pk, place, "a.txt", 1),
            lambda place: files.move(charlie.pk, place, "a.txt", "b.txt"),
        ):
            with pytest.raises(NotThere):
                verb(place)

    # Nor does he find out by bytes who has them: his own are stored for himself.
    files.write(charlie.pk, Place(Scope.USER, charlie.pk), "a.txt", b"Alice's")
    assert len({row.stored_as for row in StoredBytes.objects.all()}) == len(on_disk(media)) == 3
    FileVersion.objects.filter(file__user=charlie).delete()
    WorkspaceFile.objects.filter(user=charlie).delete()
    assert (sorted(WorkspaceFile.objects.values_list()), sorted(FileVersion.objects.values_list())) == before


def test_members_share_a_projects_files_and_delete_what_they_put_there(alice: Any, bob: Any, places: Places) -> None:
    here = places["project"]
    files.write(alice.pk, here, "alices.txt", b"one")
    files.write(bob.pk, here, "bobs.txt", b"one")

    assert files.write(bob.pk, here, "alices.txt", b"two").version == 2
    for verb in (
        lambda: files.delete(bob.pk, here, "alices.txt"),
        lambda: files.move(bob.pk, here, "alices.txt", "c.txt"),
    ):
        with pytest.raises(NotAllowed):
            verb()
    files.move(bob.pk, here, "bobs.txt", "c.txt")
    files.delete(alice.pk, here, "c.txt")
    projects.remove_member(alice, here.scope_id, bob.pk)

    with pytest.raises(NotThere):
        files.listed(bob.pk, here)
    assert [row.written_by for row in files.versions(alice.pk, here, "alices.txt")] == ["Bob", "Alice"]


def test_a_file_that_is_put_where_anothers_was_deleted_is_of_whoever_puts_it(
    alice: Any, bob: Any, places: Places
) -> None:
    here = places["project"]
    files.write(alice.pk, here, "plan.txt", b"Alice's")
    files.delete(alice.pk, here, "plan.txt")

    files.write(bob.pk, here, "plan.txt", b"Bob's")

    files.move(bob.pk, here, "plan.txt", "bobs plan.txt")
    moved = [file.path for file in files.listed(bob.pk, here)]
    files.delete(bob.pk, here, "bobs plan.txt")
    assert (moved, files.listed(bob.pk, here)) == (["bobs plan.txt"], [])


def test_who_is_deactivated_writes_nothing_any_more(alice: Any, places: Places) -> None:
    User.objects.filter(pk=alice.pk).update(is_active=False)

    for place in places.values():
        with pytest.raises(NotThere):
            files.write(alice.pk, place, "a.txt", b"x")
