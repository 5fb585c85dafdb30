"""`manage.py ask "question"`: one run in the terminal, streamed. The same verbs as every other face."""

import asyncio
import os
import signal
import sys
from argparse import ArgumentParser
from contextlib import aclosing
from typing import Any

import orjson
from django.core.management.base import BaseCommand, CommandError

from agents import actions as runs
from agents.log import reading, shapes
from agents.log.following import follow
from agents.models import Execution
from agents.runtime.attempts import NOBODY_TO_ASK
from conversations import actions
from conversations.models import Origin
from conversations.options import approval_rule, chosen
from conversations.prompting import Prompter, is_plain
from hyperagent.accounts.models import User
from hyperagent.lib import outage
from hyperagent.lib.refusals import Refused
from hyperagent.lib.threads import in_thread

ANSWERED, FAILED, WAITS, STOPPED = 0, 1, 3, 130


class Command(BaseCommand):
    help = (
        "Asks a question and prints the answer as it is written. Exit status: 0 answered, 1 failed, 3 left to be "
        "decided later, 130 stopped."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("question", help="The question, or - to read it from standard input.")
        parser.add_argument("--user", help="The e-mail address of who asks; the first administrator without it.")
        parser.add_argument("--mode", help="The mode, such as chat.")
        parser.add_argument("--json", action="store_true", help="Print one event a line, as JSON.")
        parser.add_argument(
            "--yes",
            action="store_true",
            help="Approve whatever the run asks to do, until it has read text that others wrote.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        text = sys.stdin.read() if options["question"] == "-" else options["question"]
        try:
            user = _asker(options["user"])
            if not reading.runner_is_alive():
                raise CommandError(
                    "No worker is running. Start one with `manage.py up` or `manage.py worker`, then ask again."
                )
            # Where nobody types and nothing was said beforehand, nobody is asked: agents go on without, and say so.
            is_asked = options["yes"] or sys.stdin.isatty()
            wanted = chosen({}) | approval_rule(None, is_watched=is_asked)
            question = actions.Question(text, mode=options["mode"], options=wanted)
            said = actions.say_in_new(user, question, origin=Origin.CHAT)
        except Refused as refused:
            raise CommandError(refused.message) from None
        except Exception as error:
            if not outage.is_outage(error):
                raise
            raise CommandError(f"{outage.MESSAGE} `manage.py doctor` says which part.") from None
        prompter = Prompter(user, always=options["yes"])
        status = asyncio.run(self._tell(said.execution, user, prompter, as_json=options["json"]))
        if not is_asked:
            self._tell_what_was_left_out(said.execution)
        if status:
            sys.exit(status)

    def _tell_what_was_left_out(self, execution: Execution) -> None:
        """Beside the answer, which may not say so."""
        execution.refresh_from_db(fields=["result"])
        left = [one for one in shapes.skipped_of(execution) if one.get("error") == NOBODY_TO_ASK]
        for one in left:
            tools = ", ".join(one.get("tools", ()))
            self.stderr.write(f"Left out by the {one['agent_name']} agent: {tools or 'all of it'}.")
        if left:
            self.stderr.write("It needs an approval, and nobody types here. Ask in a terminal, or allow it with --yes.")

    async def _tell(self, execution: Execution, user: User, prompter: Prompter, *, as_json: bool) -> int:
        """Prints until the last event; Ctrl-C stops the run, and a second one only the telling."""
        loop = asyncio.get_running_loop()
        stopped = asyncio.Event()
        loop.add_signal_handler(signal.SIGINT, stopped.set)
        stopping = asyncio.create_task(self._stop(execution, user, stopped))
        asking = asyncio.create_task(prompter.serve())
        printer = _Json() if as_json else _Text()
        status = FAILED
        try:
            async with aclosing(follow(execution, 0)) as events:
                async for event in events:
                    if event is not None:
                        printer.print(event.body)
                        prompter.hear(event)
                    elif prompter.has_left:
                        status = WAITS
                        break
        except BrokenPipeError:
            # Whoever read us has enough; the run goes on.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            status = ANSWERED
        finally:
            stopping.cancel()
            asking.cancel()
            loop.remove_signal_handler(signal.SIGINT)
        if stopped.is_set():
            return STOPPED
        return status if printer.status is None else printer.status

    async def _stop(self, execution: Execution, user: User, stopped: asyncio.Event) -> None:
        await stopped.wait()
        asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)
        self.stderr.write("\nstopping …")
        await in_thread(runs.cancel)(execution.id, by=user)


class _Json:
    status: int | None = None
    """Of the run's last event; None until it came."""

    def print(self, body: str) -> None:
        self.status = _status_after(orjson.loads(body))
        sys.stdout.write(f"{body}\n")
        sys.stdout.flush()


class _Text:
    """The answer's text as it comes. A stream that starts again is said on a new line: paper cannot be unwritten."""

    def __init__(self) -> None:
        self.status: int | None = None
        self._written: dict[str | None, str] = {}

    def print(self, body: str) -> None:
        event = orjson.loads(body)
        self.status = _status_after(event)
        agent = event.get("agent_id")
        match event["type"]:
            case "token" if event.get("channel", "answer") == "answer":
                self._written[agent] = self._written.get(agent, "") + event["content"]
                self._write(event["content"])
            case "token_reset" if event.get("channel", "answer") == "answer":
                self._written[agent] = self._written.get(agent, "")[: event["keep"]]
                self._write(f"\n[the answer starts again after {event['keep']} characters]\n{self._written[agent]}")
            case "resync":
                self._written.clear()
                self._write("\n[the answer starts again]\n")
            case "complete":
                answer = event["answer"]
                rest = "" if answer in self._written.values() else f"\n{answer}" if self._written else answer
                self._write(f"{rest}\n")
            case "error":
                sys.stderr.write(f"\n{event['message']}\n")

    def _write(self, text: str) -> None:
        # Control characters would act on the terminal: the text was written by a model.
        plain = "".join(sign for sign in text if is_plain(sign))
        # A sign that the terminal does not have takes no others with it.
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(plain.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()


def _status_after(event: dict[str, Any]) -> int | None:
    if event["type"] == "error" or (event["type"] == "complete" and event.get("status") == "cancelled"):
        return FAILED
    return ANSWERED if event["type"] == "complete" else None


def _asker(email: str | None) -> User:
    active = User.objects.filter(is_active=True)
    if email is not None:
        user = active.filter(email__iexact=email).first()
        if user is None:
            raise CommandError(f"There is no active user '{email}'. Give the e-mail address of one.")
        return user
    user = active.filter(is_superuser=True).order_by("date_joined").first()
    if user is None:
        raise CommandError("There is no administrator yet. Name who asks with --user.")
    return user
