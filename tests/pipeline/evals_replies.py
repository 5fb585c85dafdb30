"""What a model has to say to pass a case of the evaluations, made from what the case expects; and what fails it."""

import json
import re
from collections.abc import Mapping
from typing import Any

from evals.casebook import Case, ComposingCase, HandoffCase, PlanningCase, RoutingCase, ToolCase
from evals.first_call import offered
from tests.scripted.script import Script, ScriptedCall

PROGRAM = "It prints.\n```python\nprint(1)\n```"
NO = "Rather not."
ACTIONS = {"read_message": "read", "draft_email": "draft", "send_email": "send", "reply_to_message": "reply"}
SEARCHES = {"web_search": "basic", "web_search_news": "news", "web_search_deep": "deep"}


def right(case: Case) -> list[Script]:
    """The lines of a script by which the case passes."""
    match case:
        case RoutingCase():
            return [_json(agent=case.expect.agents[0], confidence=0.9, reason="It is so.")]
        case PlanningCase():
            return [_plan(case)]
        case ToolCase():
            arguments = {name: matching(pattern) for name, pattern in case.expect.arguments.items()}
            return _calling(case.agent, case.expect.tools[0], arguments) if case.expect.tools else [_text("Hello.")]
        case HandoffCase():
            return _handing_over(case.agent, case.expect.handoff.split("|")[0] if case.expect.handoff else None)
        case ComposingCase():
            said = [matching(pattern) for pattern in case.expect.mentions]
            return [_text(". ".join([*said, *(f"So it says [{number}]" for number in case.expect.cites or ())]))]
    raise AssertionError(case)


def wrong(case: Case) -> list[Script]:
    """The lines of a script, as well formed, by which it fails."""
    match case:
        case RoutingCase():
            other = next(one for one in ("writing", "rag") if one not in case.expect.agents)
            return [_json(agent=other, confidence=0.9, reason="It is so.")]
        case PlanningCase():
            lone = {"id": "1", "agent": "rag" if case.expect.single and "rag" not in case.expect.single else "chat"}
            more = {"id": "2", "agent": "mail", "task": "That"}
            return [_json(execution_plan=[{**lone, "task": "This"}, *([more] if case.expect.single else [])])]
        case ToolCase():
            if case.agent in ("code", "data"):
                return _programmed(case.agent, NO)
            others = [tool for tool in (*SEARCHES, "search_sent", "search_inbox") if tool in offered(case.agent)]
            tool = next((tool for tool in others if tool not in case.expect.tools), None)
            return _calling(case.agent, tool, {"query": "-"}) if tool else [_json(query="-")]
        case HandoffCase():
            first = next(tool for tool in offered(case.agent) if tool.startswith("handoff_to_"))
            return _handing_over(case.agent, None if case.expect.handoff else first.removeprefix("handoff_to_"))
        case ComposingCase():
            return [_text("Quite so.")]
    raise AssertionError(case)


def matching(pattern: str) -> str:
    """A text that fits one of the simple patterns in which the cases are written."""
    plain = re.sub(r"\(([^|)]*)[^)]*\)", r"\1", pattern.removeprefix("(?i)")).split("|")[0]
    said = re.sub(r"\\(.)", r"\1", plain.replace(" ?", " "))
    assert re.search(pattern, said), f"write it more simply: {pattern}"
    return said


def _plan(case: PlanningCase) -> Script:
    wanted = case.expect.single[:1] or case.expect.agents
    needs = {second: [one for one, other in case.expect.edges if other == second] for second in wanted}
    tasks = [
        {"id": name, "agent": name.split("|")[0], "task": f"Do what {name} does", "depends_on": needs[name]}
        for name in wanted
    ]
    return _json(execution_plan=tasks)


def _calling(agent: str, tool: str, arguments: Mapping[str, str]) -> list[Script]:
    """The first call of this agent is of this tool."""
    match agent:
        case "web":
            return [_json(search_type=SEARCHES[tool], **arguments)]
        case "rag":
            return [_json(**arguments)]
        case "mail":
            given = {name: [said] if name == "to" else said for name, said in arguments.items()}
            # Plan and letter at once.
            return [_json(action=ACTIONS.get(tool, tool), subject="-", body="As you wish.", **given)]
        case "code" | "data":
            return _programmed(agent, PROGRAM)
        case "research":
            return [_at_first(focus="That"), _call(tool, arguments)]
        case _:
            return [_call(tool, arguments)]


def _handing_over(agent: str, target: str | None) -> list[Script]:
    """To nobody: it does the task itself."""
    name = f"handoff_to_{target}"
    match agent:
        case "writing":
            assigned = _at_first(writing_type="post", tone="plain", handoff_to=target or "none")
            return [assigned, _text("So be it.")]
        case "research":
            return [_at_first(focus="That", handoff_to=target or "none"), _call("web_search", {"query": "That"})]
        case "data":
            return [_at_first(question="That", handoff_to=target or "none"), _text(PROGRAM)]
        case _:
            return [_call(name, {"task_description": "That"}) if target else _text(PROGRAM)]


def _programmed(agent: str, said: str) -> list[Script]:
    return [*([_at_first(question="That")] if agent == "data" else []), _text(said)]


def _json(**fields: Any) -> Script:
    return _text(json.dumps(fields))


def _at_first(**fields: Any) -> Script:
    return Script(text=json.dumps(fields))


def _text(said: str) -> Script:
    return Script(text=said, times=0)


def _call(tool: str, arguments: Mapping[str, str]) -> Script:
    return Script(tool_calls=[ScriptedCall(name=tool, arguments=json.dumps(arguments))], times=0)
