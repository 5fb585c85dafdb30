"""What can be done with a run from outside its driver: start it, cancel it, intervene in it, try it again, and say that
its runner is gone.

Nothing here drives a run. Rows are changed, and a runner is woken when the transaction commits.
"""

from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from agents import copies
from agents.admission import admit, admitting, let_in
from agents.engine.copying import Kept, failed_agents, kept_for_fork, kept_for_retry
from agents.engine.states import (
    INPUT_VERSION,
    LIVE_AGENTS,
    TERMINAL_STATUSES,
    AgentStatus,
    ExecutionStatus,
    InterventionKind,
)
from agents.models import INTERNAL_PIPELINES, AgentExecution, Execution, Intervention
from agents.runtime import leases
from hyperagent.accounts.models import User
from hyperagent.lib import rows
from hyperagent.lib.client_ids import checked_client_id
from hyperagent.lib.ids import new_id
from hyperagent.lib.refusals import Conflict, NotThere, Refused
from hyperagent.lib.telemetry.tracing import carried
from hyperagent.lib.text import clean_text
from hyperagent.lib.wake import wake

MAX_TEXT_CHARS = 8000
UNCHANGED = "unchanged"
MODIFIED = "modified"
"""No status of an agent but what is told of one with other instructions (S95); set, it is the wish for them."""
SETTABLE = (AgentStatus.RUNNING, MODIFIED, AgentStatus.DELETED)


def start(
    *,
    user: User,
    conversation_id: UUID | None,
    question: str,
    history: list[dict[str, Any]] | None = None,
    mode: str = "",
    options: dict[str, Any] | None = None,
    on_finish: str = "",
    pipeline: str = "turn",
    execution_id: UUID | None = None,
    about: dict[str, Any] | None = None,
) -> Execution:
    """Writes a run with its whole input. Call inside the transaction that makes it wanted; it starts with the commit.
    Raises TooMuch where the person has asked for more than they may; what runs in their name by itself is not counted.

    `history`: the turns before, oldest first, as `{"role", "content"}`. `on_finish`: a task of `hyperagent.lib.queue`
    that gets the execution's id once the run has ended. `pipeline`: one of `agents.pipeline.programs`. `about`: what
    else its program is told, by name; of a turn `message_id`, and `is_temporary` where nothing is to be remembered;
    `tainted_by`: what of others stands in the history (`agents.tools.taint`), and `others_said`: how many of its first
    messages are not the person's own words, whatever their role; `quoted`: the places of others that are not, either;
    `brought`: what of others the question itself is; `attached_before`: ids of the documents that were attached to
    earlier questions, and `time_zone`: the person's.
    """
    execution = Execution(
        id=execution_id or new_id(),
        user=user,
        conversation_id=conversation_id,
        question=question,
        mode=mode or "",
        task_id=str((options or {}).get("task_id") or ""),
        input={
            "version": INPUT_VERSION,
            "history": history or [],
            "options": options or {},
            **(about or {}),
            **carried(),
        },
        on_finish=on_finish,
        pipeline=pipeline,
    )
    if pipeline in INTERNAL_PIPELINES:
        let_in(user.pk)
        _write(execution)
        return execution
    # Written before the answer is there: where that is a refusal, the caller's transaction can store nothing any more.
    with transaction.atomic(savepoint=False):
        admitted = admitting(user.pk)
        _write(execution)
        admitted()
    return execution


def _write(execution: Execution) -> None:
    rows.insert(execution)
    wake(execution.id)


def cancel(execution_id: UUID, *, by: User | None) -> Execution:
    """Asks for the run to stop. Idempotent; a run that has ended stays as it ended.

    Who drives the run stops it within a second or two; one that nobody drives is claimed for that.
    """
    with transaction.atomic():
        Execution.objects.filter(id=execution_id, cancel_requested_at=None).exclude(
            status__in=TERMINAL_STATUSES
        ).update(cancel_requested_at=Now(), woken_at=Now(), cancelled_by=by)
        wake(execution_id)
    return Execution.objects.get(id=execution_id)


def intervene(
    agent_id: UUID,
    *,
    by: User,
    user_comment: str | None = None,
    user_content: str | None = None,
    status: str | None = None,
) -> AgentExecution:
    """What a person wants of an agent that is not over: `delete` it, `modify` its instructions, or a free text for it.

    The run's driver applies it within moments. To delete the root is to cancel the run. Raises NotThere, Conflict, or
    Refused for a wish that does not fit.
    """
    with transaction.atomic():
        # The row of the run first, as its driver does when it ends it: the agent's status is certain then.
        execution = (
            Execution.objects.select_for_update(no_key=True, of=("self",)).filter(user=by, agents=agent_id).first()
        )
        agent = AgentExecution.objects.filter(id=agent_id).first()
        if execution is None or agent is None:
            raise NotThere
        kind, text = _wish(user_comment, user_content, status, instructions=agent.user_content or agent.task)
        if kind is None:
            return agent
        if agent.status not in LIVE_AGENTS or execution.is_over:
            raise Conflict(
                "agent_is_over",
                _("This agent is {status}: nothing can be changed about it any more.").format(status=agent.status),
            )
        is_root = agent.parent_id is None
        if is_root and kind is InterventionKind.MODIFY:
            raise Conflict(
                "not_the_root", _("The run itself has no other instructions than its question. Ask it anew.")
            )
        _intervene(execution, kind, text, by=by, agent=agent)
        if is_root and kind is InterventionKind.DELETE:
            cancel(execution.id, by=by)
    return agent


def steer(execution_id: UUID, *, by: User, text: str, client_id: str | None = None) -> Execution:
    """Tells every agent of a run something while it goes on. What it was told under the same `client_id` it is not told
    again, and that is no error, whatever has become of the run. Raises NotThere, Conflict, or Refused for the text."""
    text, key = _checked(text, "text"), checked_client_id(client_id)
    with transaction.atomic():
        execution = Execution.objects.select_for_update(no_key=True).filter(id=execution_id, user=by).first()
        if execution is None:
            raise NotThere
        if key and Intervention.objects.filter(execution=execution, client_id=key).exists():
            return execution
        if execution.is_over:
            raise Conflict(
                "run_is_over", _("This run is {status}. Ask a new question instead.").format(status=execution.status)
            )
        _intervene(execution, InterventionKind.STEER, text, by=by, agent=None, client_id=key)
    return execution


def retry(execution_id: UUID, *, by: User, agent_id: UUID | None = None) -> Execution:
    """A new run that keeps what was done in one that is over, and does again what failed, or this agent.

    Effects that happened are not repeated. Raises NotThere, or Conflict if the run is not over, or nothing failed.
    """
    with transaction.atomic():
        old = _own_past(execution_id, by)
        past = copies.past_of(old)
        if agent_id is not None and agent_id not in {agent.id for agent in past}:
            raise NotThere
        again = [agent_id] if agent_id else failed_agents(past)
        if not again and old.status == ExecutionStatus.COMPLETED:
            raise Conflict("nothing_failed", _("Nothing failed in this run. Name the agent that shall work again."))
        return _begin(old, kept_for_retry(past, again), by=by)


def fork_from(execution_id: UUID, *, by: User, agent_id: UUID, step: str) -> Execution:
    """A new run that goes the way of one that is over up to a step of this agent, and everything from there on anew.

    `step`: its path with dots, such as "3" or "2.0.1". Raises NotThere, Refused for a step that is not there, Conflict.
    """
    with transaction.atomic():
        old = _own_past(execution_id, by)
        past = copies.past_of(old)
        agent = next((agent for agent in past if agent.id == agent_id), None)
        if agent is None:
            raise NotThere
        path = next((found.path for found in agent.steps if ".".join(map(str, found.path)) == step), None)
        if path is None:
            said = _("This agent has no step '{step}'. Take the path of one of its steps, such as 2.0.1.").format(
                step=clean_text(step[:40])
            )
            raise Refused.at("step", said, code="unknown_step")
        return _begin(old, kept_for_fork(past, agent.id, path), by=by)


def release_runner(name: str) -> int:
    """The runner of this name is known to be dead: its runs are free at once. Returns how many.

    Only its supervisor may say so, for it alone knows; for others a lease has to run out.
    """
    return leases.recover_runner(name)


def _own_past(execution_id: UUID, by: User) -> Execution:
    """The run, which is over, as are all copies of it: at most one of them works on what has effects.

    Locks its row, and that of the run that all of them come from.
    """
    old = Execution.objects.filter(id=execution_id, user=by).first()
    if old is None:
        raise NotThere
    root_id = old.effects_root or old.id
    locked = Execution.objects.select_for_update(no_key=True).filter(id__in={root_id, old.id}).order_by("id")
    # Whoever drops a log marks its run first, and waits for this lock with it.
    if any(run.log_dropped_at is not None for run in locked if run.id == old.id):
        raise Conflict(
            "log_not_kept", _("The steps of this run are no longer kept, so none can be done again. Ask it anew.")
        )
    family = Q(id=root_id) | Q(id=old.id) | Q(effects_root=root_id)
    if Execution.objects.live().filter(family).exists():
        raise Conflict(
            "run_is_live", _("This run, or another try of it, is still going on. Wait for its end, or stop it.")
        )
    return old


def _begin(old: Execution, kept: Kept, *, by: User) -> Execution:
    admit(by.pk)
    new = copies.begin(old, kept)
    wake(new.id)
    return new


def _wish(
    comment: str | None, content: str | None, status: str | None, *, instructions: str
) -> tuple[InterventionKind | None, str]:
    """What the three fields say together, and the text that goes with it; None if nothing is to change.

    The statuses `running` and `modified` say no more than the comment beside them, where there is one. Older programs
    send an agent back whole: the `instructions` that it has are no news then.
    """
    if status and status not in SETTABLE:
        said = _("The status of an agent cannot be set to '{status}'; allowed: {allowed}.").format(
            status=clean_text(status[:40]), allowed=", ".join(SETTABLE)
        )
        raise Refused.at("status", said, code="unknown_status")
    if status == MODIFIED and comment in (None, "", UNCHANGED):
        comment = InterventionKind.MODIFY
    if status == AgentStatus.DELETED or comment == InterventionKind.DELETE:
        return InterventionKind.DELETE, ""
    if comment == InterventionKind.MODIFY:
        return InterventionKind.MODIFY, _checked(content or "", "user_content")
    is_news = bool(content) and clean_text(content or "").strip() != instructions.strip()
    if comment in (None, "", UNCHANGED):
        return (InterventionKind.MODIFY, _checked(content or "", "user_content")) if is_news else (None, "")
    if is_news:
        said = _("An agent is told something, or gets other instructions. Leave out the comment or user_content.")
        raise Refused.at("user_content", said)
    return InterventionKind.COMMENT, _checked(comment, "user_comment")


def _checked(text: str, field: str) -> str:
    text = clean_text(text).strip()
    if not 1 <= len(text) <= MAX_TEXT_CHARS:
        said = _("{field} needs 1 to {limit} characters, and has {count}.").format(
            field=field, limit=MAX_TEXT_CHARS, count=len(text)
        )
        raise Refused.at(field, said)
    return text


def _intervene(
    execution: Execution,
    kind: InterventionKind,
    text: str,
    *,
    by: User,
    agent: AgentExecution | None,
    client_id: str = "",
) -> None:
    """Writes the wish down, marks the agent with it, and wakes whoever drives the run."""
    Intervention.objects.create(
        execution=execution, agent_id=agent.id if agent else None, kind=kind, text=text, by=by, client_id=client_id
    )
    if agent is not None:
        agent.user_comment = text if kind is InterventionKind.COMMENT else kind
        changed = ["user_comment"]
        if kind is InterventionKind.MODIFY:
            agent.user_content, agent.modified = text, True
            changed += ["user_content", "modified"]
        agent.save(update_fields=changed)
    Execution.objects.filter(id=execution.id).update(woken_at=Now())
    wake(execution.id)
