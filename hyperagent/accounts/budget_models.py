"""Budgets as administrators set them, and the purses that they are held by. What holds for whom, and what a call takes
of it: `agents.usage.purses`, `agents.runtime.shared_budgets`.
"""

from typing import ClassVar

from django.contrib.auth.models import Group
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from hyperagent.accounts.budgets import Period, Unit, Whose


class Budget(models.Model):
    """So much may be used in a day or a month: by one person, each person, a group together, or all together."""

    whose = models.CharField(max_length=16, choices=[(one.value, one.value) for one in Whose])
    user = models.ForeignKey("accounts.User", null=True, blank=True, on_delete=models.CASCADE, related_name="budgets")
    group = models.ForeignKey(Group, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    period = models.CharField(max_length=8, choices=[(one.value, one.value) for one in Period])
    unit = models.CharField(max_length=8, choices=[(one.value, one.value) for one in Unit])
    amount = models.DecimalField(max_digits=19, decimal_places=6, help_text=_("Dollars or tokens. 0: no limit."))
    set_at = models.DateTimeField(db_default=Now(), editable=False)

    objects: ClassVar[models.Manager["Budget"]] = models.Manager()

    class Meta:
        app_label = "accounts"
        ordering = ("whose", "id")
        constraints = (
            models.CheckConstraint(
                condition=Q(whose="user", user__isnull=False, group=None)
                | Q(whose="group", user=None, group__isnull=False)
                | Q(whose__in=["everybody", "installation"], user=None, group=None),
                name="accounts_budget_of_one",
                violation_error_message=_("Name a person for 'user', a group for 'group', and neither for the others."),
            ),
            models.CheckConstraint(condition=Q(amount__gte=0), name="accounts_budget_amount"),
            models.UniqueConstraint(
                fields=("whose", "user", "group", "period", "unit"), nulls_distinct=False, name="accounts_budget_one"
            ),
        )

    def __str__(self) -> str:
        words = (self.get_whose_display(), self.get_period_display(), self.get_unit_display())
        return f"{' '.join(map(str, words))}: {self.amount.normalize():f}"


class Purse(models.Model):
    """What was used of a budget in one day or month, and what calls under way have reserved. Of a person, a group or
    the installation (`budgets.purse_of`); only where a budget holds. The ledger of model calls is the truth of it.
    """

    whose = models.CharField(max_length=48)
    period = models.CharField(max_length=8, choices=[(one.value, one.value) for one in Period])
    starts = models.DateField()
    used_usd = models.DecimalField(max_digits=24, decimal_places=10, default=0, db_default=0)
    used_tokens = models.BigIntegerField(default=0, db_default=0)
    held_usd = models.DecimalField(max_digits=24, decimal_places=10, default=0, db_default=0)
    held_tokens = models.BigIntegerField(default=0, db_default=0)
    unpriced_calls = models.BigIntegerField(default=0, db_default=0)
    told_usd = models.PositiveSmallIntegerField(default=0, db_default=0, help_text="The percentage told of last.")
    told_tokens = models.PositiveSmallIntegerField(default=0, db_default=0)

    objects: ClassVar[models.Manager["Purse"]] = models.Manager()

    class Meta:
        app_label = "accounts"
        constraints = (models.UniqueConstraint(fields=("whose", "period", "starts"), name="accounts_purse_one"),)
        indexes = (models.Index(fields=["starts"], name="accounts_purse_by_start"),)

    def __str__(self) -> str:
        return f"{self.whose} {self.get_period_display()} {self.starts}"


class Hold(models.Model):
    """What a call under way has reserved, in all purses that it counts in. Its run's lease is its own: under another
    epoch, or once the run is not driven any more, it comes free; of no run, after ten minutes. `settled_at`: it is
    over, and what it took is to be moved into the purses.
    """

    call_id = models.UUIDField(primary_key=True)
    execution_id = models.UUIDField(null=True, help_text="Empty for a call of no run.")
    epoch = models.IntegerField()
    purses = ArrayField(models.BigIntegerField())
    usd = models.DecimalField(max_digits=24, decimal_places=10)
    tokens = models.BigIntegerField()
    settled_usd = models.DecimalField(max_digits=24, decimal_places=10, null=True)
    settled_tokens = models.BigIntegerField(null=True)
    is_unpriced = models.BooleanField(default=False, db_default=False)
    made_at = models.DateTimeField(db_default=Now())
    settled_at = models.DateTimeField(null=True)

    objects: ClassVar[models.Manager["Hold"]] = models.Manager()

    class Meta:
        app_label = "accounts"
        indexes = (
            models.Index(fields=["settled_at"], condition=Q(settled_at__isnull=False), name="accounts_hold_settled"),
        )

    def __str__(self) -> str:
        return str(self.call_id)
