"""Roles and groups that come by the provider's claim: given and taken at each sign-in. What an administrator gave here
is never taken by it.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass

import structlog
from django.contrib.auth.models import Group

from hyperagent.accounts import people
from hyperagent.accounts.models import User
from hyperagent.accounts.scopes import Role
from hyperagent.accounts.sign_on_models import ProviderIdentity
from hyperagent.lib.refusals import Conflict
from hyperagent.lib.sign_on import SignOn

log = structlog.get_logger(__name__)
OURS = frozenset(role.value for role in Role)


@dataclass(frozen=True, slots=True)
class Change:
    """`given`: all that came by the claim, after it."""

    gains: frozenset[str]
    loses: frozenset[str]
    given: frozenset[str]


def meant_by(values: Set[str], roles: Mapping[str, str]) -> frozenset[str]:
    """Our roles and groups that the values of the claim stand for."""
    return frozenset(roles[value] for value in values if value in roles)


def change(*, wanted: Set[str], held: Set[str], given: Set[str]) -> Change:
    """What is held already and did not come by the claim is not taken note of: it stays whatever the claim says."""
    gains = frozenset(wanted - held)
    loses = frozenset(given - wanted)
    return Change(gains, loses & held, frozenset(given & wanted) | gains)


def follow(user: User, identity: ProviderIdentity, values: frozenset[str] | None, sign_on: SignOn) -> None:
    """A claim that is missing is an empty one: providers leave those out. Within the caller's transaction."""
    if not sign_on.roles_claim:
        return
    # Before the look at what they hold: what an administrator changes at the same instant is seen, and stays.
    user = people.hold(None, user.pk).user
    held_groups = {group.name: group.pk for group in people.plain_groups().filter(user=user)}
    held_roles = {role.value for role in user.roles()}
    wanted = meant_by(values or frozenset(), sign_on.roles) - {Role.USER.value}
    found = change(wanted=wanted, held=held_roles | held_groups.keys(), given=set(identity.given))
    given = found.given
    if found.gains & OURS or found.loses & OURS:
        after = {Role(name) for name in (held_roles | (found.gains & OURS)) - found.loses}
        try:
            people.set_roles(None, user.pk, after)
        except Conflict as refused:
            # The last administrator stays one, and stays marked: taken when there is another.
            log.warning("sso.last_administrator", user=str(user.pk), why=refused.message)
            given |= {Role.ADMINISTRATOR.value}
            people.set_roles(None, user.pk, after | {Role.ADMINISTRATOR})
    if found.gains - OURS or found.loses - OURS:
        new = {Group.objects.get_or_create(name=name)[0].pk for name in found.gains - OURS}
        kept = {pk for name, pk in held_groups.items() if name not in found.loses}
        people.set_groups(None, user.pk, kept | new)
    if set(identity.given) != given:
        identity.given = sorted(given)
        identity.save(update_fields=["given"])
