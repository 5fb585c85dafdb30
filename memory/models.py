"""What people give to be known: documents. Reading, cutting and finding them is not here."""

import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from hyperagent.accounts.models import User


class DocumentQuerySet(models.QuerySet["Document"]):
    def of(self, user: User) -> "DocumentQuerySet":
        """What this user may see: their own."""
        return self.filter(owner=user)


class Document(models.Model):
    """A text that belongs to a person. The same file name of the same owner is the same document."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="documents")
    filename = models.CharField(max_length=255)
    doc_type = models.CharField(max_length=32, help_text="By content: md, txt and so on.")
    title = models.CharField(max_length=255)
    text = models.TextField()
    is_sample = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)

    objects: ClassVar[models.Manager["Document"]] = DocumentQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at", "filename")
        constraints = (models.UniqueConstraint(fields=["owner", "filename"], name="memory_document_filename_unique"),)

    def __str__(self) -> str:
        return self.filename
