"""What is attached to a question, and was to those before it, by name and kind: looked up once, among what its person
may see, and recorded, so that a replay goes the same way. Who may see which document is `memory`'s to say.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import structlog
from django.db import DatabaseError

from agents.craft.exchange import Attachment, AttachmentKind, Options
from agents.engine.context import Outcome
from agents.engine.states import StepKind
from agents.pipeline.chosen import chosen_ids
from agents.runtime.context import AgentContext
from agents.tools.taint import ATTACHED
from hyperagent.accounts.models import User
from hyperagent.lib.threads import in_thread
from memory.kinds import AT_WORK, SEARCHABLE, Origin
from memory.models import Document

log = structlog.get_logger(__name__)


async def with_attachments(context: AgentContext, options: Options, *, before: Sequence[str] = ()) -> Options:
    """The options with what is known of the files that they name, and of those that were attached to earlier questions
    (`before`, by their ids); as they are, where nobody could look."""
    ids, user_id = chosen_ids(options), context.run.about.user_id
    earlier = [one for one in before if _uuid(one) not in set(map(_uuid, ids))]
    if not (ids or earlier) or user_id is None or context.run.lookups is None:
        return options

    async def perform() -> Outcome:
        return Outcome(await _looked_up(user_id, (*ids, *earlier)))

    noted = await context.step(StepKind.NOTE, ATTACHED, None, perform)
    if noted is None:
        return options
    known = [Attachment.model_validate(one) for one in noted]
    attached = tuple(one for one in known if one.id not in earlier)
    pictures = tuple(one.id for one in attached if one.kind is AttachmentKind.PICTURE)
    found = {"attached": attached, "image_attachments": pictures}
    return options.model_copy(update={**found, "attached_before": tuple(one for one in known if one.id in earlier)})


async def _looked_up(user_id: UUID, ids: Sequence[str]) -> list[dict[str, Any]] | None:
    """None if the database could not be asked: the run goes its way without."""
    try:
        return await in_thread(_seen)(user_id, ids)
    except DatabaseError as error:
        log.warning("attachments.not_looked_up", why=str(error).split("\n")[0])
        return None


def _seen(user_id: UUID, ids: Sequence[str]) -> list[dict[str, Any]]:
    """Those that this user may see, in the order of the ids. Two queries."""
    user = User.objects.filter(pk=user_id).first()
    if user is None:
        return []
    known = [_id for one in ids if (_id := _uuid(one)) is not None]
    rows = Document.objects.seen_by(user).only("id", "filename", "doc_type", "status", "owner", "origin").in_bulk(known)
    return [_attachment(rows[one], user_id).model_dump(mode="json") for one in known if one in rows]


def _attachment(row: Document, user_id: UUID) -> Attachment:
    if row.is_picture:
        kind = AttachmentKind.PICTURE
    elif row.status in (*SEARCHABLE, *AT_WORK):
        kind = AttachmentKind.DOCUMENT
    else:
        kind = AttachmentKind.FILE
    is_of_others = row.owner_id != user_id or row.origin == Origin.CONNECTOR
    return Attachment(id=str(row.pk), name=row.filename, kind=kind, doc_type=row.doc_type, is_of_others=is_of_others)


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
