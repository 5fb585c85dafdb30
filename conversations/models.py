"""The tables of conversations: what was said, as a tree. What became of a question is in its execution."""

import uuid
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone

from agents.models import Execution
from hyperagent.lib.client_ids import CLIENT_ID_CHARS
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
    pinned_at = models.DateTimeField(null=True, blank=True, help_text="Since when its person has it above the others.")

    objects: ClassVar[models.Manager["Conversation"]] = ConversationQuerySet.as_manager()

    class Meta:
        ordering = ("-updated_at", "-id")
        indexes = (
            models.Index(
                fields=["user", "-updated_at", "-id"],
                name="conversations_of_user",
                condition=models.Q(deleted_at=None),
            ),
            models.Index(fields=["-created_at", "id"], name="conversations_newest"),
            models.Index(fields=["deleted_at"], name="conversations_deleted", condition=~models.Q(deleted_at=None)),
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
    client_id = models.CharField(
        max_length=CLIENT_ID_CHARS, blank=True, help_text="Given by whoever said it: not said twice."
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    words_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="Since when a search finds it by its words."
    )

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
        indexes = (
            models.Index(fields=["conversation", "created_at"], name="conversations_message_order"),
            models.Index(
                fields=["conversation"], name="conversations_message_wordless", condition=models.Q(words_at=None)
            ),
        )

    def __str__(self) -> str:
        return f"{self.get_role_display()} {self.id}"


class MessageWords(models.Model):
    """What a message is found by (`conversations.searching`). It holds no text, and goes with the message; of temporary
    and deleted conversations there is none. Its only index for searching is the one of words, and the rows are narrow:
    the words themselves lie apart (migration 0003)."""

    message = models.OneToOneField(Message, primary_key=True, on_delete=models.CASCADE, related_name="words")
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="+")
    user_id = models.UUIDField(help_text="Whose conversation it is: part of every search.")
    said_at = models.DateTimeField()
    words = SearchVectorField()

    class Meta:
        verbose_name_plural = "words of messages"
        indexes = (GinIndex(fields=["words"], name="conversations_words"),)

    def __str__(self) -> str:
        return str(self.message_id)


class ShareQuerySet(models.QuerySet["Share"]):
    def open(self) -> "ShareQuerySet":
        """Those that lead somewhere: neither revoked nor over, of a conversation and an owner who are still there."""
        lasts = models.Q(ends_at=None) | models.Q(ends_at__gt=Now())
        return self.filter(lasts, revoked_at=None, conversation__deleted_at=None, conversation__user__is_active=True)


class Share(models.Model):
    """A link by which everybody who has it reads a conversation, until it is revoked or ends.

    What it shows is `content`, as it was when the link was made; a link that keeps up has none, and shows what stands
    in the conversation. Its token is made of its id and the installation's key, so it can be shown again to its owner,
    and nobody who reads this table can make it.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="shares")
    token_hash = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the token.")
    upto = models.ForeignKey(
        Message, null=True, blank=True, on_delete=models.CASCADE, related_name="+", help_text="The last message shown."
    )
    with_sources = models.BooleanField(default=True)
    with_attachments = models.BooleanField(default=False, help_text="The names of attached files; never the files.")
    keeps_up = models.BooleanField(default=False, help_text="Shows what is said later too.")
    content = models.JSONField(null=True, blank=True, help_text="What is shown, with a version.")
    ends_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True)
    views = models.PositiveIntegerField(default=0, help_text="Without those of its owner.")
    last_seen_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager["Share"]] = ShareQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at", "id")
        constraints = (
            models.CheckConstraint(
                condition=models.Q(keeps_up=True, content__isnull=True, upto=None)
                | models.Q(keeps_up=False, content__isnull=False),
                name="conversations_share_one_content",
            ),
        )

    def __str__(self) -> str:
        return str(self.id)


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


# Models that live beside their part; imported here, where Django looks for them.
from conversations.schedules.models import Schedule, ScheduledRun  # noqa: E402, F401
