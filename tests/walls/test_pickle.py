"""T24: whoever can write into Postgres or Redis gets nothing run: a canary lies wherever something is read."""

import base64
import pickle
import zlib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
from django.conf import settings as django_settings
from django.contrib.sessions.models import Session
from django.contrib.sessions.serializers import JSONSerializer
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from django.utils.module_loading import import_string
from django_q.brokers import get_broker
from django_q.models import OrmQ, Schedule
from django_q.signing import SignedPackage

from hitl import tasks
from hyperagent.lib import queue
from hyperagent.lib.conf import BASE_DIR
from tests.faces.conftest import _quick_hashes, api_of
from tests.house import jobs

__all__ = ["_quick_hashes", "api_of"]

pytestmark = [pytest.mark.threat("T24"), pytest.mark.django_db]


class Touch:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (open, (str(self.path), "w"))


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    return tmp_path / "canary"


@pytest.fixture
def pickled(canary: Path) -> bytes:
    whole = pickle.dumps(Touch(canary))
    pickle.loads(whole).close()
    assert canary.exists(), "it works"
    canary.unlink()
    return whole


def test_a_job_that_we_did_not_sign_is_thrown_away_unread(pickled: bytes, canary: Path) -> None:
    plain = base64.urlsafe_b64encode(pickled).decode()
    packed = "." + base64.urlsafe_b64encode(zlib.compress(pickled)).decode()
    strange = SignedPackage.dumps({"func": "tests.house.jobs.leave_mark", "args": (), "kwargs": {}})[:-4] + "aaaa"
    for payload in (
        plain,
        packed,
        f"{plain}:1:1",
        f"{packed}:abc:def",
        "",
        "x",
        pickled.decode("latin-1").replace("\x00", "0"),
    ):
        OrmQ.objects.create(key="hyperagent", payload=payload, lock=timezone.now())
    OrmQ.objects.create(key="hyperagent", payload=strange, lock=timezone.now())

    taken = [get_broker()._take() for _ in range(8)]

    assert taken == [[]] * 8
    assert not OrmQ.objects.exists()
    assert not canary.exists()


def test_a_job_of_ours_is_taken_as_it_is(tmp_path: Path) -> None:
    queue.enqueue("tests.house.jobs.leave_mark", str(tmp_path / "mark"))

    ((_key, payload),) = get_broker()._take()

    assert SignedPackage.loads(payload)["args"] == (str(tmp_path / "mark"),)
    assert jobs.leave_mark.__module__ == "tests.house.jobs"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("func", "args", "hook"),
    [
        ("os.system", "('touch {canary}',)", None),
        ("subprocess.run", "(['touch', '{canary}'],)", None),
        ("builtins.exec", '(\'open("{canary}", "w")\',)', None),
        ("tests.house.jobs.not_a_task", "('{canary}',)", None),
        ("tests.house.jobs.leave_mark", "(['{canary}'],)", None),
        ("tests.house.jobs.leave_mark", "('x',)", "os.system"),
    ],
)
def test_the_clock_of_the_queue_runs_what_the_code_says_whatever_its_table_says(
    func: str, args: str, hook: str | None, canary: Path
) -> None:
    timed = f"{tasks.__name__}.{tasks.end_overdue.__name__}"
    due = timezone.now() - timedelta(seconds=1)
    for name in ("forged", func, timed):
        Schedule.objects.create(
            name=name, func=func, args=args.format(canary=canary), hook=hook, next_run=due, minutes=1, repeats=-1
        )

    queue.enqueue_due()

    (payload,) = OrmQ.objects.values_list("payload", flat=True)
    job = SignedPackage.loads(payload)
    assert (job["func"], job["args"], job["kwargs"], job.get("hook")) == (timed, (), {}, None)
    assert [taken for _, taken in get_broker()._take()] == [payload]
    assert not canary.exists()


def test_a_session_that_holds_a_pickle_is_nobodys(pickled: bytes, canary: Path) -> None:
    for number, data in enumerate((base64.b64encode(pickled).decode(), f"{base64.b64encode(pickled).decode()}:1:1")):
        key = f"{'a' * 30}{number}"
        Session.objects.create(session_key=key, session_data=data, expire_date=timezone.now() + timedelta(days=1))
        client = Client()
        client.cookies[django_settings.SESSION_COOKIE_NAME] = key

        assert client.get("/settings/profile/").status_code == 302

    assert not canary.exists()


def test_what_lies_in_redis_is_json_or_nothing(pickled: bytes, canary: Path, api_of: Any, alice: Any) -> None:
    cache.set("walls", {"a": [1, "é"]})
    key = cache.make_key("walls")
    client = redis.Redis.from_url(django_settings.CACHES["default"]["LOCATION"])
    assert client.get(key) == '{"a":[1,"é"]}'.encode()

    client.set(key, pickled)

    assert cache.get("walls", []) == []
    assert cache.get_many(["walls"]) == {"walls": None}
    assert not canary.exists()
    for found in client.scan_iter(f"{cache.make_key('')}*"):
        if client.type(found) == b"string":
            client.set(found, pickled)
    assert api_of(alice).get("/api/v1/me").status_code in (200, 503)
    assert not canary.exists()
    client.delete(key, *client.scan_iter(f"{cache.make_key('')}*"))


def test_no_answer_of_a_job_is_kept_and_no_page_shows_one(client: Client, bob: Any) -> None:
    assert django_settings.Q_CLUSTER["save_limit"] == -1
    bob.is_superuser = True
    bob.save()
    client.force_login(bob)

    for table in ("task", "success", "failure", "ormq", "schedule"):
        assert client.get(f"/admin/django_q/{table}/").status_code == 404


def test_everything_else_that_is_stored_is_json() -> None:
    assert import_string(f"{django_settings.SESSION_ENGINE}.SessionStore")().serializer is JSONSerializer
    assert django_settings.CACHES["default"]["OPTIONS"]["serializer"] == "hyperagent.lib.cache.JsonSerializer"
    fields = {field for app in ("agents", "hitl", "memory", "conversations", "hyperagent") for field in _pickling(app)}
    assert fields == set()


def _pickling(app: str) -> list[str]:
    return [str(path) for path in (BASE_DIR / app).rglob("*.py") if "PickledObjectField" in path.read_text()]
