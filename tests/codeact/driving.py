"""Runs scripts of the tests' own in a process of this machine: the real helper library, over the door's real socket.

Only what a test wrote itself is ever run so; what a model writes runs in the sandbox.
"""

import asyncio
import os
import signal
import sys
import tempfile
import textwrap
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents.codeact.calls import Limits
from agents.codeact.mode import SCRIPT_TOOL, callable_from_scripts
from agents.codeact.running import run_script
from agents.craft.exchange import AgentInput, Options
from agents.engine.scripts import Waits
from agents.runtime.context import AgentContext
from agents.runtime.driven import About
from agents.sandbox.host.gateway_door import GatewayDoor
from agents.tools.checks import Checks
from agents.tools.gateway import CHECKS, Gateway
from agents.tools.providers import ScriptRun
from agents.tools.registry import tools
from agents.tools.tool import ANY_AGENT, Call, OwnFiles, Reply, Tool, composite, tool
from agents.tools.values import CodeRun
from tests.doubles.lookups import MemoryLookups
from tests.doubles.memory_journal import Death
from tests.engine.driving import drive
from tests.tools.doubles import fake_providers
from tests.tools.driving import ALICE, ToolCase, case_of, seen

LIBRARY = Path(__file__).resolve().parents[2] / "agents/sandbox/library"
TASK = AgentInput(agent_id="chat-1", agent_name="chat", task="Do it", options=Options(execution_mode="codeact"))


@dataclass
class ProcessScripts:
    """`began` counts the runs; `again` tells which of them were a second one. `running` are the processes that live."""

    began: int = 0
    again: list[bool] = field(default_factory=list)
    running: set[int] = field(default_factory=set)
    env: dict[str, str] = field(default_factory=dict)

    async def run_script(self, about: About, script: ScriptRun) -> CodeRun:
        self.began += 1
        self.again.append(script.again)
        with tempfile.TemporaryDirectory(prefix="ca-") as folder:
            door = GatewayDoor(Path(folder) / "gateway.sock")
            await door.open()
            try:
                async with door.answered_by(script.answer) as token:
                    ran = asyncio.ensure_future(self._ran(script.code, Path(folder), token, script.seed, script.heard))
                    return await _until(script.stopped, ran) or CodeRun(code=script.code)
            finally:
                await door.close()

    async def _ran(self, code: str, folder: Path, token: str, seed: str, heard: Any) -> CodeRun:
        script = folder / "current_script.py"
        script.write_text(code, encoding="utf-8")
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PYTHONPATH": str(LIBRARY),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HYPERAGENT_GATEWAY": str(folder / "gateway.sock"),
            "HYPERAGENT_TOKEN": token,
            "HYPERAGENT_SEED": seed,
            **self.env,
        }
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-u", str(script), env=env, cwd=folder, stdout=pipe, stderr=pipe, start_new_session=True
        )
        self.running.add(process.pid)
        try:
            stdout, stderr = await asyncio.gather(
                _pumped(process.stdout, "stdout", heard), _pumped(process.stderr, "stderr", heard)
            )
            return CodeRun(code=code, stdout=stdout, stderr=stderr, exit_code=await process.wait())
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            self.running.discard(process.pid)


class Refused(Exception):
    """What a script is told of a call that was not carried out: its code."""


@dataclass
class CoroutineScripts(ProcessScripts):
    """The same without a process: `body` is the script, and calls by a function."""

    body: Callable[[Callable[..., Awaitable[Any]]], Awaitable[Any]] | None = None

    async def run_script(self, about: About, script: ScriptRun) -> CodeRun:
        self.began += 1
        self.again.append(script.again)

        async def call(tool: str, **arguments: Any) -> Any:
            said = await script.answer({"id": 1, "tool": tool, "arguments": arguments})
            if "error" in said:
                raise Refused(said["error"]["code"])
            return said["value"]

        assert self.body is not None
        self.running.add(self.began)
        try:
            return CodeRun(code=script.code, stdout=repr(await self.body(call)), exit_code=0)
        finally:
            self.running.discard(self.began)


async def _until(stopped: asyncio.Future[Any] | None, ran: asyncio.Future[CodeRun]) -> CodeRun | None:
    try:
        await asyncio.wait([ran, *([] if stopped is None else [stopped])], return_when=asyncio.FIRST_COMPLETED)
        return ran.result() if ran.done() else None
    finally:
        ran.cancel()
        await asyncio.gather(ran, return_exceptions=True)


async def _pumped(reader: Any, stream: str, heard: Any) -> str:
    texts = []
    while chunk := await reader.read(65536):
        texts.append(chunk.decode(errors="replace"))
        heard(stream, texts[-1])
    return "".join(texts)


AT_ONCE = Waits(resting_s=0.05, settling_s=0.1)


def script_tool(scripts: ProcessScripts, *, waits: Waits, limits: Limits | None, allowed: tuple[str, ...]) -> Tool:
    """The product's tool, less patient, and with more that it may call."""

    @composite(agents=("code", "data", "chat"), requires_approval=True, only_in="codeact", name=SCRIPT_TOOL)
    async def execute_script(context: AgentContext, code: str) -> Reply:
        """Runs a script."""
        may = (*callable_from_scripts(context.agent.name), *allowed)
        return await run_script(
            context, code, tool=SCRIPT_TOOL, scripts=scripts, allowed=may, limits=limits, waits=waits
        )

    return execute_script


class Notes:
    """Where tools write. `written` has what really happened, by the keys of its calls. `write_note` writes new files of
    the user's own, about which nobody is asked, whatever a script has read."""

    def __init__(self) -> None:
        self.written: dict[str, str] = {}
        self.tools = (self._tool("write_note", asks=False), self._tool("send_note", asks=True))

    @property
    def texts(self) -> list[str]:
        return list(self.written.values())

    def _tool(self, name: str, *, asks: bool) -> Tool:
        async def was_written(call: Call, **_: Any) -> bool:
            return call.key in self.written

        @tool(
            agents=ANY_AGENT,
            effect="write",
            requires_approval=asks,
            own_files=None if asks else OwnFiles(replaces=lambda _: ()),
            probe=was_written,
            name=name,
        )
        async def write(call: Call, text: str) -> Reply:
            """Writes a note."""
            assert call.key not in self.written, f"{text} was written twice"
            self.written[call.key] = text
            return Reply(content=f"Written: {text}", data={"written": text})

        return write


@dataclass
class ScriptCase:
    """A run whose chat agent calls execute_script once, and gives what came of it."""

    case: ToolCase
    scripts: ProcessScripts
    notes: Notes
    unkilled: bool = False
    """Whether it came to its end without having died."""

    async def waits(self) -> None:
        end = await self.case.drive()
        assert end.how == "waiting", end

    async def done(self) -> Any:
        """What the call gave, driven once to its end."""
        end = await self.case.drive()
        assert end.how == "completed", end
        return end.value

    async def finish(self, *, death: Death | None = None, at: int = 0) -> tuple[Any, list[str]]:
        """Driven to its end with a yes to everything, dying at the write `at`, counted over its drivers; and what
        people were asked."""
        asked = []
        self.unkilled = death is not None
        for _ in range(30):
            run, journal = self.case.take_over(death=death, at=at)
            end = await drive(run, journal)
            at -= journal.writes
            if end.how == "killed":
                death, self.unkilled = None, False
            elif end.how == "waiting":
                while self.case.open_requests:
                    asked.append(self.answer_one())
            else:
                assert end.how == "completed", end
                return end.value, asked
        raise AssertionError("it did not end")

    def answer_one(self, *, status: str = "approved", **more: Any) -> str:
        """Answers the oldest open question; what it was about."""
        question = self.case.open_requests[0].question
        if "tool_calls" not in question:
            self.case.answer({"status": "answered", "text": "yes", **more})
            return str(question["question"])
        (call,) = question["tool_calls"]
        said = {"status": status, "decided_by": str(ALICE), "arguments_hash": call["arguments_hash"], **more}
        self.case.answer(said)
        return f"{call['tool']} {call['arguments'].get('text', '')}".strip()

    def events(self, kind: str) -> list[dict[str, Any]]:
        return self.case.events(kind)


def scripted(
    code: str,
    *,
    scripts: ProcessScripts | None = None,
    task: AgentInput = TASK,
    waits: Waits = AT_ONCE,
    limits: Limits | None = None,
    program: Any = None,
    checks: Checks = CHECKS,
    lookups: MemoryLookups | None = None,
    others: Mapping[str, Any] | None = None,
    allowed: tuple[str, ...] = ("write_note", "send_note"),
    **providers: Any,
) -> ScriptCase:
    """`code`: of the test's own. The tools are the product's, and two that write notes."""
    ran, notes = scripts or ProcessScripts(), Notes()
    own = (*notes.tools, script_tool(ran, waits=waits, limits=limits, allowed=allowed))
    found = {**tools(), **{one.name: one for one in own}}
    gateway = Gateway(fake_providers(scripts=ran, **providers), tools=found, checks=checks)
    text = textwrap.dedent(code)

    async def call(context: AgentContext) -> Any:
        return seen(await context.tool(SCRIPT_TOOL, {"code": text}))

    case = case_of(program or call, gateway, task=task, others=others, lookups=lookups)
    return ScriptCase(case, ran, notes)
