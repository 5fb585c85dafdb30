"""`manage.py ingest`: files and folders from a terminal."""

import io
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memory.kinds import SEARCHABLE, Origin
from memory.models import Document
from tests.memory.giving import uploaded

pytestmark = pytest.mark.django_db


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    below = tmp_path / "papers"
    for name, text in (
        ("a.md", "About apples."),
        ("deep/er/b.txt", "About bees."),
        ("c.md", "About apples."),
        (".hidden.md", "Hidden."),
        (".git/config", "Hidden too."),
        ("broken.pdf", "%PDF-1.4 but no PDF"),
    ):
        (below / name).parent.mkdir(parents=True, exist_ok=True)
        (below / name).write_text(text)
    return below


def ingest(*args: Any, out: io.StringIO | None = None, user: Any, **options: Any) -> tuple[str, str, int]:
    out, err, status = out or io.StringIO(), io.StringIO(), 0
    try:
        call_command("ingest", *map(str, args), user=user.email, stdout=out, stderr=err, **options)
    except SystemExit as ended:
        status = int(ended.code or 0)
    return out.getvalue(), err.getvalue(), status


@pytest.mark.slow
def test_a_folder_is_taken_in_without_a_worker_and_counted(alice: Any, folder: Path) -> None:
    said, warned, status = ingest(folder, user=alice)

    assert status == 1
    assert "No worker is running" in warned
    assert "4 files: 2 new, 1 the same as before, 1 failed." in said
    assert re.search(r"failed: .*broken\.pdf: .+\.", said)
    assert "hidden" not in said.lower()
    assert "\r" not in said
    kept = Document.objects.of(alice).filter(status__in=SEARCHABLE)
    assert sorted(kept.values_list("filename", "origin")) == [("a.md", Origin.COMMAND), ("b.txt", Origin.COMMAND)]


def test_on_a_terminal_there_is_a_bar(alice: Any, folder: Path) -> None:
    said, _, status = ingest(folder / "a.md", folder / ".hidden.md", user=alice, out=Terminal())

    assert status == 0
    assert "░" in said
    assert "2 files: 2 new, 0 the same as before, 0 failed." in said


def test_without_waiting_they_are_left_to_the_worker(alice: Any, folder: Path) -> None:
    said, warned, status = ingest(folder, user=alice, wait=False)

    assert (status, warned) == (0, "")
    assert "4 files: 3 new, 1 the same as before, 0 failed." in said
    assert {document.status for document in Document.objects.of(alice)} == {"queued"}


def test_the_same_again_is_known(alice: Any, folder: Path) -> None:
    uploaded(alice, "About apples.", filename="first.md")

    said, _, status = ingest(folder / "a.md", user=alice)

    assert (status, Document.objects.count()) == (0, 1)
    assert "1 the same as before" in said


def test_a_path_or_a_person_that_is_not_there_is_named(alice: Any, folder: Path) -> None:
    with pytest.raises(CommandError, match="no file or folder"):
        call_command("ingest", str(folder / "nothing"), user=alice.email)
    with pytest.raises(CommandError, match=r"no active user 'nobody@example\.org'"):
        call_command("ingest", str(folder), user="nobody@example.org")
