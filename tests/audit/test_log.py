"""The log itself: written once, in order, whole; names go, the chain stays; what is cut is cut from its beginning."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, connections, transaction
from django.db.models import F

from hyperagent.audit import reading, retention, verifying
from hyperagent.audit.forgetting import forget, network_of
from hyperagent.audit.models import AuditCut, AuditEvent
from hyperagent.audit.origin import Origin, coming_from
from hyperagent.audit.recording import Actor, Target, actor_of, record
from hyperagent.audit.sealing import seal

pytestmark = pytest.mark.django_db


@contextmanager
def without_guards() -> Iterator[None]:
    """As whoever owns the database may."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE audit_event DISABLE TRIGGER USER")
        yield
        cursor.execute("ALTER TABLE audit_event ENABLE TRIGGER USER")


def faults(**noted: Any) -> list[tuple[int, str]]:
    return [(fault.number, fault.what) for fault in verifying.verify(**noted)]


@pytest.mark.spec("B21")
def test_the_database_refuses_whatever_would_change_or_remove_an_event(alice: Any, write: Callable[..., None]) -> None:
    write(alice, 2)
    seal()
    row = AuditEvent.objects.first()
    assert row is not None
    refused: list[str] = []

    def tried(change: Callable[[], Any]) -> None:
        with pytest.raises(DatabaseError) as refusal, transaction.atomic():
            change()
        refused.append(str(refusal.value).splitlines()[0])

    def run(statement: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(statement)

    tried(lambda: AuditEvent.objects.update(kind="sign_in.succeeded"))
    tried(lambda: AuditEvent.objects.update(actor_name="Somebody else"))
    tried(lambda: AuditEvent.objects.update(actor_name="deleted user abcd"))
    tried(lambda: AuditEvent.objects.update(actor_name="deleted user abcd", actor_salt=None, kind="x"))
    tried(lambda: AuditEvent.objects.update(number=F("number") + 10))
    tried(lambda: AuditEvent.objects.all().delete())
    tried(lambda: run("TRUNCATE audit_event"))
    tried(lambda: AuditEvent.objects.create(kind="x", number=9, hash=bytes(32), actor_digest=b"", target_digest=b""))
    AuditCut.objects.create(number=1, hash=bytes(row.hash or b""), kept_days=1)
    tried(lambda: AuditEvent.objects.all().delete())
    tried(lambda: AuditCut.objects.all().delete())
    tried(lambda: AuditCut.objects.update(number=2))

    assert len(refused) == 11
    assert all("audit" in words for words in refused), refused


@pytest.mark.spec("B21")
def test_what_was_changed_behind_the_databases_back_is_found(alice: Any, write: Callable[..., None]) -> None:
    write(alice, 5, name="laptop")
    seal()
    noted = verifying.end()
    whole = faults(noted=noted)

    with without_guards():
        AuditEvent.objects.filter(number=2).update(details={"n": 7})
        AuditEvent.objects.filter(number=3).update(actor_name="charlie@example.org")
        AuditEvent.objects.filter(number=4).update(target_name="deleted by me", target_salt=None)
    changed = faults()
    with without_guards():
        AuditEvent.objects.filter(number__in=(2, 5)).delete()
    removed = faults(noted=noted)

    assert whole == []
    assert [number for number, _what in changed] == [2, 3, 4]
    assert "who did it" in changed[1][1]
    assert removed[0] == (2, "is missing; the next one is 3")
    assert (4, "the log ends here, and 5 events were sealed") in removed
    assert (5, "is not there with the hash that was noted") in removed


def test_the_command_tells_where_the_log_ends_and_fails_where_it_was_changed(
    alice: Any, write: Callable[..., None], capsys: Any
) -> None:
    write(alice, 3)
    seal()
    finish = verifying.end()
    call_command("verify_log", "--audit", "--noted", f"{finish.number}:{finish.hash}")
    said = capsys.readouterr().out
    with pytest.raises(CommandError, match="no end of the log"):
        call_command("verify_log", "--audit", "--noted", "x")
    with without_guards():
        AuditEvent.objects.filter(number=1).update(kind="sign_out ")

    with pytest.raises(SystemExit):
        call_command("verify_log", "--audit")

    assert f"3 audit events, 0 faults; the log ends at 3:{finish.hash}" in said
    assert "audit event 1: was changed" in capsys.readouterr().err


def test_what_is_rolled_back_leaves_no_event(alice: Any) -> None:
    with transaction.atomic():
        record("sign_out", actor=actor_of(alice))
        transaction.set_rollback(True)

    assert reading.after(0) == []


def test_a_kind_that_nobody_knows_is_refused(alice: Any) -> None:
    with pytest.raises(ValueError, match=r"sign_in\.sideways"):
        record("sign_in.sideways", actor=actor_of(alice))


@pytest.mark.django_db(transaction=True)
@pytest.mark.spec("B21")
def test_no_writer_waits_for_another_and_a_late_one_gets_a_later_number(alice: Any) -> None:
    wrote, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        with transaction.atomic():
            record("token.made", actor=actor_of(alice))
            wrote.set()
            assert go_on.wait(20)
        connections.close_all()

    thread = threading.Thread(target=slow)
    thread.start()
    try:
        assert wrote.wait(20)
        record("sign_out", actor=actor_of(alice))
        first = [(row.number, row.kind) for row in reading.after(0)]
    finally:
        go_on.set()
        thread.join(20)
    then = [(row.number, row.kind) for row in reading.after(1)]

    assert (first, then) == ([(1, "sign_out")], [(2, "token.made")])
    assert faults() == []


@pytest.mark.django_db(transaction=True)
def test_many_that_seal_at_once_give_each_event_one_number(alice: Any, write: Callable[..., None]) -> None:
    write(alice, 40)

    def once() -> None:
        seal()
        connections.close_all()

    threads = [threading.Thread(target=once) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert [row.number for row in reading.after(0)] == list(range(1, 41))
    assert faults() == []


@pytest.mark.spec("B21")
@pytest.mark.spec("S148")
def test_a_name_is_forgotten_and_the_chain_still_holds(alice: Any, charlie: Any) -> None:
    with coming_from(Origin("203.0.113.77", "Firefox on Linux")):
        record("token.made", actor=actor_of(alice), target=Target("api_token", "t", "Alice's laptop"))
    record("role.given", actor=actor_of(charlie), target=Target("user", str(alice.pk), alice.email))
    record("role.given", actor=actor_of(alice), target=Target("user", str(charlie.pk), charlie.email))
    seal()

    while forget(alice.pk, name="deleted user 3f2a", limit=1):
        pass

    told = [(row.actor_name, row.target_name, row.address) for row in reading.after(0)]
    assert told == [
        ("deleted user 3f2a", "", "203.0.113.0/24"),
        (charlie.email, "deleted user 3f2a", ""),
        ("deleted user 3f2a", charlie.email, ""),
    ]
    assert {row.actor_id for row in reading.after(0)} == {alice.pk, charlie.pk}
    assert faults() == []


def test_an_address_is_cut_to_its_network() -> None:
    found = [network_of(text) for text in ("203.0.113.77", "2001:db8:1:2::3", "203.0.113.0/24", "", "unix")]

    assert found == ["203.0.113.0/24", "2001:db8:1::/48", "", "", ""]


@pytest.mark.spec("B21")
def test_what_is_older_than_its_days_is_cut_from_the_beginning_and_the_rest_is_whole(
    alice: Any, write: Callable[..., None]
) -> None:
    write(alice, 3)
    seal()
    with without_guards():
        # Back in time, with hashes as they would be then.
        AuditEvent.objects.update(number=None, hash=None, at=F("at") - timedelta(days=40))
        connection.cursor().execute("DELETE FROM audit_head")
    write(alice, 2)
    seal()

    never, gone, again = retention.cut_off(0), retention.cut_off(30), retention.cut_off(30)
    rows = reading.after(0)

    assert (never, gone, again) == (0, 3, 0)
    assert [(row.number, row.kind) for row in rows] == [(4, "sign_out"), (5, "sign_out"), (6, "retention.ran")]
    assert faults() == []


def test_texts_are_cut_and_cleaned(alice: Any) -> None:
    long = Actor(alice.pk, "a" * 400)
    record("sign_out", actor=long, target=Target("t", "i", "x\x00y\ud800"), details={"k": ["\x00"]})

    (row,) = reading.after(0)
    assert (len(row.actor_name), row.target_name, row.details) == (254, "x\ufffdy\ufffd", {"k": ["\ufffd"]})
    assert faults() == []
