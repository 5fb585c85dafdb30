"""Everything that changes a conversation. Page, socket, API and command call these verbs and decide nothing themselves.

Each is one transaction: permission, write, and after commit an announcement to whoever looks at the conversation.
"""

import re
import uuid
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Final

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from agents import actions as runs
from agents.apps import records as apps
from agents.models import Execution
from agents.modes import resolve_mode
from agents.sandbox import actions as boxes
from agents.tools.taint import CLEAN, Taint
from conversations import history, shapes
from conversations.attaching import attached
from conversations.models import Conversation, Message, Origin, Role, TitledBy
from conversations.options import ChosenOptions, of_the_question
from conversations.owned import Said, branch_before, own, own_message, own_run, owning, said_under
from conversations.searching import indexing
from conversations.sharing import actions as sharing
from conversations.turns import BROUGHT, later, message_in, reply_to, start_answer
from hyperagent.accounts.models import User
from hyperagent.lib import rows
from hyperagent.lib.announcing import publish
from hyperagent.lib.client_ids import checked_client_id
from hyperagent.lib.clipping import one_line
from hyperagent.lib.languages import grouped
from hyperagent.lib.queue import enqueue
from hyperagent.lib.refusals import Conflict, NotThere, Refused
from hyperagent.lib.text import clean_text, title_from
from memory import projects
from memory.workspaces import files
from memory.workspaces.places import Place, Scope

CLEAR: Final = "conversations.tasks.clear"
TITLE_CHARS = 200
# Spaces, and characters that show nothing: zero-width ones, direction marks, soft hyphen, fillers, variation selectors.
_INVISIBLE = re.compile(
    r"[\s\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufffd]*"
)
_IDS_OF_KEYS = uuid.UUID("5a0e3a53-3b5c-4c53-9e0c-7b6f4d0e9a11")


def create(
    user: User,
    *,
    title: str = "",
    origin: Origin = Origin.CHAT,
    conversation_id: uuid.UUID | None = None,
    project_id: uuid.UUID | None = None,
    is_temporary: bool = False,
) -> Conversation:
    """`project_id`: of a project that this user is a member of; NotThere for others. `is_temporary`: nothing is
    remembered of it, nothing remembered is told in it, and no list has it."""
    project = projects.seen(user, project_id) if project_id else None
    chosen = _title(title) if title else ""
    titled_by = TitledBy.PERSON if chosen else TitledBy.NOBODY
    return Conversation.objects.create(
        id=conversation_id or uuid.uuid4(),
        user=user,
        title=chosen,
        titled_by=titled_by,
        origin=origin,
        project=project,
        is_temporary=is_temporary,
    )


def rename(user: User, conversation_id: uuid.UUID, title: str) -> Conversation:
    with transaction.atomic():
        conversation = own(user, conversation_id)
        conversation.title, conversation.titled_by = _title(title), TitledBy.PERSON
        conversation.save(update_fields=["title", "titled_by"])
        announce_conversation(conversation)
    return conversation


def move(user: User, conversation_id: uuid.UUID, project_id: uuid.UUID | None) -> Conversation:
    """Into a project that this user is a member of, or out of any. What was said stays as it was answered."""
    with transaction.atomic():
        conversation = own(user, conversation_id)
        conversation.project = projects.seen(user, project_id) if project_id else None
        conversation.save(update_fields=["project"])
        announce_conversation(conversation)
    return conversation


def pin(user: User, conversation_id: uuid.UUID, *, is_pinned: bool) -> Conversation:
    """Above the others in its person's list, or no more. Twice is as once."""
    with transaction.atomic():
        conversation = own(user, conversation_id)
        if is_pinned != (conversation.pinned_at is not None):
            conversation.pinned_at = timezone.now() if is_pinned else None
            conversation.save(update_fields=["pinned_at"])
            announce_conversation(conversation)
    return conversation


def delete(user: User, conversation_id: uuid.UUID) -> None:
    """Its runs that are still going are cancelled; they and their events stay until `conversations.retention` erases
    what was said in them. Its apps end at once; a job takes its boxes and its files away."""
    with transaction.atomic():
        conversation = own(user, conversation_id)
        conversation.deleted_at = timezone.now()
        conversation.save(update_fields=["deleted_at"])
        sharing.forget(conversation_id)
        indexing.forget(conversation_id)
        apps.forget_task(user.pk, conversation_id)
        for execution_id in (
            Execution.objects.live().filter(conversation_id=conversation_id).values_list("id", flat=True)
        ):
            runs.cancel(execution_id, by=user)
        enqueue(CLEAR, conversation_id)
        _announce(conversation, {"type": "conversation.deleted"})


def clear(conversation_id: uuid.UUID) -> None:
    """What a deleted conversation leaves in storage goes. Twice is as once."""
    gone = Conversation.objects.filter(id=conversation_id, deleted_at__isnull=False).first()
    if gone is None:
        return
    boxes.forget_task(gone.user_id, conversation_id)
    files.forget(Place(Scope.CONVERSATION, conversation_id))


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked. `told` replaces the conversation's own history; `brought`: what of others is in the question
    itself. What was said under the same `client_id` is not said again."""

    text: str
    _: KW_ONLY
    mode: str | None = None
    options: ChosenOptions = field(default_factory=ChosenOptions)
    told: Sequence[history.Said] | None = None
    brought: Taint = CLEAN
    client_id: str | None = None


def say(
    user: User,
    conversation_id: uuid.UUID,
    question: Question,
    *,
    edits: uuid.UUID | None = None,
    after: uuid.UUID | None = None,
) -> Said:
    """Writes the question and starts the run that answers it.

    `edits`: the question that this one stands beside, in a branch of its own; `after`: the message that it follows;
    without them it follows the newest. Refuses, with nothing written, what cannot be asked. Nine queries, one more in a
    project, with documents, and where a place is named.
    """
    text = checked_question(question.text)
    mode_name = resolve_mode(question.mode).name
    key = checked_client_id(question.client_id)
    attachments = attached(user, question.options)
    with transaction.atomic(), rows.together():
        owned, said_before = owning(user, conversation_id), said_under(conversation_id, key)
        newest = history.branching(conversation_id) if edits is None and after is None else None
        conversation = owned()
        before = said_before(conversation)
        if before is not None:
            return before
        branch = newest() if newest is not None else branch_before(conversation, edits=edits, after=after)
        message = message_in(
            conversation, Role.USER, branch[-1].id if branch else None, mode_name, text=text, client_id=key
        )
        message.metadata = {"attachments": attachments} if attachments else {}
        if question.options:
            message.metadata["options"] = question.options
        if question.brought:
            message.metadata[BROUGHT] = question.brought.as_json()
        if branch:
            message.created_at = later(message.created_at, branch[-1].created_at)
        reply = reply_to(conversation, message)
        rows.insert(message, reply)
        news = _renewed(conversation, text, reply)
        told = history.told(branch) if question.told is None else question.told
        made_of = branch if question.told is None else ()
        execution = start_answer(user, conversation, message, told, question.options, reply=reply, branch=made_of)
        _announce(conversation, *news, shapes.said(message, reply))
    return Said(conversation, message, reply, execution)


def say_in_named(
    user: User, name: str, question: Question, *, project_id: uuid.UUID | None = None, is_temporary: bool = False
) -> Said:
    """A question in the conversation that a program has this name for; the first one that is not refused begins it.
    Where the name is the question's own `client_id`, the same question again finds the first one."""
    conversation_id = id_of_named(user, name)
    with transaction.atomic():
        try:
            with transaction.atomic():
                create(
                    user,
                    origin=Origin.API,
                    conversation_id=conversation_id,
                    project_id=project_id,
                    is_temporary=is_temporary,
                )
        except IntegrityError:
            pass  # The name was used before: what was said under this client_id is found, or said now.
        return say(user, conversation_id, question)


def id_of_named(user: User, name: str) -> uuid.UUID:
    """Of the conversation that a program has this name for, whether it has begun or not."""
    return uuid.uuid5(_IDS_OF_KEYS, f"{user.pk} {name}")


def say_in_new(
    user: User,
    question: Question,
    *,
    origin: Origin = Origin.API,
    project_id: uuid.UUID | None = None,
    is_temporary: bool = False,
) -> Said:
    """A question and the conversation that it begins, or neither."""
    with transaction.atomic():
        conversation = create(user, origin=origin, project_id=project_id, is_temporary=is_temporary)
        return say(user, conversation.id, question)


def retry_reply(user: User, message_id: uuid.UUID) -> Said:
    """Another reply to the same question, beside the old one. `message_id` is the question's or the old reply's."""
    with transaction.atomic():
        asked = own_message(user, message_id)
        conversation = own(user, asked.conversation_id)
        question = asked.parent if asked.role == Role.ASSISTANT else asked
        if question is None or question.role != Role.USER:
            raise Refused("nothing_to_retry", _("This message answers no question. Choose a question or its answer."))
        if Execution.objects.live().filter(message__parent=question).exists():
            raise Conflict(
                "still_running", _("This question is being answered. Wait for the answer, or stop it first.")
            )
        branch = history.branch(conversation.id, leaf=question.parent_id) if question.parent_id else []
        options = of_the_question(question.metadata.get("options", {}))
        reply = reply_to(conversation, question)
        reply.save(force_insert=True)
        conversation.updated_at = reply.created_at
        conversation.save(update_fields=["updated_at"])
        execution = start_answer(
            user, conversation, question, history.told(branch), options, reply=reply, branch=branch
        )
        _announce(conversation, shapes.said(None, reply))
    return Said(conversation, question, reply, execution)


def retry_run(user: User, execution_id: uuid.UUID, *, agent_id: uuid.UUID | None = None) -> Execution:
    """A run like this one that keeps what was done and does again what failed, or this agent and what needed it."""
    with transaction.atomic():
        old = own_run(user, execution_id, agent_id)
        return _beside(user, old, runs.retry(execution_id, by=user, agent_id=agent_id))


def fork_run(user: User, execution_id: uuid.UUID, *, agent_id: uuid.UUID, step: str) -> Execution:
    """A run that goes the same way up to this step of the agent, and does everything from there on anew."""
    with transaction.atomic():
        old = own_run(user, execution_id, agent_id)
        return _beside(user, old, runs.fork_from(execution_id, by=user, agent_id=agent_id, step=step))


def _beside(user: User, old: Execution, new: Execution) -> Execution:
    """Where the old run answered a question of a conversation, the new one's reply stands beside its reply."""
    before = Message.objects.filter(execution=old).first()
    if before is None or new.id == old.id:
        return new
    conversation = own(user, before.conversation_id)
    reply = message_in(conversation, Role.ASSISTANT, before.parent_id, before.mode, execution=new)
    reply.created_at = later(reply.created_at, before.created_at)
    reply.save(force_insert=True)
    conversation.updated_at = reply.created_at
    conversation.save(update_fields=["updated_at"])
    _announce(conversation, shapes.said(None, reply))
    return new


def cancel(user: User, conversation_id: uuid.UUID | None, execution_id: uuid.UUID) -> Execution:
    """Cancelling twice, or what is over, changes nothing."""
    check_run(user, conversation_id, execution_id)
    return runs.cancel(execution_id, by=user)


def check_run(user: User, conversation_id: uuid.UUID | None, execution_id: uuid.UUID) -> None:
    """Raises NotThere unless it is the user's run, and in this conversation where one is named."""
    own = Execution.objects.filter(id=execution_id, user=user)
    if conversation_id is not None:
        own = own.filter(conversation_id=conversation_id)
    if not own.exists():
        raise NotThere


def checked_question(text: str) -> str:
    """The text as it is stored. Raises Refused for what says nothing and for what is too long."""
    limit: int = settings.CONFIG.max_question_chars
    if len(text) > limit:
        message = _("The question has {count} characters; at most {limit} are allowed. Shorten it.").format(
            count=grouped(len(text)), limit=grouped(limit)
        )
        raise Refused.at("text", message, code="question_too_long")
    cleaned = clean_text(text)
    if _INVISIBLE.fullmatch(cleaned):
        raise Refused.at("text", _("The question is empty. Write something."), code="question_empty")
    return cleaned


def announce_conversation(conversation: Conversation) -> None:
    """Tells every tab its title, after commit."""
    _announce(conversation, shapes.changed(conversation))


# In SQL: to put this together takes Django longer than to run it, and people wait for it.
_KEEP = """
    UPDATE conversations_conversation SET title = %(title)s, titled_by = %(titled_by)s, updated_at = %(updated_at)s
     WHERE id = %(id)s
"""


def _renewed(conversation: Conversation, question: str, reply: Message) -> list[dict[str, Any]]:
    """Writes what a question changes of its conversation; what there is to announce of that."""
    conversation.updated_at = reply.created_at
    is_untitled = conversation.titled_by == TitledBy.NOBODY
    if is_untitled:
        conversation.title, conversation.titled_by = title_from(question)[:TITLE_CHARS], TitledBy.FIRST_WORDS
    rows.execute(_KEEP, {name: getattr(conversation, name) for name in ("id", "title", "titled_by", "updated_at")})
    return [shapes.changed(conversation)] if is_untitled else []


def _title(text: str) -> str:
    title = one_line(clean_text(text))
    if _INVISIBLE.fullmatch(title) or len(title) > TITLE_CHARS:
        raise Refused.at("title", _("A title has 1 to {limit} characters.").format(limit=TITLE_CHARS), code="bad_title")
    return title


def _announce(conversation: Conversation, *messages: dict[str, Any]) -> None:
    group = conversation.group_name
    transaction.on_commit(lambda: publish(group, *messages))


def finish_turn(conversation: Conversation, execution: Execution) -> None:
    """Twice is as once: the time only moves forward."""
    rows = Conversation.objects.filter(id=conversation.id)
    rows.filter(updated_at__lt=execution.ended_at).update(updated_at=execution.ended_at)
    title_by_run(conversation, execution)


def title_by_run(conversation: Conversation, execution: Execution) -> None:
    """The title that a run chose never replaces a person's."""
    title = one_line(clean_text(str((execution.result or {}).get("title") or "")))[:TITLE_CHARS]
    if title:
        rows = Conversation.objects.filter(id=conversation.id)
        rows.filter(titled_by__in=[TitledBy.NOBODY, TitledBy.FIRST_WORDS]).update(title=title, titled_by=TitledBy.RUN)
    conversation.refresh_from_db()
    announce_conversation(conversation)


def mark_finish_handled(execution_id: uuid.UUID) -> None:
    Execution.objects.filter(id=execution_id, finish_handled_at=None).update(finish_handled_at=Now())
