"""The tables of conversations: what was said, as a tree. What became of a question is in its execution."""

import uuid
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from agents.models import Execution
from memory.models import Project

if TYPE_CHECKING:
    from hyperagent.accounts.models import User


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"


class Origin(StrEnum):
    """Where a conversation began. Those of programs are kept out of the page's list."""

    CHAT = "chat"
    API = "api"
    SAMPLE = "sample"


class TitledBy(StrEnum):
    """Whose title it is: a later kind replaces an earlier one, never the other way round."""

    NOBODY = "nobody"
    FIRST_WORDS = "first_words"
    RUN = "run"
    PERSON = "person"


class ConversationQuerySet(models.QuerySet["Conversation"]):
    def of(self, user: "User") -> "ConversationQuerySet":
        """What this user may see: theirs, and not deleted."""
        return self.filter(user=user, deleted_at=None)


class Conversation(models.Model):
    """Deleting one only marks it: its executions and events outlive it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="conversations")
    title = models.CharField(max_length=200, blank=True)
    titled_by = models.CharField(
        max_length=16, default=TitledBy.NOBODY, choices=[(kind.value, kind.value) for kind in TitledBy]
    )
    origin = models.CharField(max_length=8, default=Origin.CHAT, choices=[(kind.value, kind.value) for kind in Origin])
    project = models.ForeignKey(Project, null=True, blank=True, on_delete=models.SET_NULL, related_name="conversations")
    is_temporary = models.BooleanField(
        default=False, help_text="Nothing is remembered from it, nothing remembered is told in it, and no list has it."
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now)
    deleted_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager["Conversation"]] = ConversationQuerySet.as_manager()

    class Meta:
        ordering = ("-updated_at", "-id")
        indexes = (
            models.Index(
                fields=["user", "-updated_at", "-id"],
                name="conversations_of_user",
                condition=models.Q(deleted_at=None),
            ),
        )
        constraints = (
            models.CheckConstraint(
                condition=models.Q(origin__in=list(Origin)), name="conversations_conversation_origin_known"
            ),
        )

    def __str__(self) -> str:
        # Not the title: it is made of what somebody said, and this stands in logs and on admin pages.
        return str(self.id)

    @property
    def group_name(self) -> str:
        """The Channels group of everybody who looks at it; its runs announce to the same."""
        return f"conversation.{self.id}"


class Message(models.Model):
    """Something said. An assistant's text is the answer of its execution, and stands there only."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="messages")
    parent = models.ForeignKey("self", null=True, blank=True, on_delete=models.CASCADE, related_name="children")
    role = models.CharField(max_length=10, choices=[(role.value, role.value) for role in Role])
    text = models.TextField(blank=True)
    execution = models.OneToOneField(
        Execution, null=True, blank=True, on_delete=models.SET_NULL, related_name="message"
    )
    mode = models.CharField(max_length=32, blank=True)
    metadata = models.JSONField(default=dict, blank=True)
    client_id = models.CharField(max_length=100, blank=True, help_text="Given by whoever said it: not said twice.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("created_at", "id")
        constraints = (
            models.UniqueConstraint(
                fields=["conversation", "client_id"],
                condition=~models.Q(client_id=""),
                name="conversations_message_said_once",
            ),
            models.CheckConstraint(condition=models.Q(role__in=list(Role)), name="conversations_message_role_known"),
            models.CheckConstraint(
                condition=models.Q(role=Role.ASSISTANT) | models.Q(execution=None),
                name="conversations_message_only_replies_have_runs",
            ),
        )
        indexes = (models.Index(fields=["conversation", "created_at"], name="conversations_message_order"),)

    def __str__(self) -> str:
        return f"{self.role} {self.id}"


class ConversationSummary(models.Model):
    """What was said in a branch up to a message, told in short (S159). A newer one takes over from the one before."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="summaries")
    upto = models.OneToOneField(
        Message, on_delete=models.CASCADE, related_name="summary", help_text="The last message that it covers."
    )
    text = models.TextField()
    turns_covered = models.IntegerField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("created_at",)
        verbose_name_plural = "conversation summaries"

    def __str__(self) -> str:
        return str(self.id)
