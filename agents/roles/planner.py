"""The planner (S12, S13, S23): divides a question among agents. Stateless: whatever it knows is in its messages."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict

from agents.craft.briefing import files_of, quoted
from agents.craft.earlier_turns import as_quotation
from agents.craft.exchange import AgentOutput, Options
from agents.craft.prompts import fill, read_prompt
from agents.pipeline.carried_out import as_clause, carried_out
from agents.pipeline.plans import MAX_TASKS, Plan, PlanTask
from agents.pipeline.recall import format_user_profile
from agents.roles.asking import assistant, described, question_of, request_of, sections, user
from agents.runtime.context import AgentContext
from agents.spec import AgentSpec
from hyperagent.lib.clipping import beginning
from hyperagent.lib.llm.types import Message, Tier

NAME: Final = "planner"
FAULTS_SHOWN: Final = 30
OUTPUT_CHARS: Final = 800
HERE = Path(__file__).parent


def _text(said: Any) -> Any:
    return "" if said is None else said


def _list(said: Any) -> Any:
    """Models write one name where a list of one is meant, and null for none."""
    if said is None:
        return []
    return [said] if isinstance(said, str | int) else said


def _object(said: Any) -> Any:
    return {} if said is None else said


Text = Annotated[str, BeforeValidator(_text)]
Names = Annotated[list[str], BeforeValidator(_list)]
Entities = Annotated[dict[str, Any], BeforeValidator(_object)]


class Proposed(BaseModel):
    """One task as a model, or a person who edits the plan, writes it."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    id: str
    agent: str
    task: str
    expected_outcome: Text = ""
    tools: Names = []
    entities: Entities = {}
    depends_on: Names = []


class Analysis(BaseModel):
    intent: Text = ""
    entities: Entities = {}


class MasterOutput(BaseModel):
    """What the model answers."""

    analysis: Analysis = Analysis()
    execution_plan: list[Proposed]


async def ask_planner(
    context: AgentContext, messages: Sequence[Message], *, roster: Mapping[str, AgentSpec], options: Options
) -> MasterOutput:
    """The planner's answer to these messages. Raises StepFailed."""
    system = fill(
        read_prompt(HERE / "planner_prompt.md"),
        agents=described(roster.values(), tools=True),
        max_tasks=str(MAX_TASKS),
    )
    return await context.structured(
        request_of(NAME, Tier.PRO, system, *messages, options=options), MasterOutput, stage=NAME
    )


def opening(
    question: str,
    *,
    history: Sequence[Mapping[str, str]],
    profile: Mapping[str, Any],
    done: Mapping[str, AgentOutput],
    revision_context: str,
    options: Options,
) -> tuple[Message, ...]:
    """What the planner is told at first."""
    kept = [(task_id, output) for task_id, output in sorted(done.items()) if output.task_done or carried_out(output)]
    finished = "\n".join(_finished(task_id, output) for task_id, output in kept)
    told = sections(
        ("Question", question_of(question)),
        ("Files that belong to it", files_of(options)),
        ("About the person", format_user_profile(profile)),
        ("Conversation so far", as_quotation(history)),
        ("Already done", finished),
        ("What is still wrong or missing", revision_context),
    )
    return (user(told),)


def amending(answer: MasterOutput, faults: Sequence[str]) -> tuple[Message, ...]:
    """Its own plan, and everything that is wrong with it."""
    lines = [f"- {fault}" for fault in faults[:FAULTS_SHOWN]]
    if len(faults) > FAULTS_SHOWN:
        lines.append(f"- and {len(faults) - FAULTS_SHOWN} more")
    words = fill(read_prompt(HERE / "planner_amend.md"), faults="\n".join(lines))
    return (assistant(beginning(answer.model_dump_json(), 20_000)), user(words))


def plan_of(answer: MasterOutput, *, agents: Mapping[str, AgentSpec], revision: int) -> Plan:
    return Plan(
        intent=answer.analysis.intent,
        entities=answer.analysis.entities,
        tasks=tuple(task_of(proposed, agents=agents) for proposed in answer.execution_plan),
        revision=revision,
    )


def task_of(proposed: Proposed, *, agents: Mapping[str, AgentSpec]) -> PlanTask:
    """`rag_agent` is read as `rag` where that is the agent's name."""
    name = proposed.agent.strip()
    if name not in agents:
        name = name.lower().removesuffix("_agent").removesuffix(" agent")
    return PlanTask(
        id=proposed.id.strip(),
        agent=name,
        task=proposed.task.strip(),
        expected_outcome=proposed.expected_outcome.strip(),
        tools=tuple(dict.fromkeys(proposed.tools)),
        entities=proposed.entities,
        depends_on=tuple(dict.fromkeys(one.strip() for one in proposed.depends_on)),
    )


def _finished(task_id: str, output: AgentOutput) -> str:
    did = carried_out(output)
    once = f"  {as_clause(did)}: plan it no more\n" if did else ""
    said = output.result if output.task_done else f"Not finished: {output.error or 'no reason given'}"
    head = f"- id {task_id} ({output.agent_name}): {beginning(output.task_description, 200)}\n"
    return head + once + quoted(task_id, said, limit=OUTPUT_CHARS)
