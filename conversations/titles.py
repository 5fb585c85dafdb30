"""What conversations are called, for pages of other apps that link to them (wired in `hyperagent.urls`)."""

from collections.abc import Iterable
from uuid import UUID

from conversations.models import Conversation
from hyperagent.accounts.models import User


def titles_of(user: User, ids: Iterable[UUID]) -> dict[UUID, str]:
    """Of those that this user has and has not deleted; of others nothing. One query."""
    return dict(Conversation.objects.of(user).filter(id__in=list(ids)).values_list("id", "title"))
