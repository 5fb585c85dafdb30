"""The words of requests, decisions and rules, as they are stored and sent. Pure."""

from enum import StrEnum
from typing import Final, Literal


class RequestKind(StrEnum):
    APPROVAL = "approval"
    DECISION = "decision"
    INPUT = "input"
    PLAN = "plan"
    BUDGET = "budget"


class RequestStatus(StrEnum):
    """`timed_out`: its time was over and nobody had decided. `expired`: the run ended first. `cancelled`: withdrawn."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    ANSWERED = "answered"
    TIMED_OUT = "timed_out"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


RESPONDED: Final = frozenset({RequestStatus.APPROVED, RequestStatus.DENIED, RequestStatus.ANSWERED})
"""What it becomes by a person's answer; all else that ends it is nobody's."""


class Happening(StrEnum):
    """What became of a request, one word for each row of its history. `refused`: somebody wanted to approve what is no
    longer what was asked about.
    """

    APPROVED = "approved"
    DENIED = "denied"
    ANSWERED = "answered"
    SNOOZED = "snoozed"
    REMINDED = "reminded"
    TIMED_OUT = "timed_out"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    REFUSED = "refused"


# What a person may say besides the statuses: not now.
SNOOZED: Final[Literal[Happening.SNOOZED]] = Happening.SNOOZED


class Via(StrEnum):
    """By which door a decision came. `agent`: another program's agent gave it, in words that a model wrote."""

    PAGE = "page"
    API = "api"
    AGENT = "agent"
    SOCKET = "socket"
    ADMIN = "admin"
    COMMAND = "command"
    CLOCK = "clock"
    RUN = "run"


class Stage(StrEnum):
    """Whether one call of a tool is asked about, or an agent before it begins."""

    TOOL = "tool"
    AGENT = "agent"


class Risk(StrEnum):
    """`high` cannot be undone, `medium` changes something or is marked for approval, `low` only reads."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class ApproverKind(StrEnum):
    """Who may decide: the run's own user, holders of a role, members of a group, or people by name."""

    SELF = "self"
    ROLE = "role"
    GROUP = "group"
    NAMED = "named"


class RuleEffect(StrEnum):
    ALLOW = "allow"
    DENY = "deny"


class RuleScope(StrEnum):
    """How far a standing rule reaches: one run, one conversation, or all of its owner's runs."""

    RUN = "run"
    CONVERSATION = "conversation"
    RULE = "rule"


ONCE: Final = "once"
"""What a person may say in place of a scope: this decision alone, and no rule."""


class Op(StrEnum):
    """How a condition of a rule compares an argument with its value."""

    EQUALS = "equals"
    ONE_OF = "one_of"
    DOMAIN = "domain"
    STARTS_WITH = "starts_with"
    MATCHES = "matches"
    AT_MOST = "at_most"


class PolicyAction(StrEnum):
    """What an administrator's policy makes of a call: as the tool itself says, always ask, never ask, never allow."""

    DEFAULT = "default"
    ASK = "ask"
    ALLOW = "allow"
    DENY = "deny"


class SwitchScope(StrEnum):
    INSTALLATION = "installation"
    AGENT = "agent"
    TOOL = "tool"
    USER = "user"
