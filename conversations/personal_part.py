"""What conversations keep of a person: all that was said, as a tree, its summaries, and what is asked by itself."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

# Before what reads it: it reads our settings of it while it loads, and a process of the queue may be the first to ask.
import rest_framework.views  # noqa: F401
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from conversations.exporting import as_markdown
from conversations.models import Conversation, Message
from conversations.retention import erase_conversations
from conversations.schedules.actions import pause_all
from conversations.schedules.models import Schedule, ScheduledRun
from conversations.schedules.reading import runs_of
from conversations.schedules.shapes import run_shape, schedule_shape
from conversations.shapes import message_shape
from hyperagent.accounts.archive import Archive
from hyperagent.accounts.personal import PersonalPart
from hyperagent.lib.database import db_now
from hyperagent.lib.times import iso

AT_ONCE = 50
ROWS = 200
TITLE_CHARS = 80


class ConversationsPart(PersonalPart):
    name = "conversations"
    goes = (_("Conversations, and every link to one that was shared"), _("Schedules and their history"))

    def write(self, user_id: UUID, archive: Archive) -> None:
        own = Conversation.objects.filter(user=user_id, deleted_at=None)
        for conversation in archive.each("conversations", own):
            name = f"conversations/{_file_name(conversation)}"
            archive.text(f"{name}.md", as_markdown(conversation))
            archive.rows(f"{name}.json", _messages(conversation))
        archive.rows("schedules.json", _schedules(user_id))

    def suspend(self, user_id: UUID) -> None:
        pause_all(user_id)

    def stop(self, user_id: UUID) -> None:
        Conversation.objects.filter(user=user_id, deleted_at=None).update(deleted_at=timezone.now())

    def erase(self, user_id: UUID) -> int:
        return self._erase_schedules(user_id) or erase_conversations(Conversation.objects.filter(user=user_id))

    def _erase_schedules(self, user_id: UUID) -> int:
        runs = list(ScheduledRun.objects.filter(schedule__user=user_id).values_list("pk", flat=True)[: ROWS * 10])
        if runs:
            return ScheduledRun.objects.filter(pk__in=runs).delete()[0]
        return Schedule.objects.filter(user=user_id).delete()[0]


def _messages(conversation: Conversation) -> Iterator[dict[str, Any]]:
    rows = Message.objects.filter(conversation=conversation).select_related("execution")
    rows = rows.defer("execution__input", "execution__question").order_by("created_at", "id")
    for message in rows.iterator(chunk_size=ROWS):
        yield message_shape(message)


def _schedules(user_id: UUID) -> Iterator[dict[str, Any]]:
    rows = Schedule.objects.filter(user=user_id).select_related("project", "conversation").order_by("created_at", "pk")
    now = db_now()
    for schedule in rows.iterator(chunk_size=AT_ONCE):
        history = [run_shape(run) for run in runs_of(schedule)]
        yield {**schedule_shape(schedule, None, now=now), "history": history}


def _file_name(conversation: Conversation) -> str:
    title = conversation.title.replace("/", "_")[:TITLE_CHARS].strip() or "Conversation"
    return f"{iso(conversation.created_at)[:10]} {title} {str(conversation.pk)[:8]}"  # type: ignore[index]
