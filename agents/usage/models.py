"""The ledger of model calls: what each took, for whom, and when. Written by `agents.runtime.store` with the step that
made the call, read by `agents.usage.reading`; nothing changes a row or takes one out. And what models cost here.
"""

from typing import Any, ClassVar

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from hyperagent.lib.llm.prices import MOST_USD


class ModelCall(models.Model):
    """What one step's call of a model took, its repairs included; or a call of the embedder's, which is of no run and
    has a negative number. It outlives step, run, conversation and person: what was paid for stays paid for. So it
    names them by id, and nothing is deleted with them.
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
    execution_id = models.UUIDField(null=True)
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
    is_estimate = models.BooleanField(
        default=False, db_default=False, help_text=_("It broke off before its provider said what it took.")
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


def _dollars(name: Any, **more: Any) -> Any:
    """Per million tokens."""
    limits = [MinValueValidator(0), MaxValueValidator(MOST_USD)]
    return models.DecimalField(name, max_digits=14, decimal_places=6, validators=limits, **more)


class ModelPrice(models.Model):
    """What a model costs from some time on, in dollars per million tokens. Goes before what LiteLLM's table says. Rows
    stay: what was paid before is as it was. `is_taken_back`: from then on what is known elsewhere holds again.
    """

    model = models.CharField(
        max_length=200, help_text=_("As provider/model, such as mine/llama-4; without the provider it holds for all.")
    )
    input_usd = _dollars(_("read"))
    output_usd = _dollars(_("written"))
    cached_usd = _dollars(_("read from the cache"), null=True, blank=True, help_text=_("Empty: as what is read."))
    reasoning_usd = _dollars(_("thought"), null=True, blank=True, help_text=_("Empty: as what is written."))
    is_taken_back = models.BooleanField(_("taken back"), default=False, db_default=False, editable=False)
    since = models.DateTimeField(default=timezone.now)
    set_at = models.DateTimeField(db_default=Now(), editable=False)

    objects: ClassVar[models.Manager["ModelPrice"]] = models.Manager()

    class Meta:
        app_label = "agents"
        ordering = ("model", "-since", "-id")
        constraints = (
            models.CheckConstraint(
                condition=models.Q(input_usd__gte=0, output_usd__gte=0), name="agents_modelprice_not_negative"
            ),
            models.UniqueConstraint(fields=("model", "since"), name="agents_modelprice_one"),
        )

    def __str__(self) -> str:
        if self.is_taken_back:
            return f"{self.model}: taken back"
        return f"{self.model}: {self.input_usd.normalize():f} / {self.output_usd.normalize():f}"
