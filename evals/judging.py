"""What an answer lacks, measured against what a case expects. Pure: an empty list is a pass."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from agents.pipeline.citations import cited
from agents.pipeline.plans import Plan, downstream
from evals.casebook import ComposingExpected, HandoffExpected, PlanningExpected, RoutingExpected, ToolExpected


def of_route(kind: str, agent: str, expected: RoutingExpected) -> list[str]:
    faults = []
    if kind != expected.kind:
        faults.append(f"went {kind}, not {expected.kind}")
    if agent not in expected.agents:
        faults.append(f"went to {agent}, not to {' or '.join(expected.agents)}")
    return faults


def of_plan(plan: Plan, expected: PlanningExpected) -> list[str]:
    agents = [task.agent for task in plan.tasks]
    if expected.single:
        alone = len(agents) == 1 and agents[0] in expected.single
        return [] if alone else [f"planned {', '.join(agents)}; {' or '.join(expected.single)} can do it alone"]
    faults = [f"nobody is {wanted}: {', '.join(agents)}" for wanted in expected.agents if not _ids(plan, wanted)]
    if len(agents) > expected.max_tasks:
        faults.append(f"{len(agents)} tasks, more than {expected.max_tasks}")
    faults += [
        f"{second} does not work on what {first} found"
        for first, second in expected.edges
        if not _leads_to(plan, _ids(plan, first), _ids(plan, second))
    ]
    faults += [
        f"{first} and {second} could run at the same time"
        for first, second in expected.parallel
        if _leads_to(plan, _ids(plan, first), _ids(plan, second))
        or _leads_to(plan, _ids(plan, second), _ids(plan, first))
    ]
    return faults


def of_call(name: str | None, arguments: Mapping[str, Any], expected: ToolExpected) -> list[str]:
    if not expected.tools:
        return [] if name is None else [f"called {name}; nothing had to be called"]
    if name not in expected.tools:
        return [f"called {name or 'nothing'}, not {' or '.join(expected.tools)}"]
    return [
        f"{argument} is {arguments.get(argument)!r}, not like {pattern}"
        for argument, pattern in expected.arguments.items()
        if not re.search(pattern, str(arguments.get(argument, "")))
    ]


def of_handoff(name: str | None, expected: HandoffExpected) -> list[str]:
    """`name`: the first tool that was called."""
    given = {"delegate_to_research": "research"}.get(name or "", (name or "").removeprefix("handoff_to_"))
    handed = given if name is not None and (given != name or name == "delegate_to_research") else None
    if expected.handoff is None:
        return [] if handed is None else [f"handed it to {handed}; it had to do it itself"]
    wanted = expected.handoff.split("|")
    return [] if handed in wanted else [f"handed it to {handed or 'nobody'}, not to {' or '.join(wanted)}"]


def of_answer(answer: str, source_count: int, expected: ComposingExpected) -> list[str]:
    faults = [f"does not say {pattern}" for pattern in expected.mentions if not re.search(pattern, answer)]
    faults += [f"says {pattern}" for pattern in expected.absent if re.search(pattern, answer)]
    found = cited(answer, source_count)
    if expected.cites is not None and set(found) != set(expected.cites):
        faults.append(f"cites {list(found)}, not {list(expected.cites)}")
    return faults


def _ids(plan: Plan, wanted: str) -> list[str]:
    return [task.id for task in plan.tasks if task.agent in wanted.split("|")]


def _leads_to(plan: Plan, first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether any of the second works on what one of the first found."""
    return any(set(second) & (downstream(plan, [one]) - {one}) for one in first)
