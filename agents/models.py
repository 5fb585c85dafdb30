"""The tables of runs: executions, their agents, the journal's steps, the effects ledger, the event log, what people
want of agents, the runners.

Runners write these through `agents.runtime.store` (raw SQL, fenced by the epoch); Django reads them, and writes what
people want.
"""

import uuid
from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone

from agents.engine.states import (
    TERMINAL_STATUSES,
    AgentStatus,
    EffectStatus,
    ExecutionStatus,
    InterventionKind,
    StepKind,
    StepStatus,
)
from hyperagent.accounts.models import User
from hyperagent.lib.client_ids import CLIENT_ID_CHARS
from hyperagent.lib.fields import ExactJSONField
from hyperagent.lib.ids import new_id


def _choices(values: type) -> list[tuple[str, str]]:
    return [(value.value, value.value) for value in values]  # type: ignore[attr-defined]


INTERNAL_PIPELINES = ("summary", "describe", "rerank", "follow_ups", "afterwards")
"""What the installation does by itself, in a person's name and on their account: no list of what they asked has it."""


class ExecutionQuerySet(models.QuerySet["Execution"]):
    def of(self, user: User) -> "ExecutionQuerySet":
        """What this user may see: the runs that are theirs."""
        return self.filter(user=user)

    def asked(self) -> "ExecutionQuerySet":
        """Those that somebody asked for."""
        return self.exclude(pipeline__in=INTERNAL_PIPELINES)

    def live(self) -> "ExecutionQuerySet":
        return self.exclude(status__in=TERMINAL_STATUSES)


class Execution(models.Model):
    """One run, started by one turn or API call. Whoever holds the lease of the newest epoch drives it.

    Its log and its journal lie in the month that its id tells (`agents.log.partitions`).
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="executions")
    conversation_id = models.UUIDField(null=True, blank=True, db_index=True)
    status = models.CharField(max_length=16, default=ExecutionStatus.PENDING, choices=_choices(ExecutionStatus))
    pipeline = models.CharField(max_length=64, default="turn", help_text="Which function drives it.")
    mode = models.CharField(max_length=32, blank=True)
    task_id = models.CharField(
        max_length=100, blank=True, default="", db_default="", help_text="The asking program's own name for its task."
    )
    question = models.TextField()
    input = ExactJSONField(help_text="Everything the run starts from, with a version.")
    tuning = models.JSONField(
        null=True, blank=True, editable=False, help_text="What administrators had chosen for its agents when it began."
    )
    answer = models.TextField(blank=True)
    result = ExactJSONField(null=True, blank=True)
    error_code = models.CharField(max_length=64, blank=True)
    error_message = models.TextField(blank=True)
    on_finish = models.CharField(max_length=200, blank=True)
    finish_handled_at = models.DateTimeField(null=True, blank=True)
    log_folded_at = models.DateTimeField(null=True, blank=True)
    log_dropped_at = models.DateTimeField(
        null=True, blank=True, help_text="Since then its events and its steps are kept no longer (LOG_RETENTION_DAYS)."
    )

    epoch = models.PositiveIntegerField(default=0, help_text="Number of the lease; a write with an older one fails.")
    lease_until = models.DateTimeField(null=True, blank=True)
    leased_by = models.CharField(max_length=120, blank=True)
    crashes = models.PositiveSmallIntegerField(
        default=0, help_text="Runners in a row that were lost while this was the only run to suspect."
    )
    suspicion = models.PositiveSmallIntegerField(
        default=0, help_text="Runners in a row that were lost while driving this among others."
    )
    lost_by = models.CharField(max_length=120, blank=True, help_text="The runner that was lost, until the next claim.")
    lost_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="Since when it is not known whether that runner lives."
    )
    last_seq = models.PositiveBigIntegerField(default=0)
    last_hash = models.BinaryField(max_length=32, default=bytes(32))
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    cancelled_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    woken_at = models.DateTimeField(null=True, blank=True, help_text="An answer came while it waited.")
    underway = ExactJSONField(
        null=True, blank=True, editable=False, help_text="Calls of models on their way, as of the last heartbeat."
    )

    forked_from = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="forks", db_index=False
    )
    effects_root = models.UUIDField(
        null=True, blank=True, help_text="The run whose effects these are, where this one is a copy; else its own."
    )

    prompt_tokens = models.PositiveBigIntegerField(default=0)
    completion_tokens = models.PositiveBigIntegerField(default=0)
    cost_usd = models.DecimalField(max_digits=14, decimal_places=6, null=True, default=0)

    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager["Execution"]] = ExecutionQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at",)
        permissions = (("view_content", "Can read what other people's runs say"),)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(status__in=list(ExecutionStatus)), name="agents_execution_status_known"
            ),
            models.CheckConstraint(
                condition=models.Q(status__in=TERMINAL_STATUSES, ended_at__isnull=False)
                | (~models.Q(status__in=TERMINAL_STATUSES) & models.Q(ended_at__isnull=True)),
                name="agents_execution_ended_when_terminal",
            ),
        )
        indexes = (
            models.Index(fields=["-created_at", "id"], name="agents_execution_newest"),
            models.Index(fields=["user", "-created_at"], name="agents_execution_by_user"),
            models.Index(
                fields=["created_at"],
                name="agents_execution_claimable",
                condition=models.Q(status="pending") | models.Q(status="awaiting_user", woken_at__isnull=False),
            ),
            models.Index(
                fields=["user", "created_at"],
                name="agents_execution_turns",
                condition=models.Q(status="pending") | models.Q(status="awaiting_user", woken_at__isnull=False),
            ),
            models.Index(
                fields=["user"], name="agents_execution_at_work", condition=models.Q(status__in=["pending", "running"])
            ),
            models.Index(
                fields=["status"],
                name="agents_execution_live",
                condition=~models.Q(status__in=["completed", "failed", "cancelled"]),
            ),
            models.Index(
                fields=["ended_at"],
                name="agents_execution_unfolded",
                condition=models.Q(ended_at__isnull=False, log_folded_at__isnull=True),
            ),
            models.Index(
                fields=["ended_at"],
                name="agents_execution_unhandled",
                condition=models.Q(ended_at__isnull=False, finish_handled_at__isnull=True) & ~models.Q(on_finish=""),
            ),
            models.Index(
                fields=["effects_root"],
                name="agents_execution_copies",
                condition=models.Q(effects_root__isnull=False),
            ),
            models.Index(
                fields=["forked_from"],
                name="agents_execution_forks",
                condition=models.Q(forked_from__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return f"{self.id} ({self.get_status_display()})"

    @property
    def is_over(self) -> bool:
        return self.status in TERMINAL_STATUSES

    @property
    def group_name(self) -> str:
        """The Channels group that its events are announced to."""
        return f"conversation.{self.conversation_id}" if self.conversation_id else f"execution.{self.id}"


class AgentExecution(models.Model):
    """One agent's part of a run: a node of the agent tree and of the plan's graph."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    execution = models.ForeignKey(Execution, on_delete=models.CASCADE, related_name="agents")
    parent = models.ForeignKey("self", null=True, blank=True, on_delete=models.CASCADE, related_name="subagents")
    agent_name = models.CharField(max_length=64)
    lineage = models.CharField(max_length=255, help_text="Its place in the tree, the same on every replay.")
    task = models.TextField(blank=True)
    step_id = models.CharField(
        max_length=128, blank=True, db_default="", default="", help_text="The plan's step that it works on."
    )
    status = models.CharField(max_length=16, default=AgentStatus.PENDING, choices=_choices(AgentStatus))
    modified = models.BooleanField(default=False)
    user_comment = models.TextField(blank=True)
    user_content = models.TextField(blank=True)
    depends_on = ArrayField(models.UUIDField(), default=list, blank=True)
    output = ExactJSONField(null=True, blank=True)
    error = models.TextField(blank=True)
    prompt_tokens = models.PositiveBigIntegerField(default=0)
    completion_tokens = models.PositiveBigIntegerField(default=0)
    cost_usd = models.DecimalField(max_digits=14, decimal_places=6, null=True, default=0)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("started_at",)
        constraints = (
            models.UniqueConstraint(fields=["execution", "lineage"], name="agents_agent_lineage_unique"),
            models.CheckConstraint(condition=models.Q(status__in=list(AgentStatus)), name="agents_agent_status_known"),
        )

    def __str__(self) -> str:
        return f"{self.agent_name} {self.id} ({self.get_status_display()})"


class Step(models.Model):
    """One recorded contact with the outside. The journal of an agent is its steps in the order of their paths."""

    id = models.BigAutoField(primary_key=True)
    agent = models.ForeignKey(AgentExecution, on_delete=models.CASCADE, related_name="steps")
    path = ArrayField(models.IntegerField(), help_text="Numbers of calls and branches, from the agent's start.")
    kind = models.CharField(max_length=8, choices=_choices(StepKind))
    name = models.CharField(max_length=120)
    request = ExactJSONField()
    request_hash = models.BinaryField(max_length=32)
    status = models.CharField(max_length=8, choices=_choices(StepStatus))
    response = ExactJSONField(null=True, blank=True)
    effect_key = models.CharField(max_length=64, blank=True)
    usage = ExactJSONField(null=True, blank=True)
    epoch = models.PositiveIntegerField()
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    cut_at = models.DateTimeField(null=True, blank=True, help_text="The journal diverged here; kept for the audit.")

    class Meta:
        ordering = ("agent", "path")
        constraints = (
            models.UniqueConstraint(
                fields=["agent", "path"], condition=models.Q(cut_at__isnull=True), name="agents_step_path_unique"
            ),
            models.CheckConstraint(condition=models.Q(kind__in=list(StepKind)), name="agents_step_kind_known"),
            models.CheckConstraint(condition=models.Q(status__in=list(StepStatus)), name="agents_step_status_known"),
        )

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.path))} {self.get_kind_display()} {self.name}"


class Effect(models.Model):
    """A step that changes the world, in the ledger before it happens.

    The key is given to the other side where it takes one.
    """

    key = models.CharField(primary_key=True, max_length=64)
    execution = models.ForeignKey(Execution, on_delete=models.CASCADE, related_name="effects")
    agent = models.ForeignKey(AgentExecution, on_delete=models.CASCADE, related_name="effects")
    tool = models.CharField(max_length=120)
    arguments = ExactJSONField()
    arguments_hash = models.BinaryField(max_length=32)
    status = models.CharField(max_length=10, choices=_choices(EffectStatus))
    response = ExactJSONField(null=True, blank=True)
    epoch = models.PositiveIntegerField()
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("started_at",)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(status__in=list(EffectStatus)), name="agents_effect_status_known"
            ),
        )
        indexes = (
            models.Index(fields=["started_at"], name="agents_effect_doubts", condition=models.Q(status="in_doubt")),
        )

    def __str__(self) -> str:
        return f"{self.tool} {self.key} ({self.get_status_display()})"


class Event(models.Model):
    """One thing that people see, numbered in its execution. `body` is the exact JSON text that was sent.

    `hash` = SHA-256 of the hash before (32 zero bytes for the first) and the body. After the run has ended, token
    frames that follow each other are folded into the row of the last: its body then has a line for each, to the letter.
    """

    id = models.BigAutoField(primary_key=True)
    execution = models.ForeignKey(
        Execution,
        on_delete=models.CASCADE,
        related_name="events",
        db_index=False,
        # Checked by the writer, which locks the execution's row: a foreign key would look it up for each event.
        db_constraint=False,
    )
    seq = models.PositiveBigIntegerField()
    agent_id = models.UUIDField(null=True, blank=True)
    type = models.CharField(max_length=32)
    body = models.TextField()
    frames = models.PositiveSmallIntegerField(db_default=1, help_text="How many numbers it stands for, up to its own.")
    hash = models.BinaryField(max_length=32)
    origin = models.CharField(
        max_length=400,
        blank=True,
        default="",
        help_text="The place in the program that emitted it, so that a replay does not.",
    )
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("execution", "seq")
        constraints = (models.UniqueConstraint(fields=["execution", "seq"], name="agents_event_seq_unique"),)

    def __str__(self) -> str:
        return f"{self.execution_id} #{self.seq} {self.type}"


class Intervention(models.Model):
    """What a person wants of an agent, or of all agents of a run, while it goes on. Its driver applies it, once."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    execution = models.ForeignKey(Execution, on_delete=models.CASCADE, related_name="interventions")
    agent_id = models.UUIDField(null=True, blank=True, help_text="Empty for every agent of the run.")
    kind = models.CharField(max_length=8, choices=_choices(InterventionKind))
    text = models.TextField(blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    client_id = models.CharField(
        max_length=CLIENT_ID_CHARS,
        blank=True,
        default="",
        db_default="",
        help_text="Given by whoever said it: not said twice.",
    )
    created_at = models.DateTimeField(db_default=Now())
    applied_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("created_at", "id")
        constraints = (
            models.CheckConstraint(
                condition=models.Q(kind__in=list(InterventionKind)), name="agents_intervention_kind_known"
            ),
            models.UniqueConstraint(
                fields=["execution", "client_id"],
                condition=~models.Q(client_id=""),
                name="agents_intervention_said_once",
            ),
        )

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.id}"


class Runner(models.Model):
    """A process that drives executions, as its own heartbeat tells."""

    name = models.CharField(primary_key=True, max_length=120)
    host = models.CharField(max_length=255)
    pid = models.IntegerField()
    version = models.CharField(max_length=40, blank=True)
    driving = models.PositiveIntegerField(default=0)
    concurrency = models.PositiveIntegerField(default=1)
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


# Models that live beside their part; imported here, where Django looks for them.
from agents.apps.models import App  # noqa: E402, F401
from agents.guardrails.models import Verdict  # noqa: E402, F401
from agents.mail.models import MailAccount  # noqa: E402, F401
from agents.mcp.models import McpServer, McpSignIn, McpTool  # noqa: E402, F401
from agents.sandbox.models import SandboxSession, SandboxSnapshot  # noqa: E402, F401
from agents.tuning.models import AgentTuning  # noqa: E402, F401
from agents.usage.models import ModelCall  # noqa: E402, F401
