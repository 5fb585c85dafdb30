"""The ledger of model calls: what each took, for whom, and when. Written by `agents.runtime.store` with the step that
made the call, read by `agents.usage.reading`; nothing changes a row or takes one out.
"""

from typing import ClassVar

from django.conf import settings
from django.db import models


class ModelCall(models.Model):
    """What one step's call of a model took, its repairs included. It outlives step, run, conversation and person: what
    was paid for stays paid for. So it names them by id, and nothing is deleted with them.
    """

    step_id = models.BigIntegerField(primary_key=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        db_index=False,
        # A foreign key would lock the person's row for each call of each of their runs.
        db_constraint=False,
    )
    execution_id = models.UUIDField()
    conversation_id = models.UUIDField(null=True)
    project_id = models.UUIDField(null=True)
    agent_name = models.CharField(max_length=64)
    provider = models.CharField(max_length=200)
    model = models.CharField(max_length=200)
    prompt_tokens = models.PositiveBigIntegerField()
    completion_tokens = models.PositiveBigIntegerField()
    cost_usd = models.DecimalField(
        max_digits=18, decimal_places=10, null=True, help_text="Empty where the model has no known price: not free."
    )
    at = models.DateTimeField()

    objects: ClassVar[models.Manager["ModelCall"]] = models.Manager()

    class Meta:
        app_label = "agents"
        indexes = (
            models.Index(fields=["user", "at"], name="agents_modelcall_by_user"),
            models.Index(fields=["at"], name="agents_modelcall_by_time"),
        )

    def __str__(self) -> str:
        return f"{self.model} {self.at:%Y-%m-%d}"
