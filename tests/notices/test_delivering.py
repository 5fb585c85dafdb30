"""Webhooks as their receivers see them: real HTTP on loopback, with receivers that fail, hang, flood and lie."""

import ssl
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from django.db import connection
from django.utils import timezone

from hyperagent.lib.outside import posting
from hyperagent.notices import actions, delivering
from hyperagent.notices.kinds import DELIVERY_PAUSES_S, EventType
from hyperagent.notices.models import Delivery, Endpoint, Mail
from hyperagent.notices.tasks import deliver, prune, sweep_deliveries
from tests.notices.conftest import later
from tests.notices.receiver import Receiver, says

pytestmark = pytest.mark.django_db
SECOND = timedelta(seconds=1)
Add = Callable[..., tuple[Any, str]]


def emit(user: Any, count: int = 1) -> list[Delivery]:
    ids = [uuid.uuid4() for _ in range(count)]
    for subject_id in ids:
        actions.emit(EventType.RUN_COMPLETED, user_id=user.pk, subject_id=subject_id, payload={"id": str(subject_id)})
    return list(Delivery.objects.order_by("created_at", "id"))


def only() -> Delivery:
    return Delivery.objects.get()


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for a receiver that hangs gives up sooner."""
    monkeypatch.setattr(posting, "TIMEOUT_S", 4.0)


@pytest.mark.spec("B22")
def test_the_receiver_gets_the_event_once_and_can_check_who_sent_it(add: Add, alice: Any, receiver: Receiver) -> None:
    _, secret = add(alice, receiver.url)
    (delivery,) = emit(alice)

    deliver(str(delivery.pk))
    deliver(str(delivery.pk))
    sweep_deliveries()

    (got,) = receiver.got
    assert got.event == delivery.payload
    assert got.headers["content-type"] == "application/json"
    assert got.headers["webhook-id"] == delivery.event_id
    assert abs(int(got.headers["webhook-timestamp"]) - time.time()) < 60
    assert got.is_signed_with(secret)
    assert not got.is_signed_with(actions.add_endpoint(alice, url=receiver.url, events=["run.failed"])[1])
    assert (only().status, only().attempts, only().last_status_code) == ("delivered", 1, 204)


@pytest.mark.spec("B22")
def test_what_fails_is_tried_again_with_growing_pauses_under_the_same_id_and_then_given_up(
    add: Add, alice: Any, receiver: Receiver
) -> None:
    receiver.answers = [says(503, "not now")] * 20
    _, secret = add(alice, receiver.url)
    emit(alice)
    waited: list[float] = []

    for pause_s in (*DELIVERY_PAUSES_S, 10, 10):
        sweep_deliveries()
        tried = only()
        if tried.status == "failed":
            assert tried.last_attempt_at is not None
            waited.append(round((tried.next_attempt_at - tried.last_attempt_at).total_seconds(), -1 if waited else 0))
        later(max(pause_s, delivering.REST_S) + 1)

    assert waited[0] == pytest.approx(5, abs=1)
    assert waited[1:] == list(DELIVERY_PAUSES_S[1:])
    assert len(receiver.got) == len(DELIVERY_PAUSES_S) + 1
    assert {(got.headers["webhook-id"], got.body) for got in receiver.got} == {(only().event_id, receiver.got[0].body)}
    assert all(got.is_signed_with(secret) for got in receiver.got)
    assert (only().status, only().last_status_code, only().response_head) == ("given_up", 503, "not now")
    assert "Answered 503" in only().last_error


def test_what_is_not_due_is_left_alone(add: Add, alice: Any, receiver: Receiver) -> None:
    receiver.answers = [says(500)]
    add(alice, receiver.url)
    (delivery,) = emit(alice)
    deliver(str(delivery.pk))

    deliver(str(delivery.pk))
    sweep_deliveries()

    assert len(receiver.got) == 1


def test_a_receiver_that_recovers_gets_everything_that_waited(add: Add, alice: Any, receiver: Receiver) -> None:
    receiver.answers = [says(500)]
    add(alice, receiver.url)
    first, *rest = emit(alice, 5)
    deliver(str(first.pk))
    for waiting in rest:
        deliver(str(waiting.pk))
    assert len(receiver.got) == 1, "while it rests, its other deliveries cost nothing"

    later(60)
    sweep_deliveries()

    assert set(Delivery.objects.values_list("status", flat=True)) == {"delivered"}
    assert {got.headers["webhook-id"] for got in receiver.got} == {one.event_id for one in (first, *rest)}
    assert Endpoint.objects.get().failing_since is None


@pytest.mark.slow
def test_a_receiver_that_hangs_is_left_after_seconds_and_holds_nobody_up(
    add: Add, alice: Any, bob: Any, receiver: Receiver, soon: None
) -> None:
    slow, quick = Receiver(), receiver
    slow.answers = [slow.hang] * 50
    add(alice, slow.url)
    add(bob, quick.url)
    emit(alice, 20)
    emit(bob, 1)

    sweep_deliveries()
    at_first = _tries_of(alice)
    later(60)
    sweep_deliveries()
    slow.stop()

    assert at_first == 20, "they are sent at once, before anybody knows that it hangs"
    assert _tries_of(alice) == 21, "after that, one at a time"
    assert len(quick.got) == 1
    errors = Delivery.objects.filter(endpoint__user=alice).values_list("last_error", flat=True)
    assert set(errors) == {"No answer within 4 seconds."}


@pytest.mark.slow
def test_of_a_receiver_that_was_away_for_long_no_more_is_read_than_is_sent(add: Add, alice: Any, bob: Any) -> None:
    away, _ = add(alice, "http://127.0.0.1:9/away")
    there, _ = add(bob, "http://127.0.0.1:9/there")
    began = timezone.now() - timedelta(days=2)
    kinds: dict[str, Any] = {"type": EventType.RUN_COMPLETED, "payload": {}, "next_attempt_at": began}
    Delivery.objects.bulk_create(
        Delivery(endpoint=endpoint, event_id=f"{status} {n}", status=status, created_at=began + n * SECOND, **kinds)
        for endpoint, status, count in ((away, "delivered", 2_000), (away, "pending", 2_000), (there, "pending", 1))
        for n in range(count)
    )
    Endpoint.objects.filter(pk=away.pk).update(failing_since=began)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE notices_delivery")
        cursor.execute("SAVEPOINT before")
        values = {"limit": delivering.AT_ONCE, "lease": delivering.LEASE_S}
        sql = delivering._TAKE.format(wanted=delivering._OLDEST)
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", values)
        ((plan,),) = cursor.fetchall()
        cursor.execute("ROLLBACK TO SAVEPOINT before")

    taken = delivering._take()

    assert {(one.endpoint_id, one.event_id) for one in taken} == {
        (away.pk, "pending 0"),
        (there.pk, "pending 0"),
    }
    assert _rows_read(plan[0]["Plan"]) < 20


def _rows_read(node: dict[str, Any]) -> float:
    """Of the deliveries."""
    own = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
    below = sum(_rows_read(child) for child in node.get("Plans", []))
    return below + (own if node.get("Relation Name") == "notices_delivery" else 0)


def _tries_of(user: Any) -> int:
    return sum(Delivery.objects.filter(endpoint__user=user).values_list("attempts", flat=True))


@pytest.mark.slow
def test_an_answer_that_never_ends_is_not_waited_for(add: Add, alice: Any, receiver: Receiver, soon: None) -> None:
    receiver.answers = [receiver.drip]
    add(alice, receiver.url)
    emit(alice)

    sweep_deliveries()

    assert (only().status, only().last_error) == ("failed", "No answer within 4 seconds.")


def test_of_an_answer_without_measure_only_the_beginning_is_read(add: Add, alice: Any, receiver: Receiver) -> None:
    receiver.answers = [receiver.flood]
    add(alice, receiver.url)
    emit(alice)

    sweep_deliveries()

    assert (only().status, only().response_head) == ("delivered", "x" * 500)
    # What the sockets' buffers take; the rest stays with the receiver.
    assert receiver.flooded < 30_000_000


@pytest.mark.spec("B22")
def test_a_redirect_is_not_followed(add: Add, alice: Any, receiver: Receiver) -> None:
    other = Receiver()
    receiver.answers = [says(307, location=other.url)]
    add(alice, receiver.url)
    emit(alice)

    sweep_deliveries()
    other.stop()

    assert other.got == []
    assert (only().status, only().last_status_code) == ("failed", 307)
    assert "Redirects are not followed" in only().last_error


def test_a_packed_answer_is_not_unpacked(add: Add, alice: Any, receiver: Receiver) -> None:
    receiver.answers = [says(200, "not gzip at all", content_encoding="gzip")]
    add(alice, receiver.url)
    emit(alice)

    sweep_deliveries()

    assert (only().status, only().response_head) == ("delivered", "not gzip at all")


def test_a_certificate_that_nobody_vouches_for_is_refused(add: Add, alice: Any, tmp_path: Path) -> None:
    receiver = Receiver(tls=_own_certificate(tmp_path))
    add(alice, receiver.url)
    emit(alice)

    sweep_deliveries()
    receiver.stop()

    assert receiver.got == []
    assert "certificate is not valid" in only().last_error


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("http://127.0.0.1:1/", "No connection to 127.0.0.1"),
        ("https://{receiver}/", "No encrypted connection"),
        ("http://no-such-host.invalid/", "cannot be resolved"),
    ],
)
def test_the_log_says_in_words_why_nothing_was_delivered(
    add: Add, alice: Any, receiver: Receiver, url: str, error: str
) -> None:
    add(alice, url.format(receiver=f"127.0.0.1:{receiver.port}"))
    emit(alice)

    sweep_deliveries()

    assert error in only().last_error
    assert only().last_status_code is None


@pytest.mark.spec("B22")
@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]", "127。0。0。1", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ"]
)
def test_nothing_within_our_networks_is_reached_whatever_its_name_says(
    add: Add, alice: Any, receiver: Receiver, settings: Any, host: str
) -> None:
    """Entered while the setting allowed it, or named so that only DNS knows what it means."""
    add(alice, f"http://{host}:{receiver.port}/")
    settings.WEBHOOK_ALLOW_PRIVATE = False
    emit(alice)

    sweep_deliveries()

    assert receiver.got == []
    assert only().status == "failed"
    assert "private network" in only().last_error


def test_a_proxy_of_the_environment_is_not_used(
    add: Add, alice: Any, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = Receiver()
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy.url)
    add(alice, receiver.url)
    emit(alice)

    sweep_deliveries()
    proxy.stop()

    assert (len(receiver.got), proxy.got) == (1, [])


@pytest.mark.spec("B22")
def test_who_died_while_sending_is_followed_by_another_with_the_same_id(
    add: Add, alice: Any, receiver: Receiver
) -> None:
    add(alice, receiver.url)
    (delivery,) = emit(alice)
    dead = delivering._take()
    sweep_deliveries()
    assert receiver.got == [], "it is held by whoever took it"

    later(delivering.LEASE_S)
    sweep_deliveries()

    assert [got.headers["webhook-id"] for got in receiver.got] == [delivery.event_id]
    assert (only().status, only().attempts, dead[0].attempt) == ("delivered", 2, 1)


def test_late_news_of_an_older_try_change_nothing(add: Add, alice: Any, receiver: Receiver) -> None:
    add(alice, receiver.url)
    emit(alice)
    (frozen,) = delivering._take()
    later(delivering.LEASE_S)
    (_,) = delivering._take()
    before = Delivery.objects.values().get()

    delivering._record(frozen, posting.Answer(500, "late", "late"))

    assert Delivery.objects.values().get() == before
    assert Endpoint.objects.get().failing_since is None


@pytest.mark.spec("B22")
def test_an_endpoint_that_failed_for_days_is_switched_off_and_its_owner_is_told(
    add: Add, alice: Any, charlie: Any, receiver: Receiver, mailoutbox: list[Any]
) -> None:
    receiver.answers = [says(500)] * 20
    endpoint, _ = add(alice, receiver.url)
    add(charlie, "https://example.org/charlies")
    emit(alice, 2)
    for _ in range(3):
        sweep_deliveries()
        later(86_400 * 2)

    sweep_deliveries()

    endpoint.refresh_from_db()
    assert not endpoint.enabled
    assert "5 days" in endpoint.disabled_why
    assert set(Delivery.objects.values_list("status", flat=True)) == {"given_up"}
    assert actions.emit(EventType.RUN_FAILED, user_id=alice.pk, subject_id="x", payload={}) == 0
    (mail,) = Mail.objects.all()
    assert (mail.user, mail.kind) == (alice, "webhook_disabled")
    assert mail.path == f"/settings/webhooks/{endpoint.pk}/"


@pytest.mark.parametrize("asked", [False, True], ids=["by itself", "by a person"])
def test_an_endpoint_to_which_nothing_was_sent_for_long_is_not_switched_off_for_its_next_failure(
    add: Add, alice: Any, receiver: Receiver, asked: bool
) -> None:
    receiver.answers = [says(500)] * 20
    endpoint, _ = add(alice, receiver.url)
    emit(alice)
    for pause_s in (*DELIVERY_PAUSES_S, 10):
        sweep_deliveries()
        later(max(pause_s, delivering.REST_S) + 1)
    assert only().status == "given_up"
    later(86_400 * 20)

    if asked:
        actions.send_test(Endpoint.objects.get())
    else:
        emit(alice)
    sweep_deliveries()

    endpoint.refresh_from_db()
    assert endpoint.enabled
    assert endpoint.failing_since is not None
    assert sorted(Delivery.objects.values_list("status", flat=True)) == ["failed", "given_up"]


def test_one_that_says_gone_is_switched_off_at_once(add: Add, bob: Any, receiver: Receiver) -> None:
    receiver.answers = [says(410)]
    endpoint, _ = add(None, receiver.url)
    emit(bob)

    sweep_deliveries()

    endpoint.refresh_from_db()
    assert "Gone" in endpoint.disabled_why
    assert [mail.user for mail in Mail.objects.all()] == [bob], "administrators are told of the installation's"


def test_switched_on_again_it_begins_anew(add: Add, alice: Any, receiver: Receiver) -> None:
    receiver.answers = [says(410)]
    endpoint, _ = add(alice, receiver.url)
    emit(alice)
    sweep_deliveries()

    actions.change_endpoint(endpoint, enabled=True)
    emit(alice)
    sweep_deliveries()

    assert sorted(Delivery.objects.values_list("status", flat=True)) == ["delivered", "given_up"]
    assert Endpoint.objects.get().disabled_why == ""


def test_a_delivery_is_sent_again_when_a_person_asks(add: Add, alice: Any, receiver: Receiver) -> None:
    add(alice, receiver.url)
    (delivery,) = emit(alice)
    sweep_deliveries()

    actions.deliver_again(only())
    sweep_deliveries()

    first, second = receiver.got
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == delivery.event_id
    assert (only().status, only().attempts) == ("delivered", 2)


def test_a_secret_that_cannot_be_read_any_more_is_told_and_stops_nobody_else(
    add: Add, alice: Any, bob: Any, receiver: Receiver, settings: Any
) -> None:
    add(alice, receiver.url)
    settings.SECRET_KEY = "another key, as long as the first one was"
    add(bob, receiver.url)
    emit(alice)
    emit(bob)

    sweep_deliveries()

    assert len(receiver.got) == 1
    assert "SECRET_KEY was changed" in Delivery.objects.get(endpoint__user=alice).last_error


def test_who_was_deactivated_gets_nothing_that_waited(add: Add, alice: Any, receiver: Receiver) -> None:
    add(alice, receiver.url)
    emit(alice)
    alice.is_active = False
    alice.save()

    sweep_deliveries()

    assert receiver.got == []


def test_what_a_receiver_says_is_kept_as_text_and_cut(add: Add, alice: Any, receiver: Receiver) -> None:
    receiver.answers = [says(400, "<script>alert(1)</script>\x00" + "y" * 5000)]
    add(alice, receiver.url)
    emit(alice)

    sweep_deliveries()

    assert only().response_head.startswith("<script>alert(1)</script>\ufffdy")
    assert len(only().response_head) == 500


def test_the_log_is_forgotten_after_months_and_what_waits_is_not(add: Add, alice: Any, receiver: Receiver) -> None:
    endpoint, _ = add(alice, receiver.url)
    emit(alice)
    sweep_deliveries()
    emit(alice)
    deleted, _ = add(alice, receiver.url)
    actions.delete_endpoint(deleted)
    old = datetime.now(UTC) - timedelta(days=100)
    Delivery.objects.update(created_at=old)
    Endpoint.objects.filter(pk=deleted.pk).update(deleted_at=old)

    prune()

    assert only().status == "pending"
    assert Endpoint.objects.get() == endpoint


def test_many_due_deliveries_are_taken_by_two_sweeps_at_once_without_a_double(
    add: Add, alice: Any, receiver: Receiver
) -> None:
    add(alice, receiver.url)
    emit(alice, 5)

    first = delivering._take()
    second = delivering._take()

    assert (len(first), len(second)) == (5, 0)


def _own_certificate(folder: Path) -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    (folder / "certificate.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    return context
