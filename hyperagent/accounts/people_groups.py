"""Groups of people: made, renamed, filled, deleted. The groups that are roles are changed with the roles alone."""

import uuid
from collections.abc import Collection
from typing import Final

from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import ProtectedError
from django.utils.translation import gettext as _

from hyperagent.accounts import people
from hyperagent.accounts.models import User
from hyperagent.accounts.personal import parts
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import JSON, Target, actor_of, record
from hyperagent.lib.clipping import one_line
from hyperagent.lib.refusals import Conflict, NotThere, Refused
from hyperagent.lib.text import clean_text

NAME_CHARS: Final = 150


def make(by: User, name: str) -> Group:
    """Raises Refused for the name, Conflict where there is one of that name."""
    with transaction.atomic():
        people.hold(by, by.pk)
        made = Group.objects.create(name=_free(name, None))
        _tell(by, made, change="made")
    return made


def rename(by: User, group_id: int, name: str) -> Group:
    """What waits for the group's approval waits for it under its new name."""
    with transaction.atomic():
        people.hold(by, by.pk)
        group = _locked(group_id)
        before, group.name = group.name, _free(name, group)
        if before != group.name:
            group.save(update_fields=["name"])
            tell_of_another_name(before, group.name)
            _tell(by, group, change="renamed")
    return group


def tell_of_another_name(before: str, after: str) -> None:
    """To whoever knows groups by their names. In the transaction that renames it."""
    for part in parts():
        part.group_renamed(before, after)


def change(by: User, group_id: int, *, name: str | None, user_ids: Collection[uuid.UUID] | None) -> None:
    """Name and members together, both or nothing; what is None stays as it is."""
    with transaction.atomic():
        if name is not None:
            rename(by, group_id, name)
        if user_ids is not None:
            set_members(by, group_id, user_ids)


def set_members(by: User, group_id: int, user_ids: Collection[uuid.UUID]) -> Group:
    """Makes these the members. Raises Refused for somebody who is not there."""
    with transaction.atomic():
        members = User.objects.filter(groups=group_id).values_list("pk", flat=True)
        people.hold(by, by.pk, *user_ids, *members)
        group = _locked(group_id)
        held = set(members.all())
        wanted = set(user_ids)
        there = set(User.objects.filter(pk__in=wanted, deleted_at=None).values_list("pk", flat=True))
        if unknown := wanted - there:
            said = _("There is nobody with the id {user_id}.").format(user_id=min(unknown))
            raise Refused.at("members", said, code="unknown_person")
        for user_id in sorted(wanted ^ held):
            _set_member(by, group, user_id, is_member=user_id in wanted)
    return group


def add_member(by: User, group_id: int, email: str) -> User:
    """Twice is as once. Raises Refused where nobody has this address."""
    user = User.objects.with_email(clean_text(email)).filter(deleted_at=None).first()
    if user is None:
        said = _("Nobody here has the address {email}.").format(email=clean_text(email)[:254])
        raise Refused.at("email", said, code="unknown_person")
    with transaction.atomic():
        people.hold(by, by.pk, user.pk)
        _set_member(by, _locked(group_id), user.pk, is_member=True)
    return user


def remove_member(by: User, group_id: int, user_id: uuid.UUID) -> None:
    with transaction.atomic():
        people.hold(by, by.pk, user_id)
        _set_member(by, _locked(group_id), user_id, is_member=False)


def delete(by: User, group_id: int) -> None:
    """What was shared with it is shared with its members no longer. Conflict while a policy names it."""
    with transaction.atomic():
        people.hold(by, by.pk)
        group = _locked(group_id)
        _tell(by, group, change="deleted")
        try:
            group.delete()
        except ProtectedError as error:
            named = ", ".join(sorted({f"{row._meta.verbose_name} “{row}”" for row in error.protected_objects}))
            said = _("This group is needed by: {named}. Change that first.").format(named=named)
            raise Conflict("group_in_use", said) from None


def get(group_id: int) -> Group:
    """Raises NotThere, for a role too."""
    found = people.plain_groups().filter(pk=group_id).first()
    if found is None:
        raise NotThere
    return found


def _locked(group_id: int) -> Group:
    found = people.plain_groups().select_for_update().filter(pk=group_id).first()
    if found is None:
        raise NotThere
    return found


def _set_member(by: User, group: Group, user_id: uuid.UUID, *, is_member: bool) -> None:
    """Its administrator is held: nobody's groups change between the look and the write."""
    held = set(people.plain_groups().filter(user=user_id).values_list("pk", flat=True))
    people.set_groups(by, user_id, held | {group.pk} if is_member else held - {group.pk})


def _free(name: str, group: Group | None) -> str:
    name = one_line(clean_text(name))
    if not 1 <= len(name) <= NAME_CHARS:
        raise Refused.at("name", _("A name of 1 to {count} characters is needed.").format(count=NAME_CHARS))
    others = Group.objects.filter(name__iexact=name)
    if (others if group is None else others.exclude(pk=group.pk)).exists():
        raise Conflict.at("name", _("There is a group or a role of this name already."), code="name_taken")
    return name


def _tell(by: User, group: Group, **details: JSON) -> None:
    record(
        AuditKind.GROUP_CHANGED, actor=actor_of(by), target=Target("group", str(group.pk), group.name), details=details
    )
