"""Looking at people: searched, narrowed down, and each with what a list or a page of theirs shows. Writes nothing."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from django.contrib.auth.models import Group
from django.db.models import Count, Prefetch, Q, QuerySet
from django.db.models.functions import Now

from hyperagent.accounts.models import User
from hyperagent.accounts.people_models import ServiceAccount
from hyperagent.accounts.personal import parts
from hyperagent.accounts.scopes import GROUP_ROLES, Role, UserKind, roles_of
from hyperagent.lib.admin_lists import as_uuid
from hyperagent.lib.alphabet import by_name

_ROLE_NAMES = frozenset(role.value for role in GROUP_ROLES)


class PersonState(StrEnum):
    ACTIVE = "active"
    DEACTIVATED = "deactivated"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a list is narrowed down to; what is None is not asked for."""

    text: str = ""
    role: Role | None = None
    group: int | None = None
    state: PersonState | None = None
    kind: UserKind | None = None


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody as a list shows them. `going`: runs at this moment."""

    user: User
    roles: list[Role]
    groups: list[Group] = field(default_factory=list)
    going: int = 0

    @property
    def state(self) -> PersonState:
        return PersonState.ACTIVE if self.user.is_active else PersonState.DEACTIVATED


def found(wanted: Wanted) -> QuerySet[User]:
    """By name. Whoever deleted their account is nobody any more, and in no list."""
    rows = User.objects.filter(deleted_at=None)
    if wanted.text:
        by_id = Q(pk=id_) if (id_ := as_uuid(wanted.text)) else Q(pk__in=())
        rows = rows.filter(by_id | Q(email__icontains=wanted.text) | Q(display_name__icontains=wanted.text))
    if wanted.role is Role.ADMINISTRATOR:
        rows = rows.filter(is_staff=True, kind=UserKind.PERSON)
    elif wanted.role is not None and wanted.role is not Role.USER:
        rows = rows.filter(groups__name=wanted.role.value)
    if wanted.group is not None:
        rows = rows.filter(pk__in=User.groups.through.objects.filter(group_id=wanted.group).values("user_id"))
    if wanted.state is not None:
        rows = rows.filter(is_active=wanted.state is PersonState.ACTIVE)
    if wanted.kind is not None:
        rows = rows.filter(kind=wanted.kind.value)
    return rows.order_by("email")


def shown(rows: QuerySet[User]) -> list[Person]:
    """Four queries, however many: the rows, their groups, the owners of programs, and what goes on."""
    in_order = Prefetch("groups", Group.objects.order_by(*by_name("name")))
    users = list(rows.select_related("service_account__owner").prefetch_related(in_order))
    going = going_of(user.pk for user in users)
    return [_person(user, going[user.pk]) for user in users]


def going_of(user_ids: Iterable[UUID]) -> Counter[UUID]:
    ids, total = list(user_ids), Counter[UUID]()
    for part in parts():
        total.update(part.going(ids))
    return total


def usable_tokens(user: User) -> int:
    return user.api_tokens.filter(revoked_at=None, expires_at__gt=Now()).count()


def groups_with_members() -> QuerySet[Group]:
    """Without those that are roles; `members` counts those who are still there."""
    rows = Group.objects.exclude(name__in=_ROLE_NAMES).order_by(*by_name("name"))
    return rows.annotate(members=Count("user", filter=Q(user__deleted_at=None)))


def programs() -> QuerySet[ServiceAccount]:
    rows = ServiceAccount.objects.filter(user__deleted_at=None).select_related("user", "owner", "made_by")
    return rows.order_by(*by_name("user__display_name"), "pk")


def _person(user: User, going: int) -> Person:
    groups = list(user.groups.all())
    roles = [] if user.is_service else roles_of(is_staff=user.is_staff, groups=[group.name for group in groups])
    return Person(user, roles, [group for group in groups if group.name not in _ROLE_NAMES], going)
