"""Everything that changes a document for a person. Pages, endpoints, commands and connectors call these verbs; how a
document is read: `memory.ingestion`.
"""

import io
import uuid
from collections.abc import Iterable, Sequence
from typing import IO, Any, Final

import structlog
from django.conf import settings
from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from hyperagent.accounts.metering import take
from hyperagent.accounts.models import User
from hyperagent.accounts.quotas import Work
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import Target, actor_of, record
from hyperagent.lib.clipping import one_line
from hyperagent.lib.outage import or_undo
from hyperagent.lib.refusals import Conflict, NotAllowed, NotThere, Refused
from hyperagent.lib.text import clean_text
from memory.ingestion import content, files
from memory.ingestion.lease import ask_for_job
from memory.ingestion.names import LIMIT, clean_filename, clean_line
from memory.kinds import AT_WORK, SEARCHABLE, DocumentStatus, Origin, Visibility
from memory.models import Connector, Document
from memory.telling import tell, tell_of_deletion

log = structlog.get_logger(__name__)

DESCRIPTION_CHARS: Final = 1_000
_AGAIN: Final = (DocumentStatus.FAILED, DocumentStatus.CANCELLED, DocumentStatus.READY)
# Two uploads and a deletion of the same bytes at the same instant: whoever loses looks again.
_TRIES: Final = 5


def add(
    user: User,
    file: IO[bytes],
    *,
    filename: str,
    title: str = "",
    origin: Origin = Origin.UPLOAD,
    visibility: Visibility = Visibility.PRIVATE,
    groups: Iterable[Group] = (),
    as_administrator: bool = False,
    connector: Connector | None = None,
    source_url: str = "",
) -> tuple[Document, bool]:
    """The document, and whether it is new. The same bytes of the same owner are the first document, as it is; one that
    failed or was cancelled is begun again. `as_administrator`: as in `share`. Raises Refused: too big, no room, a group
    that is not theirs to share with, more than they may give. What a folder, a website or an administrator's command
    brings is not counted.
    """
    shared_with = _groups_allowed(user, visibility, groups, any_group=as_administrator)
    if origin == Origin.UPLOAD:
        take(user.pk, Work.UPLOAD, 1, _size_of(file))
    document_id = uuid.uuid4()
    name = files.name_of(user.pk, document_id)
    kept = files.keep(file, name=name, limit_bytes=settings.CONFIG.document_max_bytes)
    fresh = Document(
        id=document_id,
        owner=user,
        filename=clean_filename(filename),
        title=clean_line(title)[:LIMIT],
        doc_type=content.type_or_nothing(kept.head, clean_filename(filename)),
        sha256=kept.sha256,
        size_bytes=kept.size_bytes,
        stored_as=kept.stored_as,
        origin=origin,
        visibility=visibility,
        connector=connector,
        source_url=clean_text(source_url),
    )
    with or_undo(lambda: files.remove(kept.stored_as)):
        document, is_new = _stored(fresh, shared_with)
    if document.stored_as != kept.stored_as:
        # The second copy of the bytes.
        files.remove(kept.stored_as)
    return document, is_new


def _size_of(file: IO[bytes]) -> int:
    file.seek(0, io.SEEK_END)
    size = file.tell()
    file.seek(0)
    return size


def _stored(fresh: Document, groups: Sequence[Group]) -> tuple[Document, bool]:
    for _try in range(_TRIES):
        with transaction.atomic():
            User.objects.hold(fresh.owner_id)
            # Waits for another transaction that is just adding the same bytes.
            Document.objects.bulk_create([fresh], ignore_conflicts=True)
            found = Document.objects.select_for_update().filter(owner=fresh.owner_id, sha256=fresh.sha256).first()
            if found is None:
                continue
            if found.pk == fresh.pk:
                found.groups.set(groups)
                if found.visibility != Visibility.PRIVATE:
                    _tell_of_sharing(found, groups, by=found.owner)
                ask_for_job(found)
                tell(found.pk)
                return found, True
            _given_again(found, fresh)
            return found, False
    raise Conflict("changing", _("This file is being added and deleted at once. Try again in a moment."))


def _given_again(found: Document, fresh: Document) -> None:
    if not files.exists(found.stored_as):
        # The first copy was lost.
        found.stored_as = fresh.stored_as
        found.save(update_fields=["stored_as"])
    if fresh.origin != Origin.CONNECTOR and found.connector_id is not None:
        # Its owner has it themselves now: it stays when it goes from where the connector found it.
        found.connector, found.origin = None, fresh.origin
        found.save(update_fields=["connector", "origin"])
    if found.status in (DocumentStatus.FAILED, DocumentStatus.CANCELLED):
        _begin(found)


def again(user: User, document_id: uuid.UUID) -> Document:
    """Reads it from the start: what failed, was cancelled, or is to be read by a better parser."""
    with transaction.atomic():
        document = _own(user, document_id)
        if document.status not in _AGAIN:
            raise Conflict("at_work", _("This document is being read. Cancel it first, or wait until it is ready."))
        if not files.exists(document.stored_as):
            raise Conflict("file_gone", _("The file of this document is gone. Give it again."))
        _begin(document)
    return document


def cancel(user: User, document_id: uuid.UUID) -> Document:
    """What was read of it goes; the file stays, so that it can be begun again. Twice changes nothing."""
    with transaction.atomic():
        document = _own(user, document_id)
        if document.status == DocumentStatus.CANCELLED:
            return document
        if document.status not in AT_WORK:
            raise Conflict(
                "not_at_work",
                _("This document is {status}: there is nothing to cancel.").format(status=document.status),
            )
        content.drop(document.pk)
        _change(document, status=DocumentStatus.CANCELLED, reason="", **content.NOTHING_READ)
        tell(document.pk)
    return document


def delete(user: User, document_id: uuid.UUID) -> None:
    """All of it at once: rows, keywords, vectors, and after commit the file. Whoever reads it just now can write
    nothing more."""
    with transaction.atomic():
        document = _own(user, document_id)
        content.drop(document.pk)
        stored_as = document.stored_as
        tell_of_deletion(document.pk, document.owner_id)
        document.delete()
        transaction.on_commit(lambda: files.remove(stored_as))


def share(
    user: User,
    document_id: uuid.UUID,
    *,
    visibility: Visibility,
    groups: Iterable[Group] = (),
    as_administrator: bool = False,
) -> Document:
    """From now on these see it; the same as before changes nothing. Groups that it is shared with already may stay,
    whoever chose them. `as_administrator`: the user is one, and comes by a door that lets them do what only
    administrators may."""
    with transaction.atomic():
        document = _own(user, document_id)
        before = set(document.groups.values_list("pk", flat=True))
        shared_with = _groups_allowed(user, visibility, groups, already=before, any_group=as_administrator)
        if (document.visibility, before) == (visibility, {group.pk for group in shared_with}):
            return document
        document.groups.set(shared_with)
        _change(document, visibility=visibility)
        tell(document.pk)
        _tell_of_sharing(document, shared_with, by=user)
    return document


def _tell_of_sharing(document: Document, groups: Iterable[Group], *, by: User) -> None:
    """By ids: its name is what somebody wrote."""
    is_private = document.visibility == Visibility.PRIVATE
    record(
        AuditKind.DOCUMENT_UNSHARED if is_private else AuditKind.DOCUMENT_SHARED,
        actor=actor_of(by),
        target=Target("document", str(document.pk)),
        details={"visibility": str(document.visibility), "groups": sorted(group.pk for group in groups)},
    )


def rename(user: User, document_id: uuid.UUID, title: str) -> Document:
    """Another title, by which it is found too. The empty one leaves only the file's name."""
    with transaction.atomic():
        document = _own(user, document_id)
        _change(document, title=clean_line(title)[:LIMIT])
        if document.status in SEARCHABLE:
            content.name_again(document)
        tell(document.pk)
    return document


def found_elsewhere(document_id: uuid.UUID, *, filename: str, source_url: str) -> None:
    """Its file has another name or another place now. Nothing for a document that is gone."""
    with transaction.atomic():
        document = Document.objects.select_for_update().filter(pk=document_id).first()
        if document is None:
            return
        _change(document, filename=clean_filename(filename), source_url=clean_text(source_url))
        if document.status in SEARCHABLE:
            content.name_again(document)
        tell(document.pk)


def describe(document_id: uuid.UUID, text: str) -> None:
    """What a model says of it, in place of its first sentences. Nothing for no text, or for a document that is gone."""
    said = one_line(clean_text(text))[:DESCRIPTION_CHARS]
    if said and Document.objects.filter(pk=document_id).update(description=said, updated_at=Now()):
        tell(document_id)


def groups_named(names: Iterable[str]) -> list[Group]:
    """Raises Refused for a name that no group has."""
    wanted = list(dict.fromkeys(clean_line(name) for name in names if name.strip()))
    found = {group.name: group for group in Group.objects.filter(name__in=wanted)}
    if missing := [name for name in wanted if name not in found]:
        raise _no_such_group(missing)
    return [found[name] for name in wanted]


def _groups_allowed(
    user: User, visibility: Visibility, groups: Iterable[Group], *, already: Iterable[int] = (), any_group: bool
) -> list[Group]:
    """People share with groups that they are in, administrators with any. A stranger's group and none at all are told
    apart by nothing."""
    wanted = list(groups)
    if visibility != Visibility.GROUPS:
        return []
    if not wanted:
        message = _("Name at least one group to share with, or choose private or everyone.")
        raise Refused.at("shared_with", message, code="no_group")
    if not any_group:
        own = {*already, *user.groups.values_list("pk", flat=True)}
        if strange := [group.name for group in wanted if group.pk not in own]:
            raise _no_such_group(strange)
    return wanted


def _no_such_group(names: Sequence[str]) -> Refused:
    shown = ", ".join(f"'{name[:60]}'" for name in names)
    message = _(
        "You are in no group {shown}. Share with groups that you are in, with everyone, or keep it private."
    ).format(shown=shown)
    return Refused.at("shared_with", message, code="no_such_group")


def _begin(document: Document) -> None:
    """Within the transaction that holds its row. Its title stays: it may be what its owner calls it."""
    content.drop(document.pk)
    read = {"reason": "", "note": "", "description": "", "language": "", "date": None}
    _change(document, status=DocumentStatus.QUEUED, attempts=0, **read, **content.NOTHING_READ)
    ask_for_job(document)
    tell(document.pk)


def _own(user: User, document_id: uuid.UUID) -> Document:
    """Locked. Raises NotThere for what they may not see, NotAllowed for what is not theirs to change."""
    found = Document.objects.of(user).select_for_update().filter(pk=document_id).first()
    if found is not None:
        return found
    if Document.objects.seen_by(user).filter(pk=document_id).exists():
        raise NotAllowed("not_yours", _("This document is shared with you. Only its owner may change it."))
    raise NotThere


def _change(document: Document, **fields: Any) -> None:
    """With a new epoch when its state changes, so that whoever reads it just now can write nothing more."""
    for name, value in fields.items():
        setattr(document, name, value)
    if "status" in fields:
        document.epoch += 1
        document.lease_until = None
        fields |= {"epoch": document.epoch, "lease_until": None}
    Document.objects.filter(pk=document.pk).update(**fields, updated_at=Now())
