"""What the audit log tells of: a closed list of kinds. Add here what is new; the database needs no migration for it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class AuditKind(StrEnum):
    # Coming and going.
    SIGN_IN_SUCCEEDED = "sign_in.succeeded"
    SIGN_IN_FAILED = "sign_in.failed"
    SIGN_OUT = "sign_out"
    SESSIONS_ENDED = "sessions.ended"
    PASSWORD_CHANGED = "password.changed"  # noqa: S105 (no password)
    PASSWORD_RESET_ASKED = "password.reset_asked"  # noqa: S105 (no password)
    MFA_ADDED = "mfa.added"
    MFA_REMOVED = "mfa.removed"
    SSO_LINKED = "sso.linked"
    SSO_UNLINKED = "sso.unlinked"
    # People, and what they may.
    USER_INVITED = "user.invited"
    INVITATION_REVOKED = "invitation.revoked"
    INVITATION_ACCEPTED = "invitation.accepted"
    USER_CREATED = "user.created"
    USER_CHANGED = "user.changed"
    USER_DEACTIVATED = "user.deactivated"
    USER_ACTIVATED = "user.activated"
    USER_DELETED = "user.deleted"
    ROLE_GIVEN = "role.given"
    ROLE_TAKEN = "role.taken"
    GROUP_CHANGED = "group.changed"
    QUOTA_CHANGED = "quota.changed"
    BUDGET_CHANGED = "budget.changed"
    PRICE_CHANGED = "price.changed"
    # Programs.
    TOKEN_MADE = "token.made"  # noqa: S105 (no password)
    TOKEN_REVOKED = "token.revoked"  # noqa: S105 (no password)
    SERVICE_ACCOUNT_MADE = "service_account.made"
    SERVICE_ACCOUNT_CHANGED = "service_account.changed"
    CONNECTION_ADDED = "connection.added"
    CONNECTION_CHANGED = "connection.changed"
    CONNECTION_REMOVED = "connection.removed"
    WEBHOOK_ADDED = "webhook.added"
    WEBHOOK_CHANGED = "webhook.changed"
    WEBHOOK_REMOVED = "webhook.removed"
    # What agents may do.
    DECISION_MADE = "decision.made"
    RULE_MADE = "rule.made"
    RULE_REVOKED = "rule.revoked"
    POLICY_CHANGED = "policy.changed"
    SWITCH_THROWN = "switch.thrown"
    TUNING_CHANGED = "tuning.changed"
    # What leaves, and who reads it.
    EXPORT_ASKED = "export.asked"
    EXPORT_TAKEN = "export.taken"
    SHARE_MADE = "share.made"
    SHARE_REVOKED = "share.revoked"
    DOCUMENT_SHARED = "document.shared"
    DOCUMENT_UNSHARED = "document.unshared"
    PROJECT_SHARED = "project.shared"
    PROJECT_UNSHARED = "project.unshared"
    PROJECT_HANDED_OVER = "project.handed_over"
    CONTENT_LOOKED_AT = "content.looked_at"
    AUDIT_EXPORTED = "audit.exported"
    AUDIT_STREAMED = "audit.streamed"
    # The house.
    BACKUP_MADE = "backup.made"
    BACKUP_RESTORED = "backup.restored"
    RETENTION_RAN = "retention.ran"
    # Whatever else is written in the admin.
    ADMIN_ADDED = "admin.added"
    ADMIN_CHANGED = "admin.changed"
    ADMIN_DELETED = "admin.deleted"


class Family(StrEnum):
    """What people narrow the log down by. A kind belongs to one by its first word."""

    SIGNING_IN = "signing-in"
    PEOPLE = "people"
    PROGRAMS = "programs"
    APPROVALS = "approvals"
    DATA = "data"
    HOUSE = "house"


_FAMILIES: Final[Mapping[Family, frozenset[str]]] = {
    Family.SIGNING_IN: frozenset({"sign_in", "sign_out", "sessions", "password", "mfa", "sso"}),
    Family.PEOPLE: frozenset({"user", "invitation", "role", "group", "quota", "budget", "price"}),
    Family.PROGRAMS: frozenset({"token", "service_account", "connection", "webhook"}),
    Family.APPROVALS: frozenset({"decision", "rule", "policy", "switch", "tuning"}),
    Family.DATA: frozenset({"export", "share", "document", "project", "content", "audit"}),
}


def family_of(kind: AuditKind) -> Family:
    first = kind.value.partition(".")[0]
    return next((family for family, words in _FAMILIES.items() if first in words), Family.HOUSE)
