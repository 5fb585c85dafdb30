"""How what usage is grouped by is called: people, projects and agents. A query at most."""

from collections.abc import Iterable

from agents.usage.spent import GroupBy
from hyperagent.accounts.models import User
from memory.models import Project


def names_of(group: GroupBy, keys: Iterable[str], *, reader: User) -> dict[str, str]:
    """By key. A person is called by name and address, a project only for those who see it; others have no name."""
    ids = [key for key in keys if key]
    if group is GroupBy.USER:
        people = User.objects.filter(id__in=ids).only("id", "email", "display_name")
        return {str(one.pk): f"{one.display_name} ({one.email})" if one.display_name else one.email for one in people}
    if group is GroupBy.PROJECT:
        return {str(one.pk): one.name for one in Project.objects.seen_by(reader).filter(id__in=ids)}
    if group is GroupBy.CONVERSATION:
        return {}
    return {key: key for key in ids}
