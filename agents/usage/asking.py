"""Whose usage somebody may ask for: the one rule of the API and the page. Pure."""

from uuid import UUID

from agents.usage.spent import GroupBy
from hyperagent.lib.refusals import NotAllowed, Refused

ONLY_ADMINISTRATORS = "administrators_only"


def whose_usage(
    me: UUID, *, sees_all: bool, everybody: bool = False, user: UUID | None = None, group: GroupBy | None = None
) -> UUID | None:
    """The person whose usage is meant, None for everybody's. Raises NotAllowed, or Refused for what contradicts itself.

    `sees_all`: an administrator asks, with the scope for it. For them, to group by person is to ask for everybody.
    """
    if everybody and user is not None:
        raise Refused("invalid", "all=true is everybody and user one person. Leave one of the two out.")
    if not sees_all:
        if everybody or user not in (None, me):
            raise NotAllowed(
                ONLY_ADMINISTRATORS,
                "Only administrators see the usage of others, and programs of theirs whose token has the scope "
                "'admin'. Leave user and all out: that is your own.",
            )
        return me
    if everybody or (group is GroupBy.USER and user is None):
        return None
    return user or me
