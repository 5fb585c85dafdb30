"""Letters: the mails about accounts themselves. What each says is known to `mailing`."""

from enum import StrEnum
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from hyperagent.accounts.people_models import Invitation
from hyperagent.lib.fields import ExactJSONField
from hyperagent.lib.outgoing_mails import WAITING, Outgoing


class LetterKind(StrEnum):
    INVITATION = "invitation"
    PASSWORD_RESET = "password_reset"  # noqa: S105 (no password)
    SECURITY_NEWS = "security_news"
    EXPORT_READY = "export_ready"


class Letter(Outgoing):
    """A mail about an account, or an invitation to one, and whether it went out. Holds no link: those that open a door
    are made when it is sent."""

    kind = models.CharField(max_length=40, choices=[(kind.value, kind.value) for kind in LetterKind])
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+")
    invitation = models.ForeignKey(Invitation, null=True, on_delete=models.CASCADE, related_name="letters")
    facts = ExactJSONField(default=dict, help_text="What it names, by name; text.")

    objects: ClassVar[models.Manager["Letter"]] = models.Manager()

    class Meta:
        ordering = ("-created_at", "-id")
        verbose_name = "mail about accounts"
        verbose_name_plural = "mails about accounts"
        constraints = (
            models.CheckConstraint(
                condition=Q(kind=LetterKind.INVITATION.value, user=None, invitation__isnull=False)
                | Q(~Q(kind=LetterKind.INVITATION.value), user__isnull=False, invitation=None),
                name="accounts_letter_to_one",
            ),
        )
        indexes = (
            models.Index(fields=("next_attempt_at",), name="accounts_letter_due", condition=WAITING),
            models.Index(fields=("-created_at", "-id"), name="accounts_letter_newest"),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.user or self.invitation}"
