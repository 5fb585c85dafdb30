"""Runner processes that are killed, by others and at chosen moments by themselves, while mails are under way.

A process of its own loads everything once and forks the runners: a new one is there in milliseconds.
"""

import asyncio
import multiprocessing
import os
import random
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hyperagent.settings")
django.setup()

from agents.mail.account import ServerAccount  # noqa: E402
from agents.mail.smtp import Handover  # noqa: E402
from agents.mail.writing import Letter  # noqa: E402
from agents.pipeline.programs import programs  # noqa: E402
from agents.runtime.context import AgentContext  # noqa: E402
from agents.runtime.driven import About  # noqa: E402
from agents.runtime.runner import Options, Runner  # noqa: E402
from agents.tools.gateway import Gateway  # noqa: E402
from agents.tools.providers import Providers  # noqa: E402
from agents.tools.values import OutgoingMail, StoredMail  # noqa: E402
from hyperagent.lib.llm.config import LLMSettings  # noqa: E402
from hyperagent.lib.llm.gateway import ModelGateway  # noqa: E402
from hyperagent.lib.mail_servers import imap_server, smtp_server  # noqa: E402

LEASE_S = 3.0


@dataclass(frozen=True)
class Setting:
    """What a runner is started with. `deadliness`: how likely it dies at each of the moments of a mail."""

    name: str
    dsn: str
    redis_url: str
    smtp_url: str
    imap_url: str
    seed: int
    deadliness: float


class Fate:
    """Kills this process now and then, by a seed."""

    def __init__(self, seed: int, deadliness: float) -> None:
        self._random = random.Random(seed)
        self._deadliness = deadliness

    def tempt(self) -> None:
        if self._random.random() < self._deadliness:
            os.kill(os.getpid(), signal.SIGKILL)


class FallingHandover(Handover):
    """May die with the whole mail at the server but for its last line, and when the server has said its last word."""

    fate: Fate

    def prepare(self, letter: Letter) -> "FallingHandover":
        super().prepare(letter)
        self.fate.tempt()
        return self

    def finish(self) -> None:
        self.fate.tempt()
        super().finish()
        self.fate.tempt()


class FallingAccount(ServerAccount):
    """May die between the ledger's commit and the server, around the ledger's second mark, and before the record."""

    fate: Fate

    async def send(
        self, about: About, mail: OutgoingMail, *, touching: Callable[[], Awaitable[None]], **more: Any
    ) -> StoredMail:
        async def touch() -> None:
            self.fate.tempt()
            await touching()
            self.fate.tempt()

        self.fate.tempt()
        stored = await super().send(about, mail, touching=touch, **more)
        self.fate.tempt()
        return stored


async def mails(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
    """Sends the mails that the question counts, all at the same time."""
    first, last = map(int, turn["question"].split("-"))

    def sending(number: int) -> Callable[[AgentContext], Awaitable[str]]:
        async def send(branch: AgentContext) -> str:
            arguments = {"to": ["bob@example.org"], "subject": f"Mail {number}", "body": "Hello."}
            reply = await branch.tool("send_email", arguments)
            return "failed" if reply.is_error else "sent"

        return send

    outcomes = await context.all(*[sending(number) for number in range(first, last)])
    return {"answer": " ".join(outcomes), "sources": []}


def serve(setting: Setting) -> None:
    fate = Fate(setting.seed, setting.deadliness)
    FallingHandover.fate = FallingAccount.fate = fate
    account = FallingAccount(smtp_server(setting.smtp_url), imap_server(setting.imap_url), handing_over=FallingHandover)
    runner = Runner(
        Options(name=setting.name, dsn=setting.dsn, redis_url=setting.redis_url, concurrency=6, lease_s=LEASE_S),
        models=ModelGateway(LLMSettings.from_env({})),
        programs={**programs(), "mail": mails},  # type: ignore[dict-item]
        gateway=Gateway(Providers(mailbox=account)),
    )
    asyncio.run(runner.run())


class Herd:
    """The runners: starts a new one, under a new name, for each that has died."""

    def __init__(self, setting: Setting, *, count: int) -> None:
        self._setting = setting
        self._count = count
        self._forks = multiprocessing.get_context("forkserver")
        self._forks.set_forkserver_preload(["tests.mail.falling"])
        self._runners: dict[str, BaseProcess] = {}
        self.started = 0

    def tend(self) -> list[str]:
        """The names of those that were found dead; others stand in their place."""
        dead = [name for name, runner in self._runners.items() if not runner.is_alive()]
        for name in dead:
            self._runners.pop(name).join()
        while len(self._runners) < self._count:
            self._start()
        return dead

    def kill(self, which: int) -> None:
        """From outside, at whatever moment."""
        runners = [runner for runner in list(self._runners.values()) if runner.is_alive()]
        if runners:
            runners[which % len(runners)].kill()

    def kill_all(self) -> None:
        for runner in list(self._runners.values()):
            runner.kill()

    def stop(self) -> None:
        for runner in self._runners.values():
            runner.kill()
            runner.join()

    def _start(self) -> None:
        self.started += 1
        setting = self._setting
        own = Setting(
            f"runner-{self.started}",
            setting.dsn,
            setting.redis_url,
            setting.smtp_url,
            setting.imap_url,
            setting.seed * 1000 + self.started,
            setting.deadliness,
        )
        runner = self._forks.Process(target=serve, args=(own,), daemon=True)
        runner.start()
        self._runners[own.name] = runner
