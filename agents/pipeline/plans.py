"""A plan: which agents work on what, and who waits for whom. Checked and ordered here; pure, asks and runs nothing."""

import hashlib
from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from agents.craft.exchange import Value
from agents.engine.events import PlannedStep, PlanOverview
from agents.spec import AgentSpec

MAX_TASKS: Final = 16
ID_DIGITS: Final = 6
INTENT_CHARS: Final = 300
CIRCLES_TOLD: Final = 30


class PlanTask(Value):
    """One agent's part. `depends_on`: ids of tasks whose outputs it needs. No `tools` means all of its agent's."""

    id: str
    agent: str
    task: str
    expected_outcome: str = ""
    tools: tuple[str, ...] = ()
    entities: dict[str, Any] = {}
    depends_on: tuple[str, ...] = ()


class Plan(Value):
    """`origin`: who made it: the planner, the patterns, or nobody ("single": one agent answers the question itself).

    `notice` says, in words for people, what became of a plan that could not be taken as it was proposed.
    """

    intent: str = ""
    entities: dict[str, Any] = {}
    tasks: tuple[PlanTask, ...]
    revision: int = 0
    notice: str = ""
    origin: Literal["planner", "patterns", "single"] = "planner"

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(task.id for task in self.tasks)

    @property
    def tools(self) -> frozenset[str]:
        """Those that its tasks name (`with_tools`: all that they may call)."""
        return frozenset(tool for task in self.tasks for tool in task.tools)


def single(question: str, agent: str, *, notice: str = "", revision: int = 0) -> Plan:
    """The plan in which one agent does it all."""
    task = PlanTask(id=task_id(0, agent, question, revision=revision), agent=agent, task=question)
    intent = question[:INTENT_CHARS]
    return Plan(intent=intent, tasks=(task,), origin="single", notice=notice, revision=revision)


# --- what is wrong with a plan


def faults_of(plan: Plan, *, agents: Mapping[str, AgentSpec], done: Collection[str] = ()) -> list[str]:
    """Everything that is wrong with it at once, in words for whoever shall amend it; empty if it can be run.

    `done`: ids of finished tasks of an earlier plan, which may be depended on and may not be used again.
    """
    if not plan.tasks:
        return ["the plan has no task"]
    faults = []
    if len(plan.tasks) > MAX_TASKS:
        faults.append(f"the plan has {len(plan.tasks)} tasks; at most {MAX_TASKS} are allowed")
    counted = Counter(plan.ids)
    faults += [f"the id '{one}' is used by {count} tasks" for one, count in counted.items() if count > 1]
    faults += [f"the id '{one}' belongs to a task that is already done" for one in counted if one in done]
    for task in plan.tasks:
        faults += _faults_of_task(task, agents, known={*counted, *done})
    edges = {task.id: [other for other in task.depends_on if other != task.id] for task in plan.tasks}
    for _ in range(CIRCLES_TOLD):
        cycle = find_cycle(edges)
        if not cycle:
            break
        faults.append(f"circular dependency: {' -> '.join(cycle)}")
        # Only the edge that closes it goes: another circle may share a task with this one.
        edges[cycle[-2]] = [other for other in edges[cycle[-2]] if other != cycle[-1]]
    return faults


def _faults_of_task(task: PlanTask, agents: Mapping[str, AgentSpec], *, known: Collection[str]) -> list[str]:
    faults = []
    if not task.id:
        faults.append("a task has no id")
    if not task.task.strip():
        faults.append(f"task '{task.id}' does not say what to do")
    if task.id in task.depends_on:
        faults.append(f"task '{task.id}' waits for itself")
    faults += [
        f"task '{task.id}' waits for '{other}', which is not in the plan"
        for other in dict.fromkeys(task.depends_on)
        if other not in known
    ]
    if task.agent not in agents:
        faults.append(f"task '{task.id}' names the agent '{task.agent}'; there are: {', '.join(sorted(agents))}")
    return faults + _faults_of_tools(task, agents)


def _faults_of_tools(task: PlanTask, agents: Mapping[str, AgentSpec]) -> list[str]:
    faults = []
    offered = {tool for spec in agents.values() for tool in spec.tools}
    spec = agents.get(task.agent)
    for tool in dict.fromkeys(task.tools):
        if tool not in offered:
            faults.append(f"task '{task.id}' names the tool '{tool}', which does not exist")
        elif spec is not None and tool not in spec.tools:
            has = ", ".join(spec.tools) or "none"
            faults.append(f"task '{task.id}' gives the {task.agent} agent the tool '{tool}'; it has: {has}")
    return faults


def find_cycle(edges: Mapping[str, Sequence[str]]) -> list[str]:
    """A way that ends where it began, `[a, b, a]`; empty if there is none. Ids that are no key are ignored."""
    finished: set[str] = set()
    for start in edges:
        way: list[str] = []
        stack = [(start, iter(edges[start]))] if start not in finished else []
        way += [start] if stack else []
        while stack:
            here, others = stack[-1]
            onward = next((other for other in others if other in edges and other not in finished), None)
            if onward is None:
                stack.pop()
                finished.add(here)
                way.pop()
            elif onward in way:
                return [*way[way.index(onward) :], onward]
            else:
                stack.append((onward, iter(edges[onward])))
                way.append(onward)
    return []


# --- the order of a plan


def stages(plan: Plan) -> list[list[str]]:
    """The ids in stages, by Kahn's algorithm: each stage could run together once those before it are done.

    Dependencies on what is not in the plan count as done. Raises ValueError("Circular dependency: a -> b -> a").
    """
    known = set(plan.ids)
    waits_for = {task.id: {other for other in task.depends_on if other in known} for task in plan.tasks}
    dependents: dict[str, list[str]] = {one: [] for one in plan.ids}
    for one, others in waits_for.items():
        for other in others:
            dependents[other].append(one)
    open_edges = {one: len(others) for one, others in waits_for.items()}
    found: list[list[str]] = []
    queue = deque(one for one in plan.ids if not open_edges[one])
    while queue:
        stage = list(queue)
        queue.clear()
        for one in stage:
            for dependent in dependents[one]:
                open_edges[dependent] -= 1
        ready = {dependent for one in stage for dependent in dependents[one] if not open_edges[dependent]}
        queue.extend(one for one in plan.ids if one in ready)
        found.append(stage)
    if sum(map(len, found)) < len(waits_for):
        cycle = find_cycle({one: sorted(others) for one, others in waits_for.items()})
        raise ValueError(f"Circular dependency: {' -> '.join(cycle)}")
    return found


def downstream(plan: Plan, of: Collection[str]) -> set[str]:
    """These tasks and all that depend on them, however far away."""
    reached = set(of)
    for stage in stages(plan):
        reached |= {task.id for task in plan.tasks if task.id in stage and reached & set(task.depends_on)}
    return reached


# --- ids and tools


def task_id(index: int, agent: str, task: str, *, revision: int = 0, digits: int = ID_DIGITS) -> str:
    """Such as `rag_agent-a1b2c3` (S25): the same for the same task at the same place of the same revision."""
    told = f"{revision}\n{index}\n{agent}\n{task}"
    return f"{agent}_agent-{hashlib.sha256(told.encode('utf-8', 'surrogatepass')).hexdigest()[:digits]}"


def with_unique_ids(plan: Plan, *, keep: Collection[str] = ()) -> Plan:
    """The plan with ids that no other task of the run has, and its edges renamed; ids in `keep` stay as they are."""
    names: dict[str, str] = {}
    taken = set(keep)
    for index, task in enumerate(plan.tasks):
        if task.id in keep:
            continue
        digits = ID_DIGITS
        while (name := task_id(index, task.agent, task.task, revision=plan.revision, digits=digits)) in taken:
            digits += 1
        names[task.id] = name
        taken.add(name)
    renamed = tuple(
        task.model_copy(
            update={
                "id": names.get(task.id, task.id),
                "depends_on": tuple(dict.fromkeys(names.get(other, other) for other in task.depends_on)),
            }
        )
        for task in plan.tasks
    )
    return plan.model_copy(update={"tasks": renamed})


def with_tools(plan: Plan, agents: Mapping[str, AgentSpec]) -> Plan:
    """The plan with each task's tools spelled out: all of its agent's where it names none."""
    tasks = tuple(
        task if task.tools else task.model_copy(update={"tools": agents[task.agent].tools}) for task in plan.tasks
    )
    return plan.model_copy(update={"tasks": tasks})


def continued(before: Plan, done: Collection[str], new: Plan) -> Plan:
    """The plan that goes on from another: its finished tasks first, then the new ones."""
    kept = tuple(
        task.model_copy(update={"depends_on": tuple(other for other in task.depends_on if other in done)})
        for task in before.tasks
        if task.id in done
    )
    return new.model_copy(update={"tasks": (*kept, *new.tasks)})


# --- how people see it


def planned_steps(plan: Plan) -> tuple[PlannedStep, ...]:
    """The tasks in the order of the plan, each with the number of its stage."""
    stage_of = {one: number for number, stage in enumerate(stages(plan), 1) for one in stage}
    return tuple(
        PlannedStep(
            id=task.id,
            agent=task.agent,
            task=task.task,
            expected_outcome=task.expected_outcome,
            depends_on=task.depends_on,
            tools=task.tools,
            stage=stage_of[task.id],
        )
        for task in plan.tasks
    )


def overview(plan: Plan, *, asks_about: Iterable[str] = ()) -> PlanOverview:
    """The event that shows the plan. `asks_about`: tools that need a yes; those of the plan are named on it."""
    return PlanOverview(
        steps=planned_steps(plan),
        intent=plan.intent,
        entities=plan.entities,
        revision=plan.revision,
        asks_about=tuple(sorted(plan.tools & set(asks_about))),
        notice=plan.notice,
    )
