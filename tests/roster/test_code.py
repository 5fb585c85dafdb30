"""The code agent: a program that is written, run, mended and explained; and what it does where nothing can be run."""

import json
from dataclasses import replace
from typing import Any, cast

import pytest

from agents.craft.code_blocks import code_in, fenced
from agents.craft.exchange import AgentInput, HandoffInfo
from agents.craft.programming import Programmed, told_not_run
from agents.engine.context import Context
from agents.engine.run import Program
from agents.engine.states import AgentStatus
from agents.pipeline.work import commission
from agents.roster.code.intents import wants_result_only
from agents.runtime.attempts import DENIED
from agents.runtime.context import AgentContext
from agents.runtime.driven import About, DrivenRun
from agents.tools.answers import NO_REASON
from agents.tools.approval import refusal
from agents.tools.arguments import Refusal
from agents.tools.checks import Changed, Checks, Request
from agents.tools.providers import Providers
from agents.tools.values import CodeRun
from tests.doubles.memory_journal import Death
from tests.engine.driving import ROOT
from tests.roster.driving import DENY_ALL, Cases, calls, found_by, given, prompt, says, task_for
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer
from tests.shown import shown
from tests.tools.doubles import FakeSandbox, fake_providers

BROKEN, GOOD = "print(1/0)", "print(42)"


def _sandbox() -> FakeSandbox:
    failed = CodeRun(code=BROKEN, stderr="ZeroDivisionError: division by zero", exit_code=1)
    worked = CodeRun(code=GOOD, stdout="42\n", exit_code=0, sandbox_id="box-1")
    return FakeSandbox(outputs={BROKEN: failed, GOOD: worked})


def _program(code: str) -> Script:
    return says(f"Here it is.\n{_block(code)}")


def _block(code: str) -> str:
    return fenced(code, "python")


def _changed_to(code: str) -> Checks:
    async def approve(context: AgentContext, request: Request) -> Changed | None:
        return Changed(request.tool.arguments(code=code), "") if request.tool.requires_approval else None

    return Checks(approvals=(approve,))


@pytest.mark.spec("S38", "S54", "S177")
async def test_a_program_that_fails_is_mended_from_what_it_printed(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    sandbox = _sandbox()
    answer = f"The answer is 42.\n\n{fenced(GOOD, 'python')}"
    scripted_server.script(_program(BROKEN), _program(GOOD), says(answer))
    case = cases(task_for("code", "Write a program for the answer"), fake_providers(sandbox=sandbox))

    output = await case.output()

    assert sandbox.ran == [BROKEN, GOOD]
    assert "ZeroDivisionError" in prompt(scripted_server, 1)
    assert output.result == answer == shown(case.all_events)
    printed = {"stdout": "42\n", "stderr": "", "exit_code": 0}
    assert output.data == {"code": GOOD, "language": "python", **printed, "sandbox_id": "box-1"}
    assert [(event["code"], event["exit_code"]) for event in case.events("code_result")] == [(BROKEN, 1), (GOOD, 0)]
    assert output.shared == {"generated_code": GOOD, "code_language": "python", "execution_results": "42\n"}


@pytest.mark.spec("S38")
async def test_after_three_rounds_it_stops_and_says_what_is_wrong(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    sandbox = _sandbox()
    scripted_server.script(_program(BROKEN), _program(BROKEN), _program(BROKEN), says("It still divides by zero."))

    output = await cases(task_for("code", "Write it"), fake_providers(sandbox=sandbox)).output()

    assert len(sandbox.ran) == 3
    assert (output.task_done, output.error) == (False, "program_failed")
    assert output.partial_data["exit_code"] == 1
    assert output.result.startswith("It still divides by zero.")
    assert BROKEN in output.result


async def test_a_program_that_is_not_mended_is_not_forgotten(scripted_server: ScriptedServer, cases: Cases) -> None:
    given_up = says("Nobody can divide by zero.", times=2)
    scripted_server.script(_program(BROKEN), given_up, says("It divides by zero."))

    output = await cases(task_for("code", "Write it"), fake_providers(sandbox=_sandbox())).output()

    assert (output.task_done, output.error) == (False, "program_failed")
    assert (output.partial_data["code"], output.partial_data["exit_code"]) == (BROKEN, 1)
    assert output.result.startswith("It divides by zero.")


async def test_without_a_sandbox_the_program_is_given_and_said_to_be_not_run(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(_program(GOOD), says("It prints 42."))
    case = cases(task_for("code", "Write a function that prints 42"))

    output = await case.output()

    assert output.task_done
    printed = {"stdout": "", "stderr": "", "exit_code": None}
    assert output.data == {"code": GOOD, "language": "python", **printed, "sandbox_id": None}
    assert fenced(GOOD, "python") in output.result
    assert "was not run" in output.result
    assert "SANDBOX_PROVIDER" in output.result
    assert [event["code"] for event in case.events("code_result")] == [GOOD]
    assert "SANDBOX_PROVIDER" in prompt(scripted_server, -1)


async def test_a_result_that_was_asked_for_is_not_there_without_a_sandbox(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(_program(GOOD), says("I could not compute it."))

    output = await cases(task_for("code", "Compute the sum of the first 50 primes")).output()

    assert (output.task_done, output.error) == (False, "not_run")
    assert output.partial_data["code"] == GOOD


@pytest.mark.spec("S122")
async def test_a_program_that_a_person_does_not_want_to_be_run_is_not_run(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    sandbox = _sandbox()
    scripted_server.script(_program(GOOD), says("You did not want it to be run."))
    task = task_for("code", "Write a program for the answer")

    output = await cases(task, fake_providers(sandbox=sandbox), checks=DENY_ALL).output()

    assert sandbox.ran == []
    assert (output.task_done, output.error) == (False, "denied_by_user")
    assert output.partial_data["tools"] == ["execute_code"]
    assert "not today" in output.partial_data["reason"]
    assert output.partial_data["code"] == GOOD


async def declined(context: AgentContext, request: Request) -> Refusal | None:
    """What the gateway says after a person's no."""
    told = "its approval was declined: heute nicht"
    return refusal(request.tool.name, DENIED, told, "heute nicht") if request.tool.requires_approval else None


@pytest.mark.spec("S122", "S158")
@pytest.mark.parametrize("agent", ["code", "data"])
async def test_that_a_program_was_not_run_is_told_in_the_language_of_the_question(
    agent: str, scripted_server: ScriptedServer, cases: Cases
) -> None:
    plan = says({"question": "Summe", "steps": ["rechnen"]})
    scripted_server.script(*([plan] if agent == "data" else []), _program(GOOD), says("Das geht so."))
    german = task_for(agent, "Schreibe ein Programm für die Summe der ersten zehn Zahlen und führe es aus")

    gesagt = await cases(german, fake_providers(sandbox=_sandbox()), checks=Checks(approvals=(declined,))).output()

    assert gesagt.result.endswith("Das Programm wurde nicht ausgeführt. Die Freigabe wurde abgelehnt: heute nicht")
    assert gesagt.error == "denied_by_user"


@pytest.mark.parametrize(
    ("code", "reason", "english", "german"),
    [
        (
            "denied_by_user",
            NO_REASON,
            "Its approval was declined: no reason was given.",
            "Die Freigabe wurde abgelehnt.",
        ),
        ("hitl_timeout", "", "Nobody answered in time.", "Niemand hat rechtzeitig über die Freigabe entschieden."),
        ("switched_off", "Repairs.", "It is switched off.", "Es ist zurzeit abgeschaltet: Repairs."),
        ("", "", "SANDBOX_PROVIDER is not set.", "SANDBOX_PROVIDER is not set."),
    ],
    ids=["denied", "timeout", "switch", "no sandbox"],
)
def test_why_a_program_was_not_run_is_told_without_the_name_of_a_tool(
    code: str, reason: str, english: str, german: str
) -> None:
    why = f"execute_code was not carried out: {english[:1].lower()}{english[1:]}" if code else english
    made = Programmed(said="", why_not=why, refusal=code, reason=reason)

    told = told_not_run(made, task_for("code", "What is the sum?"))
    gesagt = told_not_run(made, task_for("code", "Was ist die Summe?"))

    assert told == f"The program was not run. {english}"
    assert gesagt == f"Das Programm wurde nicht ausgeführt. {german}"


@pytest.mark.spec("B5", "S177")
@pytest.mark.parametrize("capable", [True, False], ids=["capable", "small"])
async def test_of_a_program_that_a_person_changed_what_ran_is_told(
    capable: bool, scripted_server: ScriptedServer, cases: Cases
) -> None:
    sandbox = _sandbox()
    scripted_server.script(_program("print(41)"), *([says("It prints 42.")] if capable else []))
    task = task_for("code", "Write a program for the answer", capable=capable)

    output = await cases(task, fake_providers(sandbox=sandbox), checks=_changed_to(GOOD)).output()

    assert sandbox.ran == [GOOD]
    assert (output.data["code"], output.data["stdout"]) == (GOOD, "42\n")
    assert output.shared["generated_code"] == GOOD
    assert output.result.endswith(
        f"A person changed the program before it was run. What ran is this:\n\n{_block(GOOD)}"
    )
    assert not capable or _block(GOOD) in prompt(scripted_server, -1)


@pytest.mark.spec("B5", "S38")
async def test_a_program_that_a_person_changed_is_mended_from_what_ran(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    sandbox = _sandbox()
    said = (says("No program.", times=2), says("It divides by zero."))
    scripted_server.script(_program("print(41)"), *said)
    task = task_for("code", "Write a program for the answer")

    await cases(task, fake_providers(sandbox=sandbox), checks=_changed_to(BROKEN)).output()

    assert _block(BROKEN) in prompt(scripted_server, 1)


@pytest.mark.spec("B23", "S131")
async def test_a_program_of_the_small_model_is_run_when_a_person_lets_it_and_its_output_is_told(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    sandbox = _sandbox()
    scripted_server.script(_program(GOOD))
    case = cases(task_for("code", "Write a program for the answer", capable=False), fake_providers(sandbox=sandbox))

    output = await case.output()

    assert sandbox.ran == [GOOD]
    assert output.task_done
    ran = {"code": GOOD, "language": "python", "stdout": "42\n", "stderr": "", "exit_code": 0, "sandbox_id": "box-1"}
    assert output.data == ran
    assert "The program was run.\n\nIt printed:\n" + fenced("42\n", "text") in output.result
    assert len(scripted_server.calls) == 1


@pytest.mark.spec("B23", "S122", "S131")
async def test_a_program_of_the_small_model_that_a_person_does_not_want_is_not_run(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    sandbox = _sandbox()
    scripted_server.script(_program(GOOD))
    task = task_for("code", "Write a program for the answer", capable=False)

    output = await cases(task, fake_providers(sandbox=sandbox), checks=DENY_ALL).output()

    assert sandbox.ran == []
    assert (output.task_done, output.error) == (False, "denied_by_user")
    assert "The program was not run." in output.result
    assert "not today" in output.result


@pytest.mark.spec("B23")
async def test_a_program_of_the_small_model_that_does_not_work_is_said_to_and_not_tried_again(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    sandbox = _sandbox()
    scripted_server.script(_program(BROKEN))
    task = task_for("code", "Write a program for the answer", capable=False)

    output = await cases(task, fake_providers(sandbox=sandbox)).output()

    assert (sandbox.ran, output.error) == ([BROKEN], "program_failed")
    assert "The program was run, and does not work.\n\nIt ended with an error (exit code 1)." in output.result
    assert "ZeroDivisionError" in output.result


@pytest.mark.parametrize("with_sandbox", [True, False])
async def test_the_small_model_that_writes_no_program_or_has_no_sandbox_asks_nobody(
    with_sandbox: bool, scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(says("I like programs.") if with_sandbox else _program(GOOD))
    task = task_for("code", "Write a program for the answer", capable=False)
    given = fake_providers(sandbox=_sandbox()) if with_sandbox else Providers()

    output = await cases(task, given, checks=DENY_ALL).output()

    assert output.task_done
    assert output.data["exit_code"] is None
    assert ("The program was not run." in output.result) is not with_sandbox


async def test_what_other_agents_found_lies_whole_in_the_sandbox(scripted_server: ScriptedServer, cases: Cases) -> None:
    sandbox = _sandbox()
    before = {"rag-1": found_by("rag", "x" * 3_000, chunks=[{"text": "Budget: 7"}])}
    scripted_server.script(_program(GOOD), says("Compared."))
    task = task_for("code", "Compare it, in code", dependency_outputs=before)

    await cases(task, fake_providers(sandbox=sandbox)).output()

    inputs = json.loads(given(sandbox)["inputs.json"])
    assert inputs["rag-1"]["result"] == "x" * 3_000
    assert inputs["rag-1"]["data"]["chunks"] == [{"text": "Budget: 7"}]
    (path,) = sandbox.files
    assert f"`{path}`" in prompt(scripted_server, 0)


@pytest.mark.slow
async def test_of_what_other_agents_found_as_much_lies_in_the_sandbox_as_a_file_takes(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    sandbox = _sandbox()
    before = {
        "data-1": found_by("data", "Summed.", rows=list(range(200_000))),
        "rag-1": found_by("rag", "x" * 500_000, chunks=[{"text": "Budget: 7"}]),
    }
    scripted_server.script(_program(GOOD), says("Compared."), _program(GOOD), says("Compared."))

    written: list[str] = []
    for names in (["rag-1"], ["data-1", "rag-1"]):
        task = task_for("code", "Compare it, in code", dependency_outputs={name: before[name] for name in names})
        await cases(task, fake_providers(sandbox=sandbox)).output()
        ((path, text),) = sandbox.files.items()
        written.append(text)
        assert f"`{path}`" in prompt(scripted_server, -2)

    texts, most = map(json.loads, written)
    assert max(map(len, written)) <= 400_000
    assert (len(texts["rag-1"]["result"]), texts["rag-1"]["result"][-2:]) == (100_000, "x…")
    assert texts["rag-1"]["data"]["chunks"] == [{"text": "Budget: 7"}]
    assert most["data-1"]["result"] == "Summed."
    assert most["data-1"]["data"] == {"left_out": "This was more than a file here takes."}


async def test_two_agents_of_a_run_do_not_take_each_others_inputs(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    sandbox = _sandbox()
    tasks = [
        task_for("code", f"Compute the {what}, in code", dependency_outputs={"rag-1": found_by("rag", what)})
        for what in ("sales", "costs")
    ]
    scripted_server.script(_program(GOOD), says("So much."), _program(GOOD), says("So much."))
    case = cases(tasks[0], fake_providers(sandbox=sandbox))

    async def both(context: Context, value: Any) -> Any:
        root = AgentContext(cast("DrivenRun", context.run), context.agent)
        for task in tasks:
            await root.outcome(await root.fork("code", commission(task), task=task.task))

    case.programs = {**case.programs, ROOT: cast("Program", both)}
    await case.drive()

    assert sorted(json.loads(text)["rag-1"]["result"] for text in sandbox.files.values()) == ["costs", "sales"]
    assert all(f"`{path}`" in prompt(scripted_server, at) for path, at in zip(sandbox.files, (0, 2), strict=True))


async def test_an_answer_without_a_program_is_asked_for_again_and_then_taken_as_it_is(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(says("I think so."), says("I do."), says("I cannot write that."))

    output = await cases(task_for("code", "Write it"), fake_providers()).output()

    assert (output.task_done, output.error) == (False, "no_code")
    assert output.result == "I cannot write that."
    assert "no program in a fenced block" in prompt(scripted_server, 1)


@pytest.mark.spec("S41")
async def test_it_may_hand_over_to_the_data_agent(scripted_server: ScriptedServer, cases: Cases) -> None:
    scripted_server.script(
        calls("handoff_to_data", task_description="What is the mean of 1, 2 and 3?"),
        says({"question": "The mean?"}),
        _program(GOOD),
        says("The mean is 2."),
    )

    output = await cases(task_for("code", "Mean of 1, 2, 3"), fake_providers(sandbox=_sandbox())).output()

    assert (output.agent_name, output.result) == ("data", "The mean is 2.")


class MakingATable(FakeSandbox):
    """Each program that it runs leaves a table behind."""

    async def run(self, about: About, code: str, **more: Any) -> CodeRun:
        self.files["table.csv"] = "a,b"
        return await super().run(about, code, **more)


@pytest.mark.spec("S47", "S49")
@pytest.mark.parametrize(("source", "target"), [("code", "data"), ("data", "code")])
async def test_after_a_program_it_may_still_hand_over_and_what_the_program_made_goes_along(
    scripted_server: ScriptedServer, cases: Cases, source: str, target: str
) -> None:
    plan = [says({"question": "The mean?"})]
    scripted_server.script(
        *(plan if source == "data" else []),
        _program(BROKEN),
        calls(f"handoff_to_{target}", task_description="The table is there. What is its mean?"),
        *(plan if target == "data" else []),
        _program(GOOD),
        says("The mean is 2."),
    )
    sandbox = MakingATable(outputs=_sandbox().outputs)
    case = cases(task_for(source, "The mean of what they measured"), fake_providers(sandbox=sandbox))

    output = await case.output()

    assert (output.agent_name, output.result) == (target, "The mean is 2.")
    (handed,) = case.events("handoff")
    assert (handed["source_agent"], handed["target_agent"], handed["artifacts"]) == (source, target, ["table.csv"])
    assert f"Files that {source} gives along: table.csv" in prompt(scripted_server, -2)


def _given_a_table() -> tuple[AgentInput, FakeSandbox]:
    """A task that the code agent handed over with a file, and a sandbox that has not got the file."""
    given = HandoffInfo(source_agent="code", target_agent="data", task_description="Mean?", artifacts=("table.csv",))
    sandbox = _sandbox()
    sandbox.kept["table.csv"] = "a,b"
    return task_for("data", "Mean?", handoffs=(given,)), sandbox


@pytest.mark.spec("S47", "S48")
@pytest.mark.parametrize(
    ("last", "done"), [(says("The mean is 2."), True), (Script(status=401, times=0), False)], ids=["done", "failed"]
)
async def test_files_that_came_with_a_handoff_are_gone_from_the_sandbox_when_its_agent_has_ended(
    last: Script, done: bool, scripted_server: ScriptedServer, cases: Cases
) -> None:
    task, sandbox = _given_a_table()
    scripted_server.script(*([says({"question": "The mean?"}), _program(GOOD)] if done else []), last)
    case = cases(task, fake_providers(sandbox=sandbox))

    end = await case.drive()

    assert (end.value["status"] == AgentStatus.COMPLETED) == done
    called = [event["tool"] for event in case.events("tool_call")]
    assert (called[0], called[-1]) == ("restore_artifacts", "cleanup_artifacts")
    assert sandbox.files == {}


@pytest.mark.slow
@pytest.mark.spec("S48", "B1")
@pytest.mark.parametrize("death", Death)
async def test_killed_at_any_record_the_files_of_a_handoff_are_put_and_cleared_away_once(
    death: Death, scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(
        Script(match="## The plan", text=f"Here it is.\n{fenced(GOOD, 'python')}", times=0),
        Script(text=json.dumps({"question": "The mean?"}), times=0),
    )
    task, sandbox = _given_a_table()
    whole = cases(task, fake_providers(sandbox=sandbox))
    await whole.drive()
    assert whole.journal is not None

    for at in range(1, whole.journal.writes + 1):
        task, sandbox = _given_a_table()
        case = cases(task, fake_providers(sandbox=sandbox))
        await case.drive(death=death, at=at)
        await case.drive()

        assert sandbox.files == {}, at
        assert [event["tool"] for event in case.events("tool_call")].count("cleanup_artifacts") == 1, at


async def test_a_program_that_ran_is_told_also_where_no_model_can_sum_it_up(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(_program(GOOD), Script(status=401))
    case = cases(task_for("code", "Write it"), fake_providers(sandbox=_sandbox()))

    output = await case.output()

    assert output.task_done
    assert GOOD in output.result
    assert "42" in output.result
    assert shown(case.all_events) == output.result


@pytest.mark.slow
@pytest.mark.spec("B1", "B10")
@pytest.mark.parametrize("death", Death)
async def test_killed_at_any_record_people_see_the_result_also_where_its_summary_broke_off(
    death: Death, scripted_server: ScriptedServer, cases: Cases
) -> None:
    """The failure of the summary is replayed: it must not take back what was said after it."""
    scripted_server.script(
        Script(match="## Running it", text="It gives for", cut_after=2, times=0),
        _program(GOOD).model_copy(update={"times": 0}),
    )
    whole = cases(task_for("code", "Write it"), fake_providers(sandbox=_sandbox()))
    expected = (await whole.output()).result
    assert whole.journal is not None
    assert GOOD in expected
    assert "42" in expected
    assert "<untrusted" not in expected, "the marks are for models"

    for at in range(1, whole.journal.writes - 1):
        case = cases(task_for("code", "Write it"), fake_providers(sandbox=_sandbox()))
        await case.drive(death=death, at=at)

        assert (await case.output()).result == expected, at
        assert shown(case.all_events) == expected, at


def test_the_longest_block_is_the_program() -> None:
    answer = "First:\n```sh\npip\n```\nthen\n```py\na = 1\nprint(a)\n```\n"

    found = code_in(answer)

    assert found is not None
    assert (found.language, found.text, found.is_runnable) == ("python", "a = 1\nprint(a)", True)
    assert code_in("no code, only `this`") is None
    assert code_in("```python\nprint(1)") == replace(found, text="print(1)")


def test_a_block_cannot_be_ended_by_what_is_in_it() -> None:
    code = 'print("""\n```\nhello\n```\n""")'

    found = code_in(fenced(code, "python"))

    assert found is not None
    assert found.text == code


@pytest.mark.parametrize(
    ("task", "only_result"),
    [
        ("Compute the first 50 primes", True),
        ("How many days are between these dates?", True),
        ("Berechne die Summe", True),
        ("Write a function that computes primes", False),
        ("Schreibe ein Skript, das die Summe berechnet", False),
        ("Fix this: IndexError", False),
    ],
)
def test_whether_a_result_or_a_program_is_wanted(task: str, only_result: bool) -> None:
    assert wants_result_only(task) is only_result
