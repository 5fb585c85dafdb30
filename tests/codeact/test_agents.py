"""The agents that program, where their programs may act: what they are told, and by which tool they run."""

import json
from typing import Any

import pytest

from agents.craft.exchange import Options
from tests.codeact.driving import CoroutineScripts
from tests.roster.conftest import cases
from tests.roster.driving import DENY_ALL, Cases, prompt, says, task_for
from tests.scripted.script import Script, ScriptedCall
from tests.scripted.server import ScriptedServer
from tests.tools.doubles import FakeSandbox, FakeWeb, fake_providers

__all__ = ["cases"]
CODEACT = Options(interactive=False, execution_mode="codeact")
PROGRAM = 'import hyperagent\nprint(hyperagent.web_search("acme")[0]["title"])'


async def searches(call: Any) -> Any:
    return (await call("web_search", query="acme"))["results"][0]["title"]


@pytest.mark.spec("S198")
@pytest.mark.parametrize(("mode", "by_script"), [("codeact", True), ("standard", False)])
async def test_the_code_agents_python_is_a_script_in_this_mode_only(
    scripted_server: ScriptedServer, cases: Cases, mode: str, by_script: bool
) -> None:
    scripts, sandbox, web = CoroutineScripts(body=searches), FakeSandbox(), FakeWeb()
    scripted_server.script(says(f"It searches.\n```python\n{PROGRAM}\n```"), says("Acme grows."))
    options = CODEACT.model_copy(update={"execution_mode": mode})
    case = cases(
        task_for("code", "Search for acme and print the first title", options=options),
        fake_providers(scripts=scripts, sandbox=sandbox, web=web),
    )

    output = await case.output()

    assert output.task_done
    assert (scripts.began, len(sandbox.ran), len(web.asked)) == ((1, 0, 1) if by_script else (0, 1, 0))
    assert ("## Programs that call tools" in prompt(scripted_server, 0)) is by_script
    if by_script:
        assert output.data["stdout"] == "'Acme grows'"
        assert "`read_document`" in prompt(scripted_server, 0)
        assert "`hyperagent.browse(url: str)" in prompt(scripted_server, 0)


@pytest.mark.spec("S199")
@pytest.mark.parametrize("agent", ["code", "data"])
async def test_a_script_of_an_agent_without_the_browsers_tools_opens_pages_too(
    scripted_server: ScriptedServer, cases: Cases, agent: str
) -> None:
    async def browses(call: Any) -> Any:
        return (await call("browser_navigate", url="https://example.org/"))["title"]

    plan = [says({"question": "The page's title", "steps": ["open it"]})] if agent == "data" else []
    scripted_server.script(*plan, says(f"It opens it.\n```python\n{PROGRAM}\n```"), says("Example."))
    case = cases(
        task_for(agent, "Print the title of https://example.org/", options=CODEACT),
        fake_providers(scripts=CoroutineScripts(body=browses), sandbox=FakeSandbox()),
    )

    output = await case.output()

    assert output.data["stdout"] == "'Example'"


async def test_a_program_in_another_language_is_run_as_ever(scripted_server: ScriptedServer, cases: Cases) -> None:
    scripts, sandbox = CoroutineScripts(body=searches), FakeSandbox()
    scripted_server.script(says("```bash\necho 1\n```"), says("One."))
    case = cases(
        task_for("code", "Run echo 1 in bash", options=CODEACT), fake_providers(scripts=scripts, sandbox=sandbox)
    )

    await case.output()

    assert (scripts.began, sandbox.ran) == (0, ["echo 1"])


@pytest.mark.spec("S122")
async def test_a_script_that_a_person_denied_is_told_as_such(scripted_server: ScriptedServer, cases: Cases) -> None:
    scripted_server.script(says(f"```python\n{PROGRAM}\n```"), says("It was not run."))
    case = cases(
        task_for("code", "Compute what acme is", options=CODEACT),
        fake_providers(scripts=CoroutineScripts(body=searches)),
        checks=DENY_ALL,
    )

    output = await case.output()

    assert output.error == "denied_by_user"
    assert output.partial_data["tools"] == ["execute_script"]


@pytest.mark.spec("S198")
async def test_the_chat_agent_acts_by_scripts_that_its_model_writes(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripts = CoroutineScripts(body=searches)
    call = ScriptedCall(name="execute_script", arguments=json.dumps({"code": PROGRAM}))
    scripted_server.script(Script(tool_calls=[call]), says("Acme grows."))
    case = cases(task_for("chat", "What of acme?", options=CODEACT), fake_providers(scripts=scripts))

    output = await case.output()

    assert (output.result, scripts.began) == ("Acme grows.", 1)
    assert [source.source for source in output.metadata.sources][:1] == ["Acme grows"]
    assert "stdout:\n'Acme grows'" in prompt(scripted_server, 1)
