"""What administrators chose for agents of the roster. Written by `agents.tuning.actions`; runs read it by
`agents.tuning.snapshot`.
"""

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from agents.tuning.values import MOST_RETRIES, MOST_TEMPERATURE
from hyperagent.lib.llm.types import Tier

CHOSEN = ("model", "tier", "temperature", "timeout_s", "max_retries", "approval")
"""The columns that say something; an empty one leaves it to the agent's spec and the environment."""
APPROVALS = (("at_calls", "at each call that needs a yes"), ("before_agent", "before it begins, too"))


def _or_empty(field: str, **within: Any) -> models.Q:
    return models.Q(**{f"{field}__isnull": True}) | models.Q(**{f"{field}__{how}": to for how, to in within.items()})


class AgentTuning(models.Model):
    agent = models.CharField(
        max_length=31,
        unique=True,
        help_text="A run takes what stands here when it begins. What is under way, or goes on from an earlier try, "
        "stays as it is. Whatever is left empty stays as the agent's code and the environment say.",
    )
    model = models.CharField(
        max_length=200,
        blank=True,
        help_text="As provider/model; the name alone for one of the default provider. It goes before what the "
        "environment names (CHAT_MODEL), and the tier's fallbacks follow it. A question that names a provider, a model "
        "or a tier gets that.",
    )
    tier = models.CharField(
        max_length=8,
        blank=True,
        choices=[(tier.value, tier.value) for tier in Tier],
        help_text="For all of the agent's calls. Without a model, the tier's is asked.",
    )
    temperature = models.FloatField(
        null=True,
        blank=True,
        help_text="From 0 to 2. Calls that only plan what to look for or to do keep their low one.",
    )
    timeout_s = models.IntegerField(
        "time limit (s)", null=True, blank=True, help_text="For one try; waiting for people does not count."
    )
    max_retries = models.SmallIntegerField("retries", null=True, blank=True, help_text="From 0 to 5.")
    approval = models.CharField(max_length=16, blank=True, choices=APPROVALS, help_text="Where a person is asked.")
    changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, editable=False, on_delete=models.SET_NULL, related_name="+"
    )
    changed_at = models.DateTimeField(db_default=Now(), editable=False)

    objects: ClassVar[models.Manager["AgentTuning"]] = models.Manager()

    class Meta:
        app_label = "agents"
        ordering = ("agent",)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(tier__in=["", *(tier.value for tier in Tier)]), name="agents_tuning_tier_known"
            ),
            models.CheckConstraint(
                condition=models.Q(approval__in=["", "at_calls", "before_agent"]), name="agents_tuning_approval_known"
            ),
            models.CheckConstraint(
                condition=_or_empty("temperature", range=(0, MOST_TEMPERATURE)), name="agents_tuning_temperature"
            ),
            models.CheckConstraint(condition=_or_empty("timeout_s", gte=1), name="agents_tuning_timeout"),
            models.CheckConstraint(
                condition=_or_empty("max_retries", range=(0, MOST_RETRIES)), name="agents_tuning_retries"
            ),
        )

    def __str__(self) -> str:
        return self.agent

    def chosen(self) -> dict[str, Any]:
        """What is not empty, by its column."""
        return {name: value for name in CHOSEN if (value := getattr(self, name)) not in (None, "")}
