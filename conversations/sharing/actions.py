"""Making, listing and revoking links, opening one, and going on from it. The owner of a conversation alone may share
it; for everybody else it is as one that does not exist.
"""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from conversations import branches
from conversations.history import FROM_ELSEWHERE
from conversations.models import Conversation, Message, Role, Share, TitledBy
from conversations.sharing.content import as_copied, content_of
from conversations.sharing.tokens import TOKEN_CHARS, hash_of, token_of
from conversations.turns import BROUGHT
from hyperagent.accounts.models import User
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import JSON, Target, actor_of, record
from hyperagent.lib.conf import Switch
from hyperagent.lib.refusals import NotAllowed, NotThere, Refused
from hyperagent.lib.times import is_tellable

log = structlog.get_logger(__name__)

Json = dict[str, Any]
MOST_LINKS: Final = 50
"""Of one conversation, that are open."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What a link shows. `upto`: the last message; None: all of it. `keeps_up`: what is said later too."""

    upto: uuid.UUID | None = None
    with_sources: bool = True
    with_attachments: bool = False
    keeps_up: bool = False
    ends_at: datetime | None = None


def is_on() -> bool:
    return bool(settings.CONFIG.sharing == Switch.ON)


def share(user: User, conversation_id: uuid.UUID, choice: Choice) -> Share:
    """Makes a link. What it shows is taken now, unless it keeps up."""
    if not is_on():
        raise NotAllowed("sharing_is_off", _("Sharing by links is switched off on this installation."))
    with transaction.atomic():
        conversation = _own(user, conversation_id)
        if conversation.is_temporary:
            raise Refused("temporary", _("A temporary chat is kept nowhere, so it cannot be shared."))
        _check(conversation, choice)
        id_ = uuid.uuid4()
        made = Share(id=id_, conversation=conversation, token_hash=hash_of(token_of(id_)))
        made.with_sources, made.with_attachments = choice.with_sources, choice.with_attachments
        made.keeps_up, made.ends_at, made.upto_id = choice.keeps_up, choice.ends_at, choice.upto
        content = _content(made)
        if not content["messages"]:
            raise Refused("nothing_to_share", _("Nothing is said here yet. Ask something first."))
        made.content = None if choice.keeps_up else content
        made.save(force_insert=True)
        _record(AuditKind.SHARE_MADE, user, made.id, conversation_id, keeps_up=choice.keeps_up)
    log.info("share.made", share=str(made.id), conversation=str(conversation_id), user=str(user.pk))
    return made


def _check(conversation: Conversation, choice: Choice) -> None:
    """Raises Refused with every fault."""
    faults: dict[str, list[str]] = {}
    if choice.ends_at is not None and choice.ends_at <= timezone.now() + timedelta(seconds=1):
        faults["ends_at"] = [_("The end date is past. Choose a later one.")]
    if choice.ends_at is not None and not is_tellable(choice.ends_at):
        faults["ends_at"] = [_("This is no time that can be kept.")]
    if choice.keeps_up and choice.upto is not None:
        faults["keeps_up"] = [_("A link up to a message shows nothing later. Leave one of the two out.")]
    if choice.upto is not None and not conversation.messages.filter(id=choice.upto).exists():
        faults["message_id"] = [_("There is no such message in this conversation.")]
    if faults:
        raise Refused.of(faults)
    if Share.objects.open().filter(conversation=conversation).count() >= MOST_LINKS:
        raise Refused(
            "too_many_links",
            _("This conversation has {limit} links. Revoke one that is not needed.").format(limit=MOST_LINKS),
        )


def links_of(user: User, conversation_id: uuid.UUID) -> QuerySet[Share]:
    """Those that are open, the newest first. Raises NotThere."""
    _own_check(user, conversation_id)
    return Share.objects.open().filter(conversation=conversation_id).defer("content")


def revoke(user: User, conversation_id: uuid.UUID, share_id: uuid.UUID) -> None:
    """From now on nobody opens it. Raises NotThere, for one that was revoked already too."""
    _own_check(user, conversation_id)
    if not _revoke(Share.objects.filter(conversation=conversation_id, id=share_id), by=user):
        raise NotThere


def revoke_all(user: User, conversation_id: uuid.UUID) -> None:
    _own_check(user, conversation_id)
    _revoke(Share.objects.filter(conversation=conversation_id), by=user)


def revoke_any(links: QuerySet[Share], *, by: User) -> int:
    """By an administrator, whosever they are. Gives how many were open."""
    return _revoke(links, by=by)


def forget(conversation_id: uuid.UUID) -> None:
    """Of a conversation that is deleted: its links end, and what they showed is gone."""
    Share.objects.filter(conversation=conversation_id).delete()


def _revoke(links: QuerySet[Share], *, by: User) -> int:
    with transaction.atomic():
        found = dict(links.filter(revoked_at=None).select_for_update().values_list("id", "conversation_id"))
        Share.objects.filter(id__in=found, revoked_at=None).update(revoked_at=Now())
        for id_, conversation_id in found.items():
            _record(AuditKind.SHARE_REVOKED, by, id_, conversation_id)
    for id_ in found:
        log.info("share.revoked", share=str(id_), user=str(by.pk))
    return len(found)


def _record(kind: AuditKind, by: User, share_id: uuid.UUID, conversation_id: uuid.UUID, **details: JSON) -> None:
    target = Target("share", str(share_id))
    record(kind, actor=actor_of(by), target=target, details={**details, "conversation_id": str(conversation_id)})


def _own_check(user: User, conversation_id: uuid.UUID) -> None:
    if not Conversation.objects.of(user).filter(id=conversation_id).exists():
        raise NotThere


def _own(user: User, conversation_id: uuid.UUID) -> Conversation:
    found = Conversation.objects.of(user).select_for_update().filter(id=conversation_id).first()
    if found is None:
        raise NotThere
    return found


# ── Whoever has the link ──────────────────────────────────────────────────────────────────────────────────────────────


def opened(token: str) -> Share | None:
    """None for a link that was never made, is revoked, has ended, or whose conversation or owner is gone: nobody can
    tell which."""
    if not is_on() or len(token) != TOKEN_CHARS or not token.isascii():
        return None
    links = Share.objects.open().select_related("conversation", "conversation__user")
    return links.filter(token_hash=hash_of(token)).first()


def content(link: Share) -> Json:
    return link.content if link.content is not None else _content(link)


def seen(link: Share) -> None:
    """Counts a view."""
    Share.objects.filter(id=link.id).update(views=F("views") + 1, last_seen_at=Now())


def go_on(user: User, link: Share) -> Conversation:
    """What the link shows as a conversation of this person's own, to be gone on with."""
    told = content(link)
    now = timezone.now()
    with transaction.atomic():
        copy = Conversation.objects.create(user=user, title=told["title"], titled_by=TitledBy.RUN)
        parent: Message | None = None
        copies = []
        for number, one in enumerate(told["messages"]):
            at = now + timedelta(microseconds=number)
            is_answer = one["role"] == Role.ASSISTANT
            parent = Message(conversation=copy, parent=parent, role=one["role"], created_at=at)
            parent.text = as_copied(one) if is_answer else one["text"]
            parent.metadata = {} if is_answer else {BROUGHT: FROM_ELSEWHERE.as_json()}
            copies.append(parent)
        Message.objects.bulk_create(copies)
    log.info("share.copied", share=str(link.id), conversation=str(copy.id), user=str(user.pk))
    return copy


def _content(link: Share) -> Json:
    rows = Message.objects.filter(conversation=link.conversation).select_related("execution")
    rows = rows.defer("execution__input", "execution__question").order_by("created_at", "id")
    messages = list(rows)
    return content_of(
        link.conversation.title,
        branches.upto(messages, link.upto_id) if link.upto_id else branches.shown(messages),
        site_url=settings.SITE_URL,
        with_sources=link.with_sources,
        with_attachments=link.with_attachments,
    )
