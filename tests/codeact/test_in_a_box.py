"""Scripts where they belong: in the box of their conversation, over its own door."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agents.codeact.scripts import SCRIPT, HostedScripts
from agents.sandbox.base import HOME
from agents.tools.providers import ScriptRun
from agents.tools.values import CodeRun
from tests.runtime.approving import call_of, respond, the_request
from tests.runtime.driving import Runners, ended, events, start
from tests.sandbox.sessions.working import needs_walls, sleepers
from tests.scripted.script import Script, ScriptedCall
from tests.scripted.server import ScriptedServer
from tests.tools.doubles import fake_providers

WORKS = """
import hyperagent, os, sys
there = open("/tmp/hyperagent/current_script.py").read() == open(__file__).read()
print(there, hyperagent.call("list_files", prefix="x"), hyperagent.web_search("y"))
try:
    hyperagent.fetch_url("z")
except hyperagent.ToolError as error:
    print(error.code, error)
open("made.txt", "a").write("line\\n")
try:
    open(hyperagent.__file__, "w")
except OSError as error:
    print("read-only")
print(sorted(name for name in os.environ if name.startswith("HYPERAGENT")))
"""


def answering(said: list[Any]) -> Any:
    async def answer(line: dict[str, Any]) -> dict[str, Any]:
        said.append((line["tool"], line["arguments"]))
        if line["tool"] == "fetch_url":
            return {"id": line["id"], "error": {"code": "denied", "message": "not today"}}
        return {"id": line["id"], "value": {"results": [1]} if line["tool"] == "web_search" else []}

    return answer


async def run(
    agent: Any,
    code: str,
    *,
    seed: str = "5eed",
    again: bool = False,
    answer: Any = None,
    heard: Any = None,
    scripts: HostedScripts | None = None,
    **more: Any,
) -> CodeRun:
    """By a process of its own, unless it is given."""
    scripts = scripts or HostedScripts(lambda: agent.client, agent.workspace)
    return await scripts.run_script(
        agent.about,
        ScriptRun(
            code=code,
            seed=seed,
            again=again,
            wall_s=60,
            heard=heard or (lambda stream, text: None),
            answer=answer or answering([]),
            **more,
        ),
    )


@pytest.mark.slow
@needs_walls
@pytest.mark.spec("S199", "S200", "S81")
async def test_a_script_runs_in_its_box_with_the_library_and_its_way_out(working: Any) -> None:
    agent = await working("alice")
    said: list[Any] = []

    ran = await run(agent, WORKS, answer=answering(said))

    assert (ran.stderr, ran.exit_code) == ("", 0)
    assert ran.stdout.splitlines() == [
        "True [] [1]",
        "denied not today",
        "read-only",
        "['HYPERAGENT_SEED', 'HYPERAGENT_TOKEN']",
    ]
    assert said == [
        ("list_files", {"prefix": "x"}),
        ("web_search", {"query": "y", "max_results": 5}),
        ("fetch_url", {"url": "z"}),
    ]
    assert ran.created_files == ("made.txt",)
    assert (await agent.workspace.read_file(agent.about, "made.txt", scope="conversation")).text == "line\n"

    # What a run that was interrupted left is not there when the script runs again: neither its files nor its changes.
    waits = (
        "import hyperagent\nopen('made.txt', 'a').write('more')\nopen('other.txt', 'w')\nhyperagent.call('list_files')"
    )
    called = asyncio.Event()

    async def never(line: dict[str, Any]) -> dict[str, Any]:
        called.set()
        await asyncio.Event().wait()
        raise AssertionError

    first = asyncio.create_task(run(agent, waits, answer=never))
    await asyncio.wait_for(called.wait(), 20)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    again = await run(agent, waits, again=True)

    assert again.exit_code == 0
    assert (await agent.workspace.read_file(agent.about, "made.txt", scope="conversation")).text == "line\nmore"
    assert sorted(again.created_files) == ["made.txt", "other.txt"]
    box = await agent.client.box(agent.about)
    stays = await run(agent, "import hyperagent, os\nprint(sorted(name for name in os.listdir() if name[0] != '.'))")
    assert stays.stdout == "['made.txt', 'other.txt']\n"
    assert SCRIPT in [file.path for file in await box.files("/tmp/hyperagent")]


@pytest.mark.slow
@needs_walls
@pytest.mark.spec("S81")
async def test_what_a_script_made_before_it_was_stopped_is_in_the_workspace(working: Any) -> None:
    agent = await working("alice")
    stopped = asyncio.get_running_loop().create_future()
    code = "open('made.txt', 'w').write('x')\nprint('made', flush=True)\nimport time\ntime.sleep(4712)"

    def heard(stream: str, text: str) -> None:
        if not stopped.done():
            stopped.set_result("enough")

    ran = await run(agent, code, heard=heard, stopped=stopped)

    assert (ran.exit_code, ran.created_files) == (None, ("made.txt",))
    assert (await agent.workspace.read_file(agent.about, "made.txt", scope="conversation")).text == "x"
    assert not sleepers(4712)


@pytest.mark.slow
@needs_walls
async def test_of_what_lay_there_before_a_script_no_more_is_kept_than_one_that_runs_again_needs(
    working: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agents.codeact import scripts

    monkeypatch.setattr(scripts, "MOST_NOTED", 2)
    agent = await working("alice")
    await run(agent, "import os\nos.makedirs('node_modules')\nopen('node_modules/a.js', 'w')\nopen('b.txt', 'w')")

    for number in range(4):
        await run(agent, "print()", seed=f"seed-{number}")

    box = await agent.client.box(agent.about)
    noted = {name: value for name, value in (await box.remembered()).items() if name.startswith("script:")}
    assert list(noted) == ["script:seed-1", "script:seed-2", "script:seed-3"]
    assert [[path for path, *_ in files] for files in noted.values()] == [[f"{HOME}/b.txt"]] * 3


class Overtaken:
    """A host whose boxes run a program only when `first` is done; what is put there before lies there meanwhile."""

    def __init__(self, host: Any, first: Callable[[], Awaitable[None]]) -> None:
        self._host = host
        self._first = first

    async def box(self, about: Any) -> Any:
        return OvertakenBox(await self._host.box(about), self._first)


class OvertakenBox:
    def __init__(self, box: Any, first: Callable[[], Awaitable[None]]) -> None:
        self._box = box
        self._first = first

    def __getattr__(self, name: str) -> Any:
        return getattr(self._box, name)

    async def run(self, *arguments: Any, **more: Any) -> Any:
        await self._first()
        return await self._box.run(*arguments, **more)


@needs_walls
async def test_scripts_of_two_processes_in_one_box_do_not_run_each_other(working: Any) -> None:
    agent = await working("alice")
    others: list[CodeRun] = []

    async def another() -> None:
        others.append(await run(agent, "print('theirs')", seed="other"))

    overtaken: Any = Overtaken(agent.client, another)
    mine = HostedScripts(lambda: overtaken, agent.workspace)
    ran = await run(agent, "print('mine')", scripts=mine)

    assert (ran.stdout, others[0].stdout) == ("mine\n", "theirs\n")


@pytest.mark.slow
@needs_walls
@pytest.mark.parametrize(
    ("seed", "found"),
    [
        pytest.param("other", "x\n", id="another script"),
        pytest.param("5eed", "", id="the same one, of a driver that has lost the run"),
    ],
)
async def test_a_folder_is_not_put_back_while_another_script_runs_in_it_in_another_process(
    working: Any, seed: str, found: str
) -> None:
    agent = await working("alice")
    calls = (
        "import hyperagent\nopen('theirs.txt', 'w').write('x')\n"
        "hyperagent.call('list_files')\nprint(open('theirs.txt').read())"
    )
    called, may_answer = asyncio.Event(), asyncio.Event()

    async def later(line: dict[str, Any]) -> dict[str, Any]:
        called.set()
        await may_answer.wait()
        return {"id": line["id"], "value": []}

    await run(agent, "print('first')")
    theirs = asyncio.create_task(run(agent, calls, seed=seed, answer=later))
    await asyncio.wait_for(called.wait(), 20)
    await run(agent, "print('first')", again=True)
    may_answer.set()

    assert (await theirs).stdout == found


FORKS = """
import hyperagent
handles = [hyperagent.fork(f"Count to {number}") for number in (2, 3)]
print("children:", [hyperagent.wait(handle) for handle in handles])
print(hyperagent.web_search("acme")[0]["title"])
"""


@pytest.mark.slow
@needs_walls
@pytest.mark.spec("S99", "S102", "S198")
async def test_an_agent_acts_by_a_script_that_starts_other_agents_and_waits_for_them(
    alice: Any, working: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    box = await working("alice")
    call = ScriptedCall(name="execute_script", arguments=json.dumps({"code": FORKS}))
    scripted_server.script(
        Script(match="How far", tool_calls=[call]),
        Script(match="Count to 2", text="one two"),
        Script(match="Count to 3", text="one two three"),
        Script(match="How far", text="They counted to two and to three."),
    )
    scripts = HostedScripts(lambda: box.client, box.workspace)
    await make_runner(scripted_server.url, providers=fake_providers(scripts=scripts))

    started = await start(alice, "How far can they count?", mode="chat", options={"execution_mode": "codeact"})
    asked = await the_request(started)
    assert (call_of(asked)["tool"], call_of(asked)["preview"]) == (
        "execute_script",
        {"kind": "code", "language": "python", "code": FORKS},
    )
    await respond(alice, asked, "approved", arguments_hash=call_of(asked)["arguments_hash"])
    run = await ended(started, timeout_s=40)

    assert (run.status, run.answer) == ("completed", "They counted to two and to three.")
    said = await events(run.id)
    (result,) = [event for event in said if event["type"] == "code_result"]
    assert result["stdout"] == "children: ['one two', 'one two three']\nAcme grows\n"
    calls = [(event["tool"], bool(event.get("called_by"))) for event in said if event["type"] == "tool_call"]
    assert calls == [
        ("execute_script", False),
        ("fork", True),
        ("fork", True),
        ("wait", True),
        ("wait", True),
        ("web_search", True),
    ]
    first = scripted_server.calls[0]
    assert "execute_script" in [tool["function"]["name"] for tool in first.body["tools"]]
    assert "hyperagent.fork(prompt" in str(first.messages[0]["content"])


async def test_in_the_standard_mode_scripts_are_not_offered(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(Script(text="Hello"))
    await make_runner(scripted_server.url, providers=fake_providers())

    await ended(await start(alice, "Hi", mode="chat"))

    (first,) = scripted_server.calls
    assert "execute_script" not in [tool["function"]["name"] for tool in first.body["tools"]]
    assert "import hyperagent" not in str(first.messages[0]["content"])
