"""Two web servers, two workers, Postgres, Redis and nginx, each on a network of its own, broken on purpose."""

import asyncio
import http.client
import io
import json
import shutil
import subprocess
import time
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import httpx
import pytest

from hyperagent.lib.conf import BASE_DIR
from tests.invariants import take_overs_s
from tests.site import Follower, words
from tests.topology.people import Knocker, Watcher
from tests.topology.town import LEASE_S, Town

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(600), pytest.mark.filterwarnings("ignore:Requiring AUTH")]
# A crowded machine; on a quiet one a tenth of it is needed.
PATIENCE_S = 150.0
# Long enough that what is sent meanwhile is sent again.
SHORT_S = 2.0


@dataclass
class Load:
    """What goes on while the town is broken: runs that stream, watched by sockets, and mails that wait for a yes."""

    town: Town
    streams: list[UUID] = field(default_factory=list)
    mails: dict[UUID, str] = field(default_factory=dict)
    watchers: list[Watcher] = field(default_factory=list)
    watching: list[asyncio.Task[Any]] = field(default_factory=list)
    tokens: int = 0

    @property
    def runs(self) -> list[UUID]:
        return [*self.streams, *self.mails]

    async def begin(self, *, streams: int, tokens: int, rate: int, mails: int) -> "Load":
        town, self.tokens = self.town, tokens
        asked = [await asyncio.to_thread(town.ask_for_mail, f"m{uuid.uuid4().hex[:8]}") for _ in range(mails)]
        self.mails = await asyncio.to_thread(town.until_asked, *asked)
        for _ in range(streams):
            self.streams.append(await asyncio.to_thread(town.ask, f"say {tokens} tokens at {rate}/s"))
        self.watchers = [Watcher(town, id_) for id_ in self.streams]
        self.watching = [asyncio.create_task(watcher.watch(timeout_s=PATIENCE_S)) for watcher in self.watchers]
        for id_ in self.streams:
            await asyncio.to_thread(town.until_tokens, id_, 3)
        return self

    async def end(self, **seen: Any) -> list[str]:
        """All that is wrong when it is over."""
        town = self.town
        await asyncio.to_thread(town.until_ended, *self.runs, timeout_s=PATIENCE_S)
        streams = await asyncio.gather(*self.watching)
        resumes_s = [took_s for watcher in self.watchers for took_s in watcher.resumes_s]
        wrong = town.faults(
            self.runs, resumes_s=resumes_s, resume_within_s=PATIENCE_S / 5, slack_s=PATIENCE_S / 5, **seen
        )
        for id_, said in zip(self.streams, streams, strict=True):
            if said != town.events(id_):
                wrong.append(f"who watched {id_} saw {len(said)} events, there are {len(town.events(id_))}")
            if town.execution(id_)["answer"] != words(self.tokens):
                wrong.append(f"run {id_} answered {town.execution(id_)['answer'][-60:]!r}")
        sent = {str(mail.message["Subject"]) for mail in town.mail.arrived}
        for id_ in self.mails:
            if town.execution(id_)["question"].split()[1] not in sent:
                wrong.append(f"the mail of {id_} was approved and never arrived")
        return wrong

    def report(self) -> str:
        overs = ", ".join(f"{took_s:.1f}" for took_s in take_overs_s(self.town.env["DATABASE_URL"], self.runs))
        resumes = ", ".join(f"{took_s:.2f}" for watcher in self.watchers for took_s in watcher.resumes_s)
        return f"taken over after [{overs}] s; streams went on [{resumes}] s after they were open again"

    async def taken_from(self, worker: str) -> None:
        """Until this worker has none of the streams that go on."""
        deadline = time.monotonic() + PATIENCE_S
        while any(self.town.driver_of(id_) in ("", worker) for id_ in self.going_on()):
            assert time.monotonic() < deadline, f"nobody took over from {worker}"
            await asyncio.sleep(0.1)

    def going_on(self) -> list[UUID]:
        return [id_ for id_ in self.streams if self.town.execution(id_)["ended_at"] is None]


async def hit(town: Town, verb: str, name: str) -> None:
    await asyncio.to_thread(town.hit, verb, name)


async def approved(town: Town, request_id: str) -> None:
    """Once somebody answers; a yes that came through although its answer was lost is a yes."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            said = await asyncio.to_thread(town.approve, request_id)
        except httpx.HTTPError:
            said = None
        if said is not None and said.status_code in (200, 409):
            return
        assert time.monotonic() < deadline, said and said.text
        await asyncio.sleep(0.2)


@pytest.mark.spec("B20")
async def test_people_come_in_through_nginx_and_are_seen_as_who_they_are(town: Town) -> None:
    page = httpx.get(f"{town.base_url}/accounts/login/", timeout=60)
    id_ = await asyncio.to_thread(town.ask, "say 30 tokens at 30/s")
    watcher = Watcher(town, id_)
    by_socket, by_events = await asyncio.gather(watcher.watch(timeout_s=60), Follower(town, id_).follow())
    big = io.BytesIO(b"What sails are made of.\n" * 500_000)
    uploaded = httpx.post(
        town.url("documents"), files={"file": ("sails.txt", big, "text/plain")}, headers=town.headers, timeout=60
    )
    status, refusal = await asyncio.to_thread(_announced, town, bytes_=200_000_000)
    nowhere = f"/api/v1/{uuid.uuid4()}"
    spoofed = {"X-Forwarded-For": "203.0.113.7", "X-Request-ID": "chosen-outside"}
    lost = httpx.get(f"{town.base_url}{nowhere}", headers={**town.headers, **spoofed}, timeout=60)

    assert (page.status_code, "csrfmiddlewaretoken" in page.text) == (200, True)
    assert by_socket == by_events == town.events(id_)
    assert uploaded.status_code == 201, uploaded.text
    assert (status, refusal["error"]["code"]) == (413, "too_large")
    assert lost.status_code == 404
    line = next(line for line in town.logs().splitlines() if nowhere in line)
    assert f"ip={town.status['outside']}" in line
    assert "203.0.113.7" not in line
    assert "chosen-outside" not in line
    assert httpx.get(f"{town.base_url}/metrics", timeout=60).status_code == 403


def _announced(town: Town, *, bytes_: int) -> tuple[int, Any]:
    """What is answered to whoever says how much is coming, before any of it comes."""
    line = http.client.HTTPConnection(urlsplit(town.base_url).netloc, timeout=60)
    line.putrequest("POST", "/api/v1/documents")
    for name, value in {**town.headers, "Content-Length": str(bytes_), "Content-Type": "text/plain"}.items():
        line.putheader(name, value)
    line.endheaders()
    answer = line.getresponse()
    return answer.status, json.loads(answer.read())


@pytest.mark.spec("B1", "B2", "B6")
async def test_whatever_is_killed_no_run_and_no_mail_is_lost_and_sockets_end_with_the_same_transcript(
    town: Town,
) -> None:
    load = await Load(town).begin(streams=4, tokens=200, rate=12, mails=2)
    mails = iter(load.mails.values())

    first = town.driver_of(load.streams[0])
    await hit(town, "kill", first)
    await hit(town, "kill", "web1")
    await approved(town, next(mails))
    await load.taken_from(first)
    back = [asyncio.create_task(hit(town, "start", name)) for name in (first, "web1")]
    await hit(town, "kill", "redis")
    await hit(town, "start", "redis")
    away = datetime.now(UTC)
    await hit(town, "kill", "postgres")
    await hit(town, "start", "postgres")
    outage = (away, datetime.now(UTC))
    await hit(town, "kill", "nginx")
    await hit(town, "start", "nginx")
    await asyncio.gather(*back)
    await approved(town, next(mails))
    wrong = await load.end(outages=[outage])
    print(load.report(), wrong)
    assert wrong == []

    # Others: a run that is lost twice without a step between is a suspect, and suspects wait for each other.
    load = await Load(town).begin(streams=2, tokens=120, rate=12, mails=1)
    other = town.driver_of(load.streams[0])
    await approved(town, next(iter(load.mails.values())))
    await hit(town, "kill", other)
    await hit(town, "kill", "web2")
    wrong = await load.end()
    print(load.report(), wrong)
    assert wrong == []


@pytest.mark.spec("B1", "B2", "B6")
async def test_who_is_cut_off_loses_its_runs_writes_nothing_late_and_goes_on_when_it_is_back(town: Town) -> None:
    load = await Load(town).begin(streams=4, tokens=360, rate=12, mails=3)
    mails = iter(load.mails.values())
    async with Knocker(town) as knocker:
        first = town.driver_of(load.streams[0])
        await hit(town, "partition", first)
        await approved(town, next(mails))
        await load.taken_from(first)
        await hit(town, "rejoin", first)
        await hit(town, "partition", "web1")
        await approved(town, next(mails))
        await hit(town, "rejoin", "web1")
        await hit(town, "partition", "redis")
        heard = await asyncio.to_thread(_said_more, load)
        await hit(town, "rejoin", "redis")
        began_s, away = time.monotonic(), datetime.now(UTC)
        await hit(town, "partition", "postgres")
        refused = await _until_knock(knocker, began_s, lambda status: status == 503)
        await hit(town, "rejoin", "postgres")
        back_s, outage = time.monotonic(), (away, datetime.now(UTC))
        healed = await _until_knock(knocker, back_s, lambda status: status == 200)
        await hit(town, "partition", "nginx")
        await asyncio.sleep(SHORT_S)
        await hit(town, "rejoin", "nginx")
    await approved(town, next(mails))
    wrong = await load.end(outages=[outage], answers=knocker.answered())
    driven_again = await asyncio.to_thread(_driven_by, town, first)
    said_s, healed_s = refused.at_s + refused.took_s - began_s, healed.at_s + healed.took_s - back_s
    print(
        load.report(), wrong, f"; 503 after {said_s:.1f} s, and all was well {healed_s:.1f} s after Postgres was back"
    )

    assert wrong == []
    assert heard
    assert json.loads(refused.text)["error"]["code"] == "unavailable"
    assert "run.lost" in town.lines_of(first), "a worker that was cut off has to be told that its runs are another's"
    assert driven_again


def _said_more(load: Load) -> bool:
    """Whether sockets hear of a run without Redis."""
    before = sum(len(watcher.events) for watcher in load.watchers)
    deadline = time.monotonic() + PATIENCE_S
    while load.going_on() and time.monotonic() < deadline:
        if sum(len(watcher.events) for watcher in load.watchers) > before:
            return True
        time.sleep(0.1)
    return not load.going_on()


async def _until_knock(knocker: Knocker, since_s: float, wanted: Any) -> Any:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        found = [knock for knock in knocker.knocks if knock.at_s >= since_s and wanted(knock.status)]
        if found:
            return found[0]
        assert time.monotonic() < deadline, knocker.knocks[-3:]
        await asyncio.sleep(0.1)


def _driven_by(town: Town, worker: str) -> bool:
    """Asks until a run is driven by this worker."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        ids = [town.ask("say 10 tokens at 10/s") for _ in range(3)]
        driven = set()
        while any(town.execution(id_)["ended_at"] is None for id_ in ids):
            driven |= {town.driver_of(id_) for id_ in ids}
            time.sleep(0.05)
        if worker in driven:
            return True
    return False


@pytest.mark.spec("B1", "B22")
async def test_f26_a_rolling_restart_loses_no_run_and_refuses_nobody(town: Town) -> None:
    load = await Load(town).begin(streams=4, tokens=300, rate=10, mails=2)
    mails = iter(load.mails.values())

    async with Knocker(town) as knocker:
        await approved(town, next(mails))
        for worker, web in (("worker1", "web1"), ("worker2", "web2")):
            await asyncio.gather(hit(town, "restart", worker), hit(town, "restart", web))
            # nginx tries a server again a second after it failed.
            await asyncio.sleep(1.5)
        await approved(town, next(mails))
        wrong = await load.end(answers=knocker.answered())
    print(load.report(), wrong, f"; {len(knocker.knocks)} requests, refused: {knocker.refused()}, lease {LEASE_S} s")

    assert wrong == []
    assert knocker.refused() == []
    assert all(town.execution(id_)["crashes"] == 0 for id_ in load.runs)
    assert max(watcher.connections for watcher in load.watchers) > 1


TOMORROW = """
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agents", "{last}")]
    operations = [
        migrations.AddField("execution", "tomorrow", models.CharField(max_length=8, db_default="new")),
        migrations.AddIndex("execution", models.Index(fields=["tomorrow"], name="agents_execution_tomorrow")),
    ]
"""


def tomorrows_version(folder: Path) -> Path:
    """This project with a migration more, which rewrites nothing."""
    listed = subprocess.run(("git", "ls-files", "-z"), cwd=BASE_DIR, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (BASE_DIR / name).is_file() and not name.startswith("tests/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(BASE_DIR / name, folder / name)
    migrations = folder / "agents" / "migrations"
    last = max(path.stem for path in migrations.glob("0*.py"))
    (migrations / "9999_tomorrow.py").write_text(TOMORROW.format(last=last))
    return folder


@pytest.mark.spec("B1")
async def test_a_new_version_with_a_migration_is_rolled_out_and_loses_no_run_and_refuses_nobody(
    town: Town, tmp_path: Path
) -> None:
    tmp_path.chmod(0o755)
    version = await asyncio.to_thread(tomorrows_version, tmp_path / "tomorrow")
    load = await Load(town).begin(streams=4, tokens=300, rate=10, mails=2)
    mails = iter(load.mails.values())

    async with Knocker(town) as knocker:
        await approved(town, next(mails))
        await hit(town, "deploy", str(version))
        await approved(town, next(mails))
        wrong = await load.end(answers=knocker.answered())
    print(load.report(), wrong, f"; {len(knocker.knocks)} requests, refused: {knocker.refused()}")

    assert wrong == []
    assert knocker.refused() == []
    assert all(town.execution(id_)["crashes"] == 0 for id_ in load.runs)
    assert {row["tomorrow"] for row in town.query("SELECT tomorrow FROM agents_execution")} == {"new"}
    folders = {Path(f"/proc/{town.status['parts'][name]['pid']}/cwd").resolve() for name in ("web1", "worker2")}
    assert folders == {version}
