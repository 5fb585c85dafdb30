"""Files of workspaces, their versions, and where the bytes lie. Who may see them: `memory.workspaces.places`."""

import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from memory.kinds import WorkspaceScope
from memory.models.projects import Project

SCOPES = [(scope.value, scope.value) for scope in WorkspaceScope]


def _of_one(name: str) -> models.CheckConstraint:
    """A person's, or a project's: never both, never neither."""
    one = models.Q(user__isnull=False, project__isnull=True) | models.Q(user__isnull=True, project__isnull=False)
    return models.CheckConstraint(condition=one, name=name)


class StoredBytes(models.Model):
    """The bytes of one or many versions: once for each content of a person or project, whose quota they count for.

    Never shared between two of them: else it could be found out by a hash who else has a file.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+")
    project = models.ForeignKey(Project, null=True, on_delete=models.CASCADE, related_name="+")
    sha256 = models.CharField(max_length=64)
    size_bytes = models.BigIntegerField()
    stored_as = models.CharField(max_length=200, unique=True, help_text="The name in the file storage.")

    class Meta:
        verbose_name_plural = "stored bytes"
        constraints = (
            _of_one("memory_storedbytes_of_one"),
            models.UniqueConstraint(fields=["user", "sha256"], name="memory_storedbytes_once_a_user"),
            models.UniqueConstraint(fields=["project", "sha256"], name="memory_storedbytes_once_a_project"),
        )

    def __str__(self) -> str:
        return str(self.id)


class WorkspaceFileQuerySet(models.QuerySet["WorkspaceFile"]):
    def at(self, scope: str, scope_id: uuid.UUID) -> "WorkspaceFileQuerySet":
        """Those of one place, with those in the bin."""
        return self.filter(scope=scope, scope_id=scope_id)

    def standing(self) -> "WorkspaceFileQuerySet":
        """Without those in the bin."""
        return self.filter(deleted_at=None)


class WorkspaceFile(models.Model):
    """A path in a workspace, and what stands there now. Deleted, it lies in the bin with its versions for a while.

    `user`, `project`: whom it belongs to, and with whom it goes: the files of a conversation are their owner's.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    scope = models.CharField(max_length=16, choices=SCOPES)
    scope_id = models.UUIDField(help_text="Of the user, the project or the conversation.")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+")
    project = models.ForeignKey(Project, null=True, on_delete=models.CASCADE, related_name="files")
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    path = models.CharField(max_length=500, db_collation="C")
    version = models.IntegerField(default=0, help_text="The number of the version that stands there now.")
    sha256 = models.CharField(max_length=64)
    size_bytes = models.BigIntegerField()
    media_type = models.CharField(max_length=100)
    changed_at = models.DateTimeField(default=timezone.now)
    deleted_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager["WorkspaceFile"]] = WorkspaceFileQuerySet.as_manager()

    class Meta:
        ordering = ("path",)
        constraints = (
            models.UniqueConstraint(fields=["scope", "scope_id", "path"], name="memory_workspacefile_once_a_place"),
            models.CheckConstraint(
                condition=models.Q(scope__in=list(WorkspaceScope)), name="memory_workspacefile_scope_known"
            ),
            _of_one("memory_workspacefile_of_one"),
        )
        indexes = (
            models.Index(
                fields=["deleted_at"], condition=~models.Q(deleted_at=None), name="memory_workspacefile_in_bin"
            ),
            models.Index(fields=["-changed_at", "id"], name="memory_workspacefile_newest"),
        )

    def __str__(self) -> str:
        # Not the path: it says something, and this stands in logs and on admin pages.
        return str(self.id)


class FileVersion(models.Model):
    """What a file was at a time. `by`: which agent or program wrote it; empty: the person, by a page or the API."""

    id = models.BigAutoField(primary_key=True)
    file = models.ForeignKey(WorkspaceFile, on_delete=models.CASCADE, related_name="versions")
    number = models.IntegerField(help_text="From 1; numbers are never given twice.")
    bytes = models.ForeignKey(StoredBytes, on_delete=models.RESTRICT, related_name="versions")
    media_type = models.CharField(max_length=100)
    by = models.CharField(max_length=100, blank=True)
    by_execution = models.UUIDField(null=True, blank=True)
    effect_key = models.CharField(max_length=64, blank=True, help_text="Of the call that wrote it, to be found by.")
    written_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="Whoever wrote it, or whose run did.",
    )
    written_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("-number",)
        constraints = (models.UniqueConstraint(fields=["file", "number"], name="memory_fileversion_once"),)

    def __str__(self) -> str:
        return f"{self.file_id} version {self.number}"
