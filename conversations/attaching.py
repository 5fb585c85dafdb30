"""The documents that belong to a question. Who may see which one is `memory`'s to say."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext as _

from hyperagent.accounts.models import User
from hyperagent.lib.refusals import Refused
from memory.models import Document

MOST: Final = 10
# How a run is told of them: what was attached to the question, and what was chosen for it.
FIELDS: Final = ("attachment_ids", "document_ids")


def attached(user: User, options: Mapping[str, Any]) -> list[dict[str, str]]:
    """Id and name of what is attached to a question, in its order. Raises Refused for what this user may not see. A
    query if there is something, else none."""
    wanted = {name: _ids(name, options.get(name) or ()) for name in FIELDS}
    ids = [one for found in wanted.values() for one in found]
    if not ids:
        return []
    names = dict(Document.objects.seen_by(user).filter(pk__in=ids).values_list("pk", "filename"))
    for field, found in wanted.items():
        for one in found:
            if one not in names:
                raise _missing(field, str(one))
    return [{"id": str(one), "name": names[one]} for one in wanted["attachment_ids"]]


def _ids(field: str, given: Sequence[Any]) -> list[UUID]:
    if len(given) > MOST:
        message = _("{count} documents are too many for one question: at most {most}. Leave some out.").format(
            count=len(given), most=MOST
        )
        raise Refused.at(field, message, code="too_many_documents")
    found = []
    for one in given:
        try:
            found.append(UUID(str(one)))
        except ValueError:
            raise _missing(field, str(one)) from None
    return list(dict.fromkeys(found))


def _missing(field: str, one: str) -> Refused:
    message = _("There is no document '{one}' that you may see. Upload it first, or leave it out.").format(one=one[:60])
    return Refused.at(field, message, code="no_such_document")
