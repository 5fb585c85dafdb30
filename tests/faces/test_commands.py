"""`ask` and `verify_log` in a terminal, and the sample conversation."""

import asyncio
import io
import json
import os
import pty
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from asgiref.sync import sync_to_async
from django.core.management import CommandError, call_command
from django.db.models.functions import Now
from django.utils import timezone
from django_q.models import OrmQ

from agents.engine.events import Complete
from agents.models import Event, Execution
from agents.tasks import AT_ONCE, sweep_finished
from conversations import actions
from conversations.models import Conversation
from conversations.samples import make_samples
from conversations.tasks import turn_finished
from conversations.turns import ON_FINISH
from hitl.models import Request
from hyperagent.lib import queue
from tests import template
from tests.faces.runs import append, make_run, tokens
from tests.faces.web import ROOT, database_url
from tests.runtime.driving import Runners, until
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer
from tests.tools.doubles import FakeMailbox, fake_providers


def verified(*args: str) -> tuple[int, str]:
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("verify_log", *args, stdout=out, stderr=err)
    except SystemExit as ended:
        return int(str(ended.code)), out.getvalue() + err.getvalue()
    return 0, out.getvalue() + err.getvalue()


@pytest.mark.spec("B9")
@pytest.mark.django_db
@pytest.mark.parametrize("change", [{"type": "stage"}, {"agent_id": uuid.UUID(int=7)}])
def test_a_change_of_what_events_are_chosen_by_is_found(alice: Any, change: dict[str, Any]) -> None:
    run = make_run(alice)
    append(run, *tokens("a"), Complete(answer="a"))
    before = verified(str(run.id))

    Event.objects.filter(execution=run, seq=2).update(**change)

    status, said = verified(str(run.id))
    assert (before[0], status) == (0, 1)
    assert said.endswith(f"execution {run.id}, event 2: its type or its agent is not the one in its text\n")


@pytest.mark.spec("B9")
def test_a_log_as_it_was_written_is_clean(alice: Any) -> None:
    run = make_run(alice)
    append(run, *tokens("a", "b"), Complete(answer="ab"))
    append(make_run(alice), *tokens("still going"))

    assert verified() == (0, "2 executions checked, 0 faults\n")
    assert verified(str(run.id))[0] == 0


def _changed(run: Execution) -> None:
    Event.objects.filter(execution=run, seq=2).update(body='{"type":"token","content":"forged"}')


def _lost(run: Execution) -> None:
    Event.objects.filter(execution=run, seq=2).delete()


def _cut(run: Execution) -> None:
    Event.objects.filter(execution=run, seq=4).delete()


@pytest.mark.spec("B9")
@pytest.mark.parametrize(("damage", "words"), [(_changed, "changed"), (_lost, "missing"), (_cut, "ends at 3")])
def test_a_log_that_was_changed_later_is_found_out(alice: Any, damage: Any, words: str) -> None:
    run = make_run(alice)
    append(run, *tokens("a", "b", "c"), Complete(answer="abc"))

    damage(run)

    status, said = verified()
    assert status == 1
    assert str(run.id) in said
    assert words in said


def test_an_id_that_is_none_and_an_unknown_one_are_said(db: None) -> None:
    for wrong in ("mine", str(uuid.uuid4())):
        with pytest.raises(CommandError, match=wrong):
            verified(wrong)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--noted", f"1:{'0' * 64}"), "Add --audit"),
        (("--audit", "--noted", ""), "no end of the log"),
        (("--audit", str(uuid.UUID(int=1))), "Leave the id out"),
    ],
    ids=["noted without the log", "an empty end", "one run"],
)
def test_nothing_is_called_clean_that_was_not_looked_at(db: None, asked: tuple[str, ...], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        verified(*asked)


@pytest.mark.spec("B23")
def test_the_sample_conversation_is_made_once_and_its_log_is_clean(alice: Any, api_of: Any) -> None:
    sample = make_samples(alice)

    assert sample is not None
    assert make_samples(alice) is None
    shown = api_of(alice).get(f"/api/v1/conversations/{sample.id}/messages").json()["results"]
    assert [message["role"] for message in shown] == ["user", "assistant"]
    assert shown[1]["execution"]["status"] == "completed"
    assert "sample" in shown[1]["text"]
    assert verified() == (0, "1 executions checked, 0 faults\n")


def test_a_sample_that_was_deleted_does_not_come_back(alice: Any) -> None:
    sample = make_samples(alice)
    assert sample is not None
    actions.delete(alice, sample.id)

    assert make_samples(alice) is None


def test_the_title_that_a_run_chose_replaces_the_first_words_but_never_a_persons(alice: Any) -> None:
    named, unnamed = actions.create(alice, title="Mine"), actions.create(alice)
    for conversation in (named, unnamed):
        said = actions.say(alice, conversation.id, actions.Question("What is a Kahn sort, and why?"))
        said.execution.result = {"title": "Kahn's sort"}
        append(said.execution, Complete(answer="A sort."))

        turn_finished(str(said.execution.id))
        turn_finished(str(said.execution.id))

        assert Execution.objects.get(id=said.execution.id).finish_handled_at is not None
    titles = dict(Conversation.objects.values_list("id", "title"))
    assert titles == {named.id: "Mine", unnamed.id: "Kahn's sort"}


def test_what_follows_a_turn_is_a_job_that_the_queue_takes(alice: Any) -> None:
    said = actions.say(alice, actions.create(alice).id, actions.Question("What is a Kahn sort?"))
    append(said.execution, Complete(answer="A sort."))
    Execution.objects.filter(id=said.execution.id).update(ended_at=timezone.now() - timedelta(minutes=5))
    assert not OrmQ.objects.exists()

    sweep_finished()

    assert queue.known(ON_FINISH) is turn_finished
    assert [row.func() for row in OrmQ.objects.all()] == [ON_FINISH]


@pytest.mark.slow
def test_follow_ups_that_fail_each_time_keep_no_other_from_its_turn(alice: Any) -> None:
    said = actions.say(alice, actions.create(alice).id, actions.Question("What is a Kahn sort?"))
    append(said.execution, Complete(answer="A sort."))
    now = timezone.now()
    Execution.objects.filter(id=said.execution.id).update(ended_at=now - timedelta(minutes=5))
    over = {"user": alice, "question": "Why?", "input": {"version": 1}, "status": "completed", "on_finish": "gone.task"}
    Execution.objects.bulk_create(Execution(**over, ended_at=now - timedelta(hours=1)) for _ in range(AT_ONCE))

    # Each looks at some of them.
    for _ in range(30):
        sweep_finished()

    assert {tuple(row.args()) for row in OrmQ.objects.all()} == {(str(said.execution.id),)}


def test_a_machine_with_a_wrong_clock_asks_for_no_follow_up_before_its_time(alice: Any) -> None:
    said = actions.say(alice, actions.create(alice).id, actions.Question("What is a Kahn sort?"))
    append(said.execution, Complete(answer="A sort."))
    Execution.objects.filter(id=said.execution.id).update(ended_at=Now())

    with time_machine.travel(timezone.now() + timedelta(minutes=10)):
        sweep_finished()

    assert not OrmQ.objects.exists()


class Asking:
    """`manage.py ask` as a process. `start`: `subprocess.Popen` starts it as at home."""

    def __init__(
        self,
        *args: str,
        stdin: int = subprocess.DEVNULL,
        start: Callable[..., subprocess.Popen[Any]] = template.Process,
    ) -> None:
        environment = {**os.environ, "DATABASE_URL": database_url()}
        self.process = start(
            [sys.executable, "manage.py", "ask", *args],
            cwd=ROOT, env=environment, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    async def ended(self) -> tuple[int, str, str]:
        out, err = await asyncio.to_thread(self.process.communicate, timeout=90)
        return self.process.returncode, out, err


@pytest.mark.slow
@pytest.mark.usefixtures("in_threads")
async def test_a_question_is_answered_in_the_terminal(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(Script(text="Hello \x1b[31mAlice."), Script(text="Again."))
    await make_runner(scripted_server.url)

    status, out, err = await Asking("Hi", "--user", alice.email, start=subprocess.Popen).ended()
    as_json = await Asking("Hi again", "--user", alice.email, "--json").ended()

    assert (status, out, err) == (0, "Hello [31mAlice.\n", "")
    assert as_json[0] == 0
    events = [json.loads(line) for line in as_json[1].splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["answer"] == "Again."


@pytest.mark.slow
@pytest.mark.usefixtures("in_threads")
async def test_ctrl_c_stops_the_run(alice: Any, echo_server: ScriptedServer, make_runner: Runners) -> None:
    await make_runner(echo_server.url)
    asking = Asking("say 2000 tokens at 50/s", "--user", alice.email)
    assert asking.process.stdout is not None
    assert await asyncio.to_thread(asking.process.stdout.read, 2) == "w0"

    asking.process.send_signal(signal.SIGINT)
    status, _, err = await asking.ended()

    assert (status, "Traceback" in err) == (130, False)
    assert await until(Execution.objects.filter(status="cancelled").aexists)


@pytest.mark.slow
@pytest.mark.usefixtures("in_threads")
async def test_what_goes_wrong_is_said_in_a_line(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    asked = [
        Asking("Hi", "--user", alice.email),
        Asking("Hi", "--user", "nobody@example.org"),
        Asking("Hi"),
    ]
    early = [await one.ended() for one in asked]
    scripted_server.script(Script(status=401))
    await make_runner(scripted_server.url)
    asked = [
        Asking(" ", "--user", alice.email),
        Asking("Hi", "--user", alice.email, "--mode", "juggling"),
        Asking("Hi", "--user", alice.email),
    ]
    *wrong, failed = [await one.ended() for one in asked]

    answers = [*early, *wrong, failed]
    assert [status for status, _, _ in answers] == [1] * 6
    words = ["manage.py worker", "nobody@example.org", "--user", "empty", "juggling"]
    assert [word in err for word, (_, _, err) in zip(words, answers, strict=False)] == [True] * 5
    assert not any("Traceback" in err for _, _, err in answers)
    run = await sync_to_async(Execution.objects.get)()
    assert run.error_message in failed[2]


@pytest.mark.slow
@pytest.mark.spec("S124")
@pytest.mark.usefixtures("in_threads")
async def test_what_was_left_out_where_nobody_can_be_asked_is_said_with_the_way_to_allow_it(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    mailbox = FakeMailbox()
    scripted_server.script(*MAIL_TO_BOB)
    await make_runner(scripted_server.url, providers=fake_providers(mailbox=mailbox))

    status, _, err = await Asking("Mail bob@example.org alpha.", "--user", alice.email, "--mode", "mail").ended()

    assert (status, mailbox.sent) == (0, [])
    assert "Left out by the mail agent: send_email." in err
    assert "--yes" in err
    assert "terminal" in err


class AtTerminal(Asking):
    """The same with somebody at the keyboard, who types before they are asked."""

    def __init__(self, *args: str) -> None:
        self._keyboard, terminal = pty.openpty()
        super().__init__(*args, stdin=terminal)
        os.close(terminal)

    async def typing(self, text: str) -> tuple[int, str, str]:
        os.write(self._keyboard, text.encode())
        try:
            return await self.ended()
        finally:
            os.close(self._keyboard)


MAIL_TO_BOB = (
    Script(text=json.dumps({"action": "send", "to": ["bob@example.org"], "subject": "Q3 \x1b[31m", "say": "alpha"})),
    Script(text=json.dumps({"subject": "Q3 \x1b[31m", "body": "alpha"})),
)


@pytest.mark.slow
@pytest.mark.spec("S133")
@pytest.mark.parametrize(
    ("typed", "flags", "sent"), [("", ("--yes",), 1), ("x\ny\n", (), 1), ("n\nnot him\n", (), 0), ("l\n", (), 0)]
)
@pytest.mark.usefixtures("in_threads")
async def test_a_request_is_decided_at_the_prompt(
    typed: str, flags: tuple[str, ...], sent: int, alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    mailbox = FakeMailbox()
    scripted_server.script(*MAIL_TO_BOB, *([Script(text="The mail went to Bob.")] if sent else []))
    await make_runner(scripted_server.url, providers=fake_providers(mailbox=mailbox))

    terminal = AtTerminal("Mail bob@example.org alpha.", "--user", alice.email, "--mode", "mail", *flags)
    status, out, err = await terminal.typing(typed)

    request = await Request.objects.aget()
    assert status == (3 if typed.startswith("l") else 0)
    assert len(mailbox.sent) == sent
    assert "\x1b" not in out + err
    if typed.startswith("l"):
        assert (request.status, f"/inbox/{request.pk}" in err) == ("pending", True)
    else:
        assert (request.status, request.decided_via) == ("approved" if sent else "denied", "command")
        assert ("The mail went to Bob." in out) is bool(sent)
        assert "bob@example.org" in err
    assert request.user_instructions == ("not him" if typed.startswith("n") else "")
