"""Mailboxes that people connected. Written by `actions`, and by `standing`, which notes how they stand."""

import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower, Now

from agents.mail.kinds import AccountKind, AccountState
from hyperagent.lib.mail_servers import Security

TROUBLE_CHARS = 500


class MailAccountQuerySet(models.QuerySet["MailAccount"]):
    def of(self, user_id: uuid.UUID) -> "MailAccountQuerySet":
        """Those of this user, the default one first. Nobody sees another's."""
        return self.filter(user_id=user_id).order_by("-is_default", "created_at", "id")


class MailAccount(models.Model):
    """One mailbox of one person, and what it takes to reach it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=8, choices=[(kind.value, kind.value) for kind in AccountKind])
    address = models.CharField(max_length=254)
    display_name = models.CharField(max_length=100, blank=True, help_text="Stands before the address in mails.")
    imap_host = models.CharField(max_length=253, blank=True)
    imap_port = models.PositiveIntegerField(default=0)
    imap_security = models.CharField(max_length=8, blank=True, choices=[(one.value, one.value) for one in Security])
    smtp_host = models.CharField(max_length=253, blank=True)
    smtp_port = models.PositiveIntegerField(default=0)
    smtp_security = models.CharField(max_length=8, blank=True, choices=[(one.value, one.value) for one in Security])
    user_name = models.CharField(max_length=254, blank=True, help_text="What it signs in as.")
    sealed = models.TextField(editable=False, help_text="Password or tokens, encrypted with keys of SECRET_KEY.")
    state = models.CharField(
        max_length=16, default=AccountState.OK, choices=[(state.value, state.value) for state in AccountState]
    )
    trouble = models.CharField(max_length=TROUBLE_CHARS, blank=True, help_text="What went wrong last, in words.")
    trouble_at = models.DateTimeField(null=True, blank=True)
    is_default = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects: ClassVar[models.Manager["MailAccount"]] = MailAccountQuerySet.as_manager()

    class Meta:
        app_label = "agents"
        ordering = ("created_at", "id")
        constraints = (
            models.UniqueConstraint("user", Lower("address"), name="agents_mailaccount_once"),
            models.UniqueConstraint(
                fields=("user",), condition=Q(is_default=True), name="agents_mailaccount_one_default"
            ),
            models.CheckConstraint(condition=Q(kind__in=list(AccountKind)), name="agents_mailaccount_kind_known"),
            models.CheckConstraint(condition=Q(state__in=list(AccountState)), name="agents_mailaccount_state_known"),
        )

    def __str__(self) -> str:
        return f"{self.address} ({self.kind})"
