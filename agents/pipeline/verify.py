"""Whether what the agents brought is enough, or more is to be planned (S14): by rules first, then by a model."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from agents.craft.exchange import AgentOutput, Options, Value
from agents.craft.stages import stage
from agents.engine.errors import StepFailed
from agents.pipeline.carried_out import as_clause, carried_out
from agents.pipeline.plans import Plan, downstream, stages
from agents.roles.verifier import Judged, ask_verifier
from agents.runtime.context import AgentContext
from agents.tools.registry import tools

STAGE: Final = "verify"
_NO_OPTIONS: Final = Options()
# What a person decided, or what an administrator has to mend: the same task again would end the same way.
BEYOND_MENDING: Final = frozenset(
    {
        "not_configured",
        "denied_by_user",
        "denied_by_policy",
        "switched_off",
        "approved_with_instructions",
        "deleted",
        "cancelled",
        "budget",
        "in_doubt",
        "skipped_by_person",
        "too_many_agents",
        "model_refused",
        "model_unavailable",
        "no_model_configured",
    }
)
_BY_A_PERSON: Final = "hitl_"
_ONLY_FOLLOWED: Final = frozenset({"skipped", "dependency_failed"})


class Verdict(Value):
    """`redo`: tasks that have to be done again, with all that depends on them. `note`: why nothing was checked.

    `feedback` is for the planner, which knows tasks by their ids; `told` says it to people.
    """

    satisfied: bool
    feedback: str = ""
    told: str = ""
    redo: tuple[str, ...] = ()
    note: str = ""


UNCHECKED: Final = Verdict(satisfied=True, note="Only a capable model can check the results.")


async def verified(
    context: AgentContext,
    question: str,
    plan: Plan,
    outputs: Mapping[str, AgentOutput],
    *,
    history: Sequence[Mapping[str, str]] = (),
    options: Options = _NO_OPTIONS,
) -> Verdict:
    """Failures that can be mended are named without asking a model."""
    lost = beyond_mending(plan, outputs)
    failed = {
        task.id: outputs[task.id].error or "it gave no result"
        for task in plan.tasks
        if task.id in outputs and task.id not in lost and not _is_good(outputs[task.id])
    }
    if failed:
        why = "; ".join(f"{outputs[one].agent_name} ({one}) did not do its task: {why}" for one, why in failed.items())
        told = f"{len(failed)} of {len(plan.tasks)} tasks came to nothing"
        return Verdict(satisfied=False, feedback=f"{why}.", told=told, redo=_redo(plan, outputs, failed, lost))
    with stage(context, STAGE, "Checking the results"):
        try:
            judged = await ask_verifier(
                context, question, plan=plan, outputs=outputs, history=history, beyond_mending=lost, options=options
            )
        except StepFailed as error:
            return Verdict(satisfied=True, note=f"The results were not checked. {error.message}")
    return _verdict(judged, plan, outputs, lost)


def beyond_mending(plan: Plan, outputs: Mapping[str, AgentOutput]) -> dict[str, str]:
    """The tasks that were not done and cannot be by planning again, with the reason: their own, or a task's before."""
    lost: dict[str, str] = {}
    for task_id in _in_order(plan):
        output = outputs.get(task_id)
        if output is None or _is_good(output):
            continue
        code = (output.error or "").split(":", 1)[0].strip()
        task = next(task for task in plan.tasks if task.id == task_id)
        before = [lost[other] for other in task.depends_on if other in lost]
        if code in BEYOND_MENDING or code.startswith(_BY_A_PERSON):
            lost[task_id] = output.error or code
        elif did := carried_out(output):
            # As with a retry: who tries again what has changed the world may change it again.
            lost[task_id] = f"{output.error or 'it gave no result'}; {as_clause(did)}"
        elif before and (code in _ONLY_FOLLOWED or not output.result):
            lost[task_id] = before[0]
    return lost


def _verdict(judged: Judged, plan: Plan, outputs: Mapping[str, AgentOutput], lost: Mapping[str, str]) -> Verdict:
    """What the model judged, as far as something follows from it."""
    wanted = [one for one in judged.redo if one in outputs and one not in lost]
    feedback = judged.feedback.strip()
    if judged.satisfied or not (wanted or feedback) or (judged.redo and not wanted):
        return Verdict(satisfied=True)
    return Verdict(
        satisfied=False,
        feedback=feedback or "The results of these tasks cannot be used.",
        redo=_redo(plan, outputs, wanted, lost),
    )


def _redo(
    plan: Plan, outputs: Mapping[str, AgentOutput], wanted: Collection[str], lost: Collection[str]
) -> tuple[str, ...]:
    """These tasks and what was made from their results; never one that is lost, that may have done what cannot be
    undone, or that has changed the world."""
    irreversible = {name for name, tool in tools().items() if tool.irreversible}
    again = downstream(plan, wanted)
    return tuple(
        task.id
        for task in plan.tasks
        if task.id in again
        and task.id not in lost
        and not (_is_done(task.id, outputs) and (irreversible & set(task.tools) or carried_out(outputs[task.id])))
    )


def _is_good(output: AgentOutput) -> bool:
    return output.task_done and bool(output.result.strip() or output.data)


def _is_done(task_id: str, outputs: Mapping[str, AgentOutput]) -> bool:
    return task_id in outputs and _is_good(outputs[task_id])


def _in_order(plan: Plan) -> list[str]:
    return [task_id for stage_ids in stages(plan) for task_id in stage_ids]
