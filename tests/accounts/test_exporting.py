"""All that is kept of a person as one file: what is in it, who may open it, and when it ends."""

import io
import json
import tracemalloc
import zipfile
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core import mail
from django.core.files.storage import default_storage
from django.test import Client
from django.utils import timezone
from django_q.models import OrmQ

from conversations import actions as conversations
from hyperagent.accounts import closing, exporting
from hyperagent.accounts.archive import Archive, safe_path
from hyperagent.accounts.models import DataExport, ExportState, User
from hyperagent.accounts.tasks import go_on_with_exports, go_on_with_farewells, sweep_letters
from hyperagent.lib.refusals import Conflict
from memory.actions import documents
from tests.accounts.keeping import SECRET, keep_something_of

DATA = "/settings/data/"


@pytest.fixture(autouse=True)
def _own_files(settings: Any, tmp_path: Any) -> None:
    settings.MEDIA_ROOT = tmp_path / "media"


def made_for(user: Any) -> DataExport:
    export = exporting.ask(user)
    exporting.make(export.pk)
    export.refresh_from_db()
    return export


def unpacked(client: Client, export: DataExport, number: int = 1) -> dict[str, bytes]:
    answer: Any = client.get(f"{DATA}export/{export.pk}/?file={number}")
    archive = zipfile.ZipFile(io.BytesIO(async_to_sync(_read)(answer)))
    return {name: archive.read(name) for name in archive.namelist()}


async def _read(answer: Any) -> bytes:
    return b"".join([piece async for piece in answer])


@pytest.mark.slow
@pytest.mark.spec("S148")
@pytest.mark.threat("T04")
def test_alices_file_has_all_that_is_hers_and_only_alice_opens_it(
    alice: Any, charlie: Any, alices_page: Client, charlies_page: Client
) -> None:
    kept = keep_something_of(alice, charlie)
    keep_something_of(charlie, alice)
    alices_page.post(f"{DATA}export/")
    export = DataExport.objects.get(user=alice)

    exporting.make(export.pk)
    sweep_letters()

    found = unpacked(alices_page, export)
    talk = next(name for name in found if name.startswith("conversations/") and name.endswith(".json"))
    expected = {"profile", "tokens", "rules", "decisions", "memories", "projects", "runs", "usage", "documents"}
    assert {name.removesuffix(".json") for name in found} >= expected
    assert json.loads(found["profile.json"])["email"] == alice.email
    assert [message["text"] for message in json.loads(found[talk])] == [f"What is {SECRET}?", f"An island: {SECRET}"]
    assert f"An island: {SECRET}" in found[talk.replace(".json", ".md")].decode()
    assert found[f"documents/{SECRET}.txt"] == f"All about {SECRET}.".encode()
    assert found[f"files/mine/notes/{SECRET}.md"] == SECRET.encode()
    assert json.loads(found["usage.json"])[0]["prompt_tokens"] == 12
    assert str(kept.run.pk) in found["runs.json"].decode()
    everything = b"".join(found.values()).decode()
    assert "sealed" not in everything
    assert alice.password not in everything
    assert "charlie@" not in everything
    assert charlies_page.get(f"{DATA}export/{export.pk}/").status_code == 404
    assert Client().get(f"{DATA}export/{export.pk}/")["Location"].startswith("/accounts/login/")
    assert [message.to for message in mail.outbox] == [[alice.email]]
    assert "/settings/data/" in mail.outbox[0].body


def test_one_is_made_at_a_time_and_a_newer_one_takes_its_place(alice: Any, alices_page: Client) -> None:
    first = exporting.ask(alice)
    with pytest.raises(Conflict):
        exporting.ask(alice)
    exporting.make(first.pk)
    exporting.make(first.pk)
    second = made_for(alice)
    of_the_first = alices_page.get(f"{DATA}export/{first.pk}/").status_code
    go_on_with_exports()
    sweep_letters()

    first.refresh_from_db()
    assert of_the_first == 404
    assert (first.state, second.state) == (ExportState.ENDED, ExportState.READY)
    assert default_storage.listdir(f"{exporting.FOLDER}/{alice.pk}")[1] == [f"{second.pk}-1-1.zip"]
    assert len(mail.outbox) == 2


def test_whoever_was_promised_a_mail_gets_it_though_the_older_file_cannot_be_removed(alice: Any) -> None:
    first = made_for(alice)
    # A folder with something in it is not removed as a file is.
    DataExport.objects.filter(pk=first.pk).update(stored_as=f"{exporting.FOLDER}/{alice.pk}")

    second = made_for(alice)
    go_on_with_exports()
    sweep_letters()

    assert (second.state, len(mail.outbox)) == (ExportState.READY, 2)


@pytest.mark.threat("T04")
@pytest.mark.parametrize("leave", [True, False], ids=["mails leave", "none leave"])
def test_a_mail_is_promised_where_mails_leave(alices_page: Client, settings: Any, leave: bool) -> None:
    server = type(settings.CONFIG.email_url)("smtp://localhost:25" if leave else "consolemail://")
    settings.CONFIG = settings.CONFIG.model_copy(update={"email_url": server})

    said = [alices_page.post(f"{DATA}export/", follow=True).content.decode() for _ in range(2)]

    assert [text.count("You are told by mail when it is ready.") for text in said] == [leave, 2 * leave]
    assert [text.count("It is here when it is ready.") for text in said] == [not leave, 2 * (not leave)]


def test_the_link_ends_after_seven_days_and_the_file_with_it(alice: Any, alices_page: Client) -> None:
    export = made_for(alice)
    assert export.ends_at is not None
    assert export.finished_at is not None
    days = (export.ends_at - export.finished_at).days
    DataExport.objects.update(ends_at=timezone.now() - timedelta(seconds=1))

    refused = alices_page.get(f"{DATA}export/{export.pk}/")
    exporting.go_on()

    export.refresh_from_db()
    assert (days, refused.status_code, export.state) == (7, 404, ExportState.ENDED)
    assert default_storage.listdir(f"{exporting.FOLDER}/{alice.pk}")[1] == []


@pytest.mark.slow
def test_an_export_whose_file_cannot_be_removed_holds_up_nothing_else(alice: Any, bob: Any, charlie: Any) -> None:
    before, ending, after = (made_for(user) for user in (alice, bob, charlie))
    erased = User.objects.create_user("dora@example.org", None)
    closing.close(erased, by=erased)
    OrmQ.objects.all().delete()
    # A folder with something in it is not removed as a file is.
    for stuck in (before, after):
        DataExport.objects.filter(pk=stuck.pk).update(stored_as=f"{exporting.FOLDER}/{stuck.user_id}")
    DataExport.objects.update(ends_at=timezone.now() - timedelta(seconds=1))

    go_on_with_exports()
    go_on_with_farewells()

    states = dict(DataExport.objects.values_list("pk", "state"))
    assert states == {before.pk: ExportState.READY, ending.pk: ExportState.ENDED, after.pk: ExportState.READY}
    assert [(job.task["func"], job.task["args"]) for job in OrmQ.objects.all()] == [(closing.ERASE, (str(erased.pk),))]


def test_a_job_that_was_killed_is_taken_up_again_and_one_that_always_dies_is_given_up(alice: Any) -> None:
    export = exporting.ask(alice)
    killed = DataExport.objects.filter(pk=export.pk)
    killed.update(lease_until=timezone.now() + timedelta(minutes=1), tries=1)
    exporting.make(export.pk)
    held = killed.get().state

    killed.update(lease_until=timezone.now() - timedelta(seconds=1), tries=exporting.MOST_TRIES)
    exporting.make(export.pk)

    export.refresh_from_db()
    assert (held, export.state) == (ExportState.WAITING, ExportState.FAILED)
    assert "could not be finished" in export.problem


@pytest.mark.slow
@pytest.mark.spec("B21")
def test_more_than_one_job_has_time_for_comes_in_several_files_which_have_all_of_it(
    alice: Any, charlie: Any, alices_page: Client
) -> None:
    keep_something_of(alice, charlie)
    for number in range(12):
        documents.add(alice, io.BytesIO(f"text {number}".encode()), filename=f"{number % 4}.txt")
        if number < 3:
            conversations.say_in_new(alice, conversations.Question(f"question {number}"))
    at_once = unpacked(alices_page, made_for(alice))
    export = exporting.ask(alice)

    jobs = 0
    while DataExport.objects.get(pk=export.pk).state == ExportState.WAITING:
        exporting.make(export.pk, work_s=0)
        jobs += 1
        assert jobs < 100
    export.refresh_from_db()
    files = exporting.files_of(export)
    page = alices_page.get(DATA).content.decode()
    found = [unpacked(alices_page, export, number) for number in range(1, len(files) + 1)]

    assert jobs > 12
    assert export.state == ExportState.READY
    assert len(files) > 12 > exporting.MOST_TRIES
    assert export.size_bytes == sum(size for _name, size in files)
    assert f"Download file {len(files)} of {len(files)}" in page
    names = [name for one in found for name in one]
    assert len(names) == len(set(names)) == len(at_once)
    contents = sorted(content for one in found for content in one.values() if b"Made on" not in content)
    assert contents == sorted(content for content in at_once.values() if b"Made on" not in content)
    assert alices_page.get(f"{DATA}export/{export.pk}/?file={len(files) + 1}").status_code == 404
    assert alices_page.get(f"{DATA}export/{export.pk}/?file=x").status_code == 404

    exporting.go_on()
    exporting.end(export)
    assert default_storage.listdir(f"{exporting.FOLDER}/{alice.pk}")[1] == []


def test_a_file_of_an_export_that_another_job_made_meanwhile_goes(alice: Any) -> None:
    """As of a process that stood still for longer than its lease."""
    export = exporting.ask(alice)
    exporting.make(export.pk, work_s=0)
    held = exporting._taken(export.pk)
    assert held is not None
    DataExport.objects.update(lease_until=timezone.now() - timedelta(seconds=1))

    exporting.make(export.pk)
    exporting._write_next(held, until=0)
    exporting._go_on_later(held)

    export.refresh_from_db()
    kept = {name.rpartition("/")[2] for name, _size in exporting.files_of(export)}
    assert (export.state, len(kept)) == (ExportState.READY, 2)
    assert set(default_storage.listdir(f"{exporting.FOLDER}/{alice.pk}")[1]) == kept


def test_names_lead_nowhere_and_are_given_once() -> None:
    file = io.BytesIO()
    archive = Archive(file)
    for name in ("documents/a.txt", "documents/A.txt", "documents/../../etc/passwd", "/etc/passwd", 'x/<b>"\\c'):
        archive.text(name, "x")
    archive.close()

    names = zipfile.ZipFile(file).namelist()
    assert names == ["documents/a.txt", "documents/A (2).txt", "documents/etc/passwd", "etc/passwd", "x/_b___c"]
    assert len(safe_path(f"{'n' * 400}.pdf")) < 200


@pytest.mark.parametrize(
    ("path", "safe"),
    [
        (f"documents/{'報' * 110}.xlsx", f"documents/{'報' * 58}.xlsx"),
        ("files/CON", "files/_CON"),
        ("aux.txt/Nul.md", "_aux.txt/_Nul.md"),
        ("com1.tar.gz", "_com1.tar.gz"),
        ("console/auxiliary.txt", "console/auxiliary.txt"),
    ],
)
def test_every_system_can_write_a_name(path: str, safe: str) -> None:
    """Disks count bytes, and some names are devices on Windows."""
    assert safe_path(path) == safe


def test_what_is_large_is_never_whole_in_memory() -> None:
    """64 MB here; nothing in it knows the size. A gigabyte took as little, and nine seconds (measured once)."""

    class Endless(io.RawIOBase):
        left = 64 << 20

        def read(self, size: int = -1) -> bytes:
            self.left -= (count := min(size, self.left))
            return bytes(count)

    class Nowhere(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            return len(data)

    archive = Archive(Nowhere())  # type: ignore[arg-type]
    tracemalloc.start()
    archive.copy("large.bin", Endless())  # type: ignore[arg-type]
    archive.close()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 4 << 20
