"""Who a person is at the provider of single sign-on. What follows from it is known to `sso`."""

import uuid
from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

ISSUER_CHARS = 500
SUBJECT_CHARS = 255


class ProviderIdentity(models.Model):
    """A provider's name for somebody that never changes: its issuer and the subject there."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="identities")
    issuer = models.CharField(max_length=ISSUER_CHARS)
    subject = models.CharField(max_length=SUBJECT_CHARS)
    email = models.EmailField(max_length=254, blank=True, help_text="As the provider last said it; decides nothing.")
    given = ArrayField(
        models.CharField(max_length=150),
        default=list,
        blank=True,
        help_text="Roles and groups that came by its claim, and go when the claim says them no more.",
    )
    linked_at = models.DateTimeField(db_default=Now(), editable=False)
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("linked_at", "id")
        verbose_name_plural = "provider identities"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=("issuer", "subject"), name="accounts_provideridentity_one")
        ]

    def __str__(self) -> str:
        return str(self.id)
