"""Who was asked to come, and the accounts of programs. What may be done with either is known to `invitations` and
`service_accounts`.
"""

import uuid
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from django.conf import settings
from django.contrib.auth.models import Group
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Lower, Now
from django.utils import timezone

from hyperagent.accounts.scopes import Role, Scope

if TYPE_CHECKING:
    from hyperagent.accounts.letter_models import Letter


class InvitationState(StrEnum):
    OPEN = "open"
    ENDED = "ended"
    ACCEPTED = "accepted"
    REVOKED = "revoked"


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def open(self) -> "InvitationQuerySet":
        """Those that open the door at this moment, by the database's clock."""
        return self.unanswered().filter(ends_at__gt=Now())

    def unanswered(self) -> "InvitationQuerySet":
        return self.filter(accepted_at=None, revoked_at=None)


class Invitation(models.Model):
    """Somebody was asked by e-mail to come. Its link is signed and not kept: see `invitations.link_of`."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    email = models.EmailField(max_length=254)
    roles = ArrayField(
        models.CharField(max_length=20, choices=[(role.value, role.value) for role in Role]), default=list
    )
    groups = models.ManyToManyField(Group, blank=True, related_name="+")
    invited_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    made_at = models.DateTimeField(db_default=Now(), editable=False)
    number = models.PositiveSmallIntegerField(default=1, help_text="How often it was sent: only the last link is good.")
    mailed_at = models.DateTimeField(null=True, blank=True, help_text="When the mail server took the last one.")
    ends_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, blank=True)
    accepted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        ordering = ("-made_at", "-id")
        constraints = (
            models.UniqueConstraint(
                Lower("email"),
                condition=models.Q(accepted_at=None, revoked_at=None),
                name="accounts_invitation_one_at_a_time",
            ),
        )
        indexes = (models.Index(fields=("-made_at", "-id"), name="accounts_invitation_newest"),)

    def __str__(self) -> str:
        return self.email

    @property
    def mail_trouble(self) -> str:
        """What became of the last letter, while the mail server has not taken it. Reads all of its letters."""
        last = self._last_letter()
        return last.last_error if last is not None and last.sent_at is None else ""

    @property
    def is_unmailed(self) -> bool:
        """Whether the last letter was given up: nobody sends it any more. Reads all of its letters."""
        last = self._last_letter()
        return last is not None and last.given_up_at is not None

    def _last_letter(self) -> "Letter | None":
        return max(self.letters.all(), key=lambda letter: letter.created_at, default=None)

    @property
    def state(self) -> InvitationState:
        if self.accepted_at is not None:
            return InvitationState.ACCEPTED
        if self.revoked_at is not None:
            return InvitationState.REVOKED
        return InvitationState.OPEN if self.ends_at > timezone.now() else InvitationState.ENDED


class ServiceAccount(models.Model):
    """What a program's account has besides that of a person: who answers for it, how far it reaches, and its end."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="service_account"
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="service_accounts"
    )
    purpose = models.CharField(max_length=200, blank=True, default="")
    scopes = ArrayField(models.CharField(max_length=20, choices=[(scope.value, scope.value) for scope in Scope]))
    ends_at = models.DateTimeField()
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    made_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ("-made_at",)
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                # It decides nothing: whatever it asks is for its owner, or whom a policy names.
                condition=models.Q(scopes__len__gt=0)
                & models.Q(scopes__contained_by=[scope.value for scope in Scope if scope is not Scope.APPROVE]),
                name="accounts_serviceaccount_scopes_known",
            )
        ]

    def __str__(self) -> str:
        return str(self.user_id)
