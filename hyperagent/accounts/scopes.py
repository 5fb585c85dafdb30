"""What a token may be allowed, and what a person is, as plain values. Knows neither requests nor tables."""

from collections.abc import Iterable
from enum import StrEnum

from django.utils.translation import gettext as _


class Scope(StrEnum):
    RUN = "run"
    READ = "read"
    APPROVE = "approve"
    DOCUMENTS = "documents"
    ADMIN = "admin"


class Role(StrEnum):
    USER = "user"
    REVIEWER = "reviewer"
    AUDITOR = "auditor"
    ADMINISTRATOR = "administrator"


class UserKind(StrEnum):
    """`service`: no person, but a program that acts by tokens only."""

    PERSON = "person"
    SERVICE = "service"


# A token that names no scopes gets what its owner does every day. Administration has to be asked for by name.
DEFAULT_SCOPES = (Scope.RUN, Scope.READ, Scope.APPROVE, Scope.DOCUMENTS)

# What a service account may be given: it decides nothing that people are asked.
SERVICE_SCOPES = tuple(scope for scope in Scope if scope is not Scope.APPROVE)

# These roles are Django groups of the same name. The administrator is `User.is_staff`, and every person is a user.
GROUP_ROLES = (Role.REVIEWER, Role.AUDITOR)

# Of Django's permissions, those that the role of an administrator brings. Not those by which one could sign in as
# somebody else or read what others said: to change accounts, to remove second factors, to read content.
OF_ADMINISTRATORS = frozenset({
    "accounts.view_user", "accounts.delete_user", "mfa.view_authenticator",
    "accounts.view_userquota", "accounts.add_userquota", "accounts.change_userquota", "accounts.delete_userquota",
    "accounts.view_budget", "accounts.add_budget", "accounts.change_budget", "accounts.delete_budget",
    "agents.view_modelprice", "agents.add_modelprice",
    "conversations.change_share",
})  # fmt: skip


def person_scopes(*, is_staff: bool) -> frozenset[Scope]:
    """Everything that a person may do, and so the most that a token of theirs may be given."""
    return frozenset(Scope) if is_staff else frozenset(Scope) - {Scope.ADMIN}


def roles_of(*, is_staff: bool, groups: Iterable[str]) -> list[Role]:
    """In the order of `Role`, without repeats."""
    held = {Role.USER} | {role for role in GROUP_ROLES if role in set(groups)}
    if is_staff:
        held.add(Role.ADMINISTRATOR)
    return [role for role in Role if role in held]


def scope_faults(names: Iterable[str], *, is_staff: bool) -> list[str]:
    """One sentence for each scope that cannot be given; empty if all can."""
    allowed = person_scopes(is_staff=is_staff)
    known = ", ".join(Scope)
    faults = []
    for name in names:
        if name not in set(Scope):
            faults.append(_("'{name}' is not a scope; use one or more of {known}.").format(name=name[:40], known=known))
        elif name not in allowed:
            faults.append(
                _("The scope '{name}' can only be given by an administrator to a token of their own.").format(name=name)
            )
    return faults
