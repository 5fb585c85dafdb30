"""The real host process, a real runner, real boxes: a run is streamed, cancelled, and loses its sandbox."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection

from agents.craft.exchange import AgentInput, Work
from agents.runtime.context import AgentContext
from agents.spec import AgentSpec
from hyperagent.lib.conf import BASE_DIR
from hyperagent.lib.threads import in_thread
from tests import template
from tests.runtime.approving import programs, requests, respond
from tests.runtime.conftest import make_runner
from tests.runtime.driving import ended, events, until
from tests.sandbox.sessions.working import needs_walls, sleepers
from tests.scripted.fixtures import scripted_server

__all__ = ["make_runner", "scripted_server"]
pytestmark = [needs_walls]

SPEC = AgentSpec(
    name="code",
    description="Runs what its task says, as a program.",
    capabilities=("running",),
    typical_use_cases=("Run this", "Run that"),
    tools=("execute_code",),
    handoffs=False,
    max_retries=0,
)
FREE = {"preapproved": [{"tool": "execute_code"}]}
SLEEPER = "import subprocess, time\nsubprocess.Popen(['sleep', '{0}'])\nprint('begun', flush=True)\ntime.sleep({0})"


async def runs_its_task(context: AgentContext, task: AgentInput) -> Work:
    """And another program, if its sandbox went away."""
    reply = await context.tool("execute_code", {"code": task.task})
    if reply.is_error and reply.data["error"] == "tool_failed":
        again = await context.tool("execute_code", {"code": "print('the run goes on')"})
        return Work(result=f"{reply.content} | {again.content}")
    return Work(result=reply.content)


class HostProcess:
    """`manage.py sandboxes` on the test's database, as a supervisor starts it."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "sandboxes.log"
        url = os.environ["DATABASE_URL"].replace("/hyperagent?", f"/{connection.settings_dict['NAME']}?")
        self.env = {**os.environ, "DATA_DIR": str(folder), "DATABASE_URL": url, "HYPERAGENT_PROCESS": "sandboxes"}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = template.Process(
                [sys.executable, "manage.py", "sandboxes"], cwd=BASE_DIR, env=self.env, stdout=log, stderr=log
            )

    def end(self, number: int) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(20)


@pytest.fixture
def sandboxes(transactional_db: None, tmp_path: Path, settings: Any) -> Iterator[HostProcess]:
    settings.CONFIG = settings.CONFIG.model_copy(update={"data_dir": tmp_path})
    settings.MEDIA_ROOT = tmp_path / "media"
    made = HostProcess(tmp_path)
    made.start()
    try:
        yield made
    finally:
        made.end(signal.SIGKILL)


@pytest.fixture
async def begin(alice: Any, sandboxes: HostProcess, scripted_server: Any, make_runner: Any) -> Any:
    """Starts runs of Alice in one conversation: `await begin(code)`."""
    from agents import actions
    from agents.sandbox.host.client import sandbox_host
    from agents.sandbox.provider import HostedSandbox
    from agents.tools.providers import Providers
    from agents.workspace import OwnFiles
    from conversations import actions as conversations

    conversation = await in_thread(conversations.create)(alice, title="Figures")
    await until(sandbox_host().lives, timeout_s=60)
    extra = programs(runs_its_task, spec=SPEC, **FREE)
    asking = {f"{name}_with_a_yes": program for name, program in programs(runs_its_task, spec=SPEC).items()}
    sandbox = HostedSandbox(sandbox_host, OwnFiles())
    await make_runner(scripted_server.url, extra=extra | asking, providers=Providers(sandbox=sandbox))

    @sync_to_async
    def start(code: str, pipeline: str = "asks") -> Any:
        return actions.start(user=alice, conversation_id=conversation.pk, question=code, pipeline=pipeline).id

    start.conversation = conversation  # type: ignore[attr-defined]
    return start


async def _printed(id_: Any) -> Any:
    async def begun() -> bool:
        return any(event["type"] == "terminal_output" for event in await events(id_))

    await until(begun, timeout_s=60)


@pytest.mark.slow
@pytest.mark.spec("S139", "S177", "F23")
@pytest.mark.threat("T19")
async def test_a_program_is_streamed_cancelled_and_outlived_by_its_run(
    alice: Any, begin: Any, sandboxes: HostProcess
) -> None:
    # Given a program that nobody wanted to run: it did not, and no box was opened for it.
    unwanted = await begin("print('hello')", "asks_with_a_yes")
    (request,) = await requests(unwanted)
    assert (request.tool_names, request.risk) == (["execute_code"], "medium")
    await respond(alice, request, "denied", instructions="not now")

    assert (await ended(unwanted, timeout_s=60)).status == "completed"
    assert [event for event in await events(unwanted) if event["type"].startswith("terminal")] == []
    assert await in_thread(_ends)() == []

    # And one that ran, with its output, its file and its result in the run's log.
    first = await begin("print('hello'); open('out.csv', 'w').write('a,b')")
    done = await ended(first, timeout_s=60)

    assert (done.status, done.error_message) == ("completed", "")
    assert "hello" in done.answer
    kinds = [event["type"] for event in await events(first)]
    order = ["terminal_command", "terminal_output", "terminal_complete", "workspace_update", "code_result"]
    assert [kind for kind in kinds if kind in order] == order

    # When a run is cancelled while its program sleeps, nothing of it is left a second after it has ended.
    second = await begin(SLEEPER.format(4712))
    await _printed(second)
    assert sleepers(4712)

    from agents import actions
    from agents.sandbox.host.client import sandbox_host

    await in_thread(actions.cancel)(second, by=alice)
    await in_thread(actions.cancel)(second, by=alice)
    cancelled = await ended(second, timeout_s=10)

    assert cancelled.status == "cancelled"
    await until(lambda: _none_of(4712), timeout_s=1)

    # When the host is killed, its boxes die with it, the model is told, and the next call has another one.
    third = await begin(SLEEPER.format(4713))
    await _printed(third)
    assert sleepers(4713)

    sandboxes.end(signal.SIGKILL)
    await until(lambda: _none_of(4713), timeout_s=5)
    sandboxes.start()
    # Else the run may ask, within its few seconds of patience, before there is somebody to ask.
    await until(sandbox_host().lives, timeout_s=60)
    survived = await ended(third, timeout_s=60)

    assert survived.status == "completed"
    assert "went away while the program ran" in survived.answer
    assert "the run goes on" in survived.answer

    # And what was in the workspace is in the new box; a host that is asked to stop keeps what lies there.
    fourth = await ended(await begin("print(open('out.csv').read())"), timeout_s=60)
    sandboxes.end(signal.SIGTERM)

    assert "a,b" in fourth.answer
    assert sandboxes.process is not None
    assert sandboxes.process.returncode == 0
    assert await in_thread(_ends)() == ["lost", "drained"]


async def _none_of(seconds: int) -> bool:
    return not sleepers(seconds)


def _ends() -> list[str]:
    from agents.sandbox.models import SandboxSession

    return list(SandboxSession.objects.order_by("opened_at").values_list("ended_because", flat=True))
