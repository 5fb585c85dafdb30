"""What the workspaces of `memory` have to know of conversations: who sees the files of one, and whether it is there."""

from collections.abc import Iterable
from uuid import UUID

from conversations.models import Conversation
from memory.workspaces.places import Talk


class OwnConversations:
    """A conversation's files are its owner's, as the conversation is."""

    def seen(self, user_id: UUID, conversation_ids: Iterable[UUID]) -> dict[UUID, Talk]:
        seen = Conversation.objects.filter(
            id__in=list(conversation_ids), user=user_id, user__is_active=True, deleted_at=None
        )
        found = seen.values_list("id", "user_id", "title", "project_id", "is_temporary")
        return {
            id_: Talk(id_, owner_id, True, title, project_id, is_temporary)
            for id_, owner_id, title, project_id, is_temporary in found
        }

    def still_there(self, conversation_ids: Iterable[UUID]) -> set[UUID]:
        found = Conversation.objects.filter(id__in=list(conversation_ids), deleted_at=None)
        return set(found.values_list("id", flat=True))
