"""A folder that is watched: what is taken in, what is not, and what a change does."""

import os
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from hyperagent.lib.refusals import Conflict, NotAllowed, Refused
from memory.actions import documents
from memory.connecting import actions, folders, looking, tasks
from memory.kinds import ConnectorKind, Visibility
from memory.models import Connector, ConnectorItem, Document
from tests.memory.connecting.conftest import look_again, names_of, read_all

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
    given = documents.add(bob, io.BytesIO(b"given"), filename="mine.md")[0]
    connector = look_again(watched(bob, folder))
    assert names_of(bob) == ["copy.md", "mine.md"]

    (folder / "given.md").unlink()
    (folder / "copy.md").unlink()
    connector = look_again(connector)

    assert connector.result == "1 file: 2 gone."
    assert names_of(bob) == ["copy.md", "mine.md"], "the same bytes are still there as plan.md"
    (folder / "plan.md").unlink()
    look_again(connector)
    assert list(Document.objects.all()) == [given]


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
    monkeypatch.setattr(looking, "LOOK_S", -1.0)

    connector = look_again(connector)

    assert (connector.pause_s, names_of(bob)) == (looking.UNFINISHED_PAUSE_S, ["0.md"])
    assert "goes on in a minute" in connector.result
    monkeypatch.undo()
    connector = look_again(connector)
    assert (len(names_of(bob)), connector.pause_s) == (3, connector.every_s)
