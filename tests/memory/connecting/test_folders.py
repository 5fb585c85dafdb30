"""A folder that is watched: what is taken in, what is not, and what a change does."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from hyperagent.lib.refusals import Conflict, NotAllowed, Refused
from memory.actions import documents
from memory.connecting import actions, folders, polling, tasks
from memory.connecting.items import Items
from memory.connecting.values import Tally
from memory.kinds import ConnectorKind, Origin, Visibility
from memory.models import Connector, ConnectorItem, Document, Posting
from memory.postings.writing import NAME_KEY
from tests.memory.connecting.conftest import look_again, look_is_due, names_of, read_all

pytestmark = pytest.mark.django_db


def watched(user: Any, folder: Path, **more: Any) -> Connector:
    return actions.add(user, kind=ConnectorKind.FOLDER, location=str(folder), **more)


def test_what_is_in_a_folder_becomes_documents_of_its_owner(bob: Any, folder: Path) -> None:
    (folder / "plan.md").write_text("# Plan\n\nWe begin in May.")
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "figures.csv").write_text("a,b\n1,2\n")

    connector = look_again(watched(bob, folder))

    assert names_of(bob) == ["figures.csv", "plan.md"]
    assert connector.result == "2 files: 2 new."
    assert not connector.is_failing
    found = Document.objects.get(filename="figures.csv")
    assert (found.origin, found.connector, found.visibility) == ("connector", connector, "private")
    assert found.source_url == f"{folder}/deep/er/figures.csv"


def test_what_is_hidden_no_text_or_a_link_is_not_looked_at(bob: Any, folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("secret")
    (folder / "link.md").symlink_to(outside / "secret.md")
    (folder / "within").symlink_to(outside)
    (folder / ".hidden.md").write_text("x")
    (folder / ".git").mkdir()
    (folder / ".git" / "notes.md").write_text("x")
    (folder / "~$plan.docx").write_text("x")
    (folder / "photo.jpg").write_bytes(b"x")
    os.mkfifo(folder / "pipe.md")

    connector = look_again(watched(bob, folder))

    assert names_of(bob) == []
    assert connector.result == "0 files: nothing new."


def test_a_file_that_is_swapped_for_a_link_between_listing_and_opening_is_not_opened(
    folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret.md").write_text("secret")
    (folder / "deep").mkdir()
    (folder / "deep" / "plan.md").write_text("plan")
    [entry] = folders.listed(str(folder)).entries
    (folder / "deep" / "plan.md").unlink()
    (folder / "deep" / "plan.md").symlink_to(tmp_path / "secret.md")

    with pytest.raises(OSError, match="symbolic links"):
        folders.opened(str(folder), entry.parts)

    (folder / "deep" / "plan.md").unlink()
    (folder / "deep").rmdir()
    (folder / "deep").symlink_to(tmp_path)
    with pytest.raises(OSError, match=r"symbolic links|Not a directory"):
        folders.opened(str(folder), ("deep", "secret.md"))


def test_a_folder_that_is_swapped_for_a_link_after_it_was_listed_is_not_opened(folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "plan.md").write_text("secret")
    (folder / "plan.md").write_text("plan")
    [entry] = folders.listed(str(folder)).entries
    (folder / "plan.md").unlink()
    folder.rmdir()
    folder.symlink_to(elsewhere)

    with pytest.raises(OSError, match=r"symbolic links|Not a directory"):
        folders.opened(str(folder), entry.parts)


@pytest.mark.slow
def test_what_did_not_change_costs_nothing(bob: Any, folder: Path) -> None:
    for number in range(30):
        (folder / f"{number}.md").write_text(f"text {number}")
    connector = look_again(watched(bob, folder))
    (folder / "new.md").write_text("new")
    look_again(connector)

    with CaptureQueriesContext(connection) as seen:
        connector = look_again(connector)

    assert connector.result == "31 files: nothing new."
    assert len(seen) < 12


def test_a_changed_file_takes_the_place_of_the_former_one_once_a_search_finds_it(bob: Any, folder: Path) -> None:
    (folder / "plan.md").write_text("We begin in May.")
    connector = look_again(watched(bob, folder))
    read_all()
    former = Document.objects.get()
    (folder / "plan.md").write_text("We begin in June.")

    connector = look_again(connector)
    tasks.look_around()

    assert connector.result == "1 file: 1 changed."
    assert set(Document.objects.of(bob).values_list("pk", flat=True)) > {former.pk}
    newer = Document.objects.exclude(pk=former.pk).get()
    assert newer.status == "queued"

    read_all()
    tasks.look_around()

    assert list(Document.objects.of(bob)) == [newer]
    item = ConnectorItem.objects.get()
    assert (item.document, item.successor) == (newer, None)


@pytest.mark.slow
def test_who_saw_the_former_version_sees_the_newer_one(alice: Any, bob: Any, folder: Path) -> None:
    from memory import projects

    (folder / "plan.md").write_text("We begin in May.")
    connector = look_again(watched(bob, folder))
    read_all()
    former = Document.objects.get()
    documents.share(bob, former.pk, visibility=Visibility.EVERYONE)
    project = projects.create(bob, name="Plans")
    projects.add_documents(bob, project.pk, [former.pk])
    (folder / "plan.md").write_text("We begin in June.")

    look_again(connector)
    read_all()
    tasks.look_around()

    newer = Document.objects.get()
    assert newer.pk != former.pk
    assert list(Document.objects.seen_by(alice)) == [newer]
    assert projects.document_ids(project.pk, bob.pk) == (newer.pk,)


@pytest.mark.slow
def test_who_may_not_see_it_any_more_does_not_see_the_newer_version_either(alice: Any, bob: Any, folder: Path) -> None:
    """Its sharing is changed while the newer version is being read."""
    from memory import projects

    for name in ("closed.md", "opened.md"):
        (folder / name).write_text(f"May in {name}.")
    connector = look_again(watched(bob, folder))
    read_all()
    closed, opened = (Document.objects.get(filename=name) for name in ("closed.md", "opened.md"))
    project = projects.create(bob, name="Plans")
    projects.add_member(bob, project.pk, alice.email)
    projects.add_documents(bob, project.pk, [closed.pk])
    documents.share(bob, closed.pk, visibility=Visibility.EVERYONE)
    for name in ("closed.md", "opened.md"):
        (folder / name).write_text(f"June in {name}, and more.")
    look_again(connector)

    documents.share(bob, closed.pk, visibility=Visibility.PRIVATE)
    projects.take_out(bob, project.pk, closed.pk)
    documents.share(bob, opened.pk, visibility=Visibility.EVERYONE)
    read_all()
    tasks.look_around()

    assert Document.objects.count() == 2
    assert [document.filename for document in Document.objects.seen_by(alice)] == ["opened.md"]


def test_a_newer_version_that_can_be_read_after_all_is_no_problem_any_more(bob: Any, folder: Path) -> None:
    (folder / "plan.md").write_text("We begin in May.")
    connector = look_again(watched(bob, folder))
    read_all()
    (folder / "plan.md").write_text("We begin in June, or later.")
    look_again(connector)
    newer = Document.objects.exclude(status="embedding").get()
    documents.cancel(bob, newer.pk)
    tasks.look_around()
    assert ConnectorItem.objects.get().problem

    documents.again(bob, newer.pk)
    read_all()
    tasks.look_around()

    item = ConnectorItem.objects.get()
    assert (item.document, item.problem) == (newer, "")


def test_a_newer_version_that_cannot_be_read_leaves_the_former_one(bob: Any, folder: Path) -> None:
    (folder / "plan.md").write_text("We begin in May.")
    connector = look_again(watched(bob, folder))
    read_all()
    (folder / "plan.md").write_bytes(b"")

    look_again(connector)
    read_all()
    tasks.look_around()

    item = ConnectorItem.objects.get()
    assert item.document is not None
    assert item.document.status == "embedding"
    assert "the former one stays" in item.problem


@pytest.mark.slow
def test_a_file_that_changes_twice_before_it_was_read_leaves_one_version(bob: Any, folder: Path) -> None:
    (folder / "plan.md").write_text("May")
    connector = look_again(watched(bob, folder))
    read_all()
    for month in ("June", "July"):
        (folder / "plan.md").write_text(month)
        look_again(connector)
    read_all()
    tasks.look_around()

    assert Document.objects.count() == 1
    assert "July" in Document.objects.get().pages.get().text


def test_a_file_that_is_changed_back_keeps_its_document(bob: Any, folder: Path) -> None:
    (folder / "plan.md").write_text("May")
    connector = look_again(watched(bob, folder))
    read_all()
    former = Document.objects.get()
    (folder / "plan.md").write_text("June")
    look_again(connector)
    (folder / "plan.md").write_text("May")
    look_again(connector)
    read_all()
    tasks.look_around()

    assert list(Document.objects.all()) == [former]


def test_what_disappears_is_removed_but_for_what_somebody_gave_by_hand(bob: Any, folder: Path) -> None:
    import io

    (folder / "plan.md").write_text("plan")
    (folder / "given.md").write_text("given")
    (folder / "copy.md").write_text("plan")
    (folder / "other.md").write_text("other")
    given = documents.add(bob, io.BytesIO(b"given"), filename="mine.md")[0]
    connector = look_again(watched(bob, folder))
    assert names_of(bob) == ["copy.md", "mine.md", "other.md"]

    (folder / "given.md").unlink()
    (folder / "copy.md").unlink()
    missed = look_again(connector).result
    connector = look_again(connector)

    assert missed == "2 files: nothing new."
    assert connector.result == "2 files: 2 gone."
    assert names_of(bob) == ["mine.md", "other.md", "plan.md"], "the same bytes are still there as plan.md"
    (folder / "plan.md").unlink()
    look_again(connector)
    look_again(connector)
    assert set(Document.objects.exclude(filename="other.md")) == {given}


def test_a_file_that_was_renamed_keeps_its_document_and_is_found_by_its_new_name(bob: Any, folder: Path) -> None:
    (folder / "draft.md").write_text("The harbour opens in May.")
    connector = look_again(watched(bob, folder))
    read_all()
    document = Document.objects.get()

    (folder / "final").mkdir()
    (folder / "draft.md").rename(folder / "final" / "contract.md")
    for _ in range(polling.PATIENCE):
        connector = look_again(connector)

    document.refresh_from_db()
    assert (document.filename, document.source_url) == ("contract.md", str(folder / "final" / "contract.md"))
    named = Posting.objects.filter(document_id=document.pk, chunk_key=NAME_KEY).values_list("term", flat=True)
    assert "contract" in named
    assert "draft" not in named


def test_what_its_owner_gave_by_hand_as_well_stays_when_its_file_is_gone_or_the_connector(
    bob: Any, folder: Path
) -> None:
    import io

    (folder / "plan.md").write_text("plan")
    (folder / "other.md").write_text("other")
    connector = look_again(watched(bob, folder))
    document, is_new = documents.add(bob, io.BytesIO(b"plan"), filename="mine.md")
    assert not is_new

    (folder / "plan.md").unlink()
    for _ in range(polling.PATIENCE):
        look_again(connector)
    assert names_of(bob) == ["other.md", "plan.md"]
    assert Document.objects.get(pk=document.pk).origin == Origin.UPLOAD

    documents.add(bob, io.BytesIO(b"other"), filename="mine too.md")
    assert actions.delete(bob, connector.pk, with_documents=True) == 0
    assert names_of(bob) == ["other.md", "plan.md"]


def test_a_document_that_its_owner_deleted_comes_back_only_when_its_file_changes(bob: Any, folder: Path) -> None:
    (folder / "plan.md").write_text("May")
    connector = look_again(watched(bob, folder))
    documents.delete(bob, Document.objects.get().pk)

    look_again(connector)
    assert not Document.objects.exists()

    (folder / "plan.md").write_text("June")
    look_again(connector)
    assert names_of(bob) == ["plan.md"]


def test_a_folder_that_is_away_removes_nothing(bob: Any, folder: Path) -> None:
    (folder / "plan.md").write_text("plan")
    connector = look_again(watched(bob, folder))
    folder.rename(folder.with_name("away"))

    connector = look_again(connector)

    assert connector.is_failing
    assert connector.result.startswith("There is no folder")
    assert names_of(bob) == ["plan.md"]


def test_an_empty_folder_where_a_disk_was_removes_nothing(bob: Any, folder: Path) -> None:
    (folder / "plan.md").write_text("plan")
    connector = look_again(watched(bob, folder))
    folder.rename(folder.with_name("disk"))
    folder.mkdir()
    for _ in range(3):
        connector = look_again(connector)
    told = connector.result
    folder.rmdir()
    folder.with_name("disk").rename(folder)

    connector = look_again(connector)

    assert told.startswith("The folder is empty, where 1 file was known. Is its disk away?")
    assert names_of(bob) == ["plan.md"]
    assert (connector.result, connector.is_failing) == ("1 file: nothing new.", False)


def test_another_disk_removes_nothing_unless_it_has_what_was_known(bob: Any, folder: Path) -> None:
    (folder / "plan.md").write_text("plan")
    (folder / "deep.md").write_text("deep")
    connector = look_again(watched(bob, folder))
    # As after a restart, or where something else is mounted now.
    Connector.objects.update(device=connector.device + 1)
    (folder / "deep.md").unlink()

    connector = look_again(connector)
    assert (connector.result, connector.is_failing) == ("1 file: nothing new.", False)

    Connector.objects.update(device=connector.device + 1)
    (folder / "plan.md").rename(folder / "else.md")
    for _ in range(3):
        connector = look_again(connector)

    assert connector.result.startswith("Another disk is at this folder, with nothing of what was there")
    assert names_of(bob) == ["deep.md", "plan.md"]


def test_a_file_that_one_look_misses_begins_to_be_missed_anew(bob: Any, folder: Path) -> None:
    (folder / "other.md").write_text("other")
    (folder / "plan.md").write_text("plan")
    connector = look_again(watched(bob, folder))
    for _ in range(2):
        (folder / "plan.md").rename(folder / "away.tmp")
        look_again(connector)
        (folder / "away.tmp").rename(folder / "plan.md")
        look_again(connector)

    assert names_of(bob) == ["other.md", "plan.md"]
    assert ConnectorItem.objects.get(place="plan.md").absences == 0


def test_a_file_that_is_too_big_is_read_once_and_again_when_it_or_the_limit_changes(
    bob: Any, folder: Path, settings: Any
) -> None:
    def limit(limit_bytes: int) -> None:
        settings.CONFIG = settings.CONFIG.model_copy(update={"document_max_bytes": limit_bytes})

    limit(10)
    (folder / "plan.md").write_text("We begin in May.")
    connector = look_again(watched(bob, folder))

    with CaptureQueriesContext(connection) as seen:
        connector = look_again(connector)
    told_again = connector.result
    limit(1_000)
    connector = look_again(connector)

    assert "Not read: plan.md" in told_again
    assert not [query for query in seen.captured_queries if query["sql"].startswith('UPDATE "memory_connectoritem"')]
    assert (connector.result, names_of(bob)) == ("1 file: 1 changed.", ["plan.md"])
    assert ConnectorItem.objects.get().problem == ""


def test_what_is_in_a_folder_that_cannot_be_read_is_kept(
    bob: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too deep stands in for a missing permission, which does not hold for root."""
    (folder / "deep").mkdir()
    (folder / "deep" / "plan.md").write_text("plan")
    connector = look_again(watched(bob, folder))
    monkeypatch.setattr(folders, "MAX_DEPTH", 0)

    connector = look_again(connector)

    assert names_of(bob) == ["plan.md"]
    assert connector.result == "0 files: nothing new. Not readable: deep/."


def test_a_name_that_is_no_text_is_taken_in(bob: Any, folder: Path) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/pl\xe4n.md")).write_text("plan")

    connector = look_again(watched(bob, folder))
    connector = look_again(connector)

    assert names_of(bob) == ["pl\ufffdn.md"]
    assert connector.result == "1 file: nothing new."


# ── Who may ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_only_administrators_have_folders_watched(alice: Any, folder: Path) -> None:
    with pytest.raises(NotAllowed, match="Only administrators"):
        watched(alice, folder)


def test_who_is_no_administrator_any_more_gets_nothing_more(bob: Any, folder: Path) -> None:
    connector = watched(bob, folder)
    (folder / "plan.md").write_text("plan")
    bob.is_staff = False
    bob.save()

    connector = look_again(connector)

    assert connector.is_failing
    assert names_of(bob) == []


@pytest.mark.parametrize("way", ["/", "/etc", "watched/../../..", "relative", "", "{tmp}/nowhere", "{tmp}/link", "\0"])
def test_a_folder_outside_of_the_roots_is_refused_with_a_sentence(
    bob: Any, tmp_path: Path, folder: Path, way: str
) -> None:
    (tmp_path / "link").symlink_to("/etc")

    with pytest.raises(Refused) as refused:
        actions.add(bob, kind=ConnectorKind.FOLDER, location=way.format(tmp=tmp_path))

    assert refused.value.code == "bad_folder"
    assert refused.value.fields["location"][0].endswith(".")


def test_a_root_that_is_taken_away_ends_the_watching(bob: Any, folder: Path, settings: Any) -> None:
    connector = watched(bob, folder)
    (folder / "plan.md").write_text("plan")
    settings.CONFIG = settings.CONFIG.model_copy(update={"watch_roots": ()})

    connector = look_again(connector)

    assert "WATCH_ROOTS" in connector.result
    assert names_of(bob) == []


def test_a_folder_that_became_a_link_out_of_the_roots_is_not_followed(bob: Any, folder: Path) -> None:
    connector = watched(bob, folder)
    folder.rmdir()
    folder.symlink_to("/etc")

    connector = look_again(connector)

    assert connector.is_failing
    assert names_of(bob) == []


def test_the_same_folder_is_watched_once(bob: Any, folder: Path) -> None:
    watched(bob, folder)

    with pytest.raises(Conflict):
        watched(bob, folder / ".")


# ── Turns ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_look_that_takes_too_long_goes_on_in_the_next_one(
    bob: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        (folder / f"{number}.md").write_text(f"text {number}")
    connector = watched(bob, folder)
    monkeypatch.setattr(polling, "LOOK_S", -1.0)

    connector = look_again(connector)

    assert (connector.pause_s, names_of(bob)) == (polling.UNFINISHED_PAUSE_S, ["0.md"])
    assert "goes on in a minute" in connector.result
    monkeypatch.undo()
    connector = look_again(connector)
    assert (len(names_of(bob)), connector.pause_s) == (3, connector.every_s)


@pytest.mark.slow
def test_what_happens_to_a_document_while_its_folder_is_looked_at_stays_so(bob: Any, folder: Path) -> None:
    """A newer version takes its place, or its owner deletes it: the look knows its files from before that."""
    for name in ("changed.md", "deleted.md", "kept.md"):
        (folder / name).write_text(f"first words of {name}")
    connector = look_again(watched(bob, folder))
    read_all()
    for name in ("changed.md", "deleted.md", "kept.md"):
        (folder / name).write_text(f"other words of {name}, and more")
    connector = look_again(connector)
    read_all()
    held_until = polling._claimed(look_is_due(connector))
    assert held_until is not None
    seen = Items(connector, held_until, Tally())

    tasks.look_around()
    for document in Document.objects.filter(filename="deleted.md"):
        documents.delete(bob, document.pk)
    for key in list(seen.known):
        seen.unchanged(key)

    stood = {item.place: (item.document, item.successor) for item in connector.items.all()}
    assert stood["deleted.md"] == (None, None)
    for name in ("changed.md", "kept.md"):
        assert stood[name] == (Document.objects.get(filename=name), None)


def test_files_in_a_folder_that_cannot_be_read_now_stay_however_it_is_called(
    bob: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name of bytes that are no text is shown with signs in place of them."""
    deep = folder / os.fsdecode(b"caf\xe9")
    deep.mkdir()
    (deep / "plan.md").write_text("plan")
    (folder / "other.md").write_text("other")
    connector = look_again(watched(bob, folder))
    assert names_of(bob) == ["other.md", "plan.md"]

    monkeypatch.setattr(folders, "MAX_DEPTH", 0)
    for _ in range(3):
        connector = look_again(connector)

    assert names_of(bob) == ["other.md", "plan.md"]


def test_what_may_be_listed_and_not_looked_at_is_not_taken_for_gone(
    bob: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a folder with the right to read it and none to enter it."""
    (folder / "sub").mkdir()
    for path in ("plan.md", "sub/contract.md"):
        (folder / path).write_text(path)
    connector = look_again(watched(bob, folder))
    looked_at = os.stat

    def forbidden(path: Any, *args: Any, **more: Any) -> os.stat_result:
        if path == "contract.md":
            raise PermissionError(errno.EACCES, "Permission denied")
        return looked_at(path, *args, **more)

    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", forbidden)
        for _ in range(3):
            connector = look_again(connector)
    told = connector.result
    connector = look_again(connector)

    assert told == "1 file: nothing new. Not readable: sub/."
    assert names_of(bob) == ["contract.md", "plan.md"]
    assert connector.result == "2 files: nothing new."
