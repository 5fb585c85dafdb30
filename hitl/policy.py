"""Whether a call may be carried out, has to be asked about, or is refused, and who may decide. Pure: what stands comes
in as values (`hitl.policy_sql` reads it), a verdict goes out; nothing is read, asked or written here.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Literal
from uuid import UUID

from hitl.conditions import Condition, Preapproved, covers, touches
from hitl.globs import glob_fits
from hitl.kinds import ApproverKind, PolicyAction, Risk, RuleEffect, RuleScope
from hyperagent.accounts.scopes import Role


@dataclass(frozen=True, slots=True)
class Read:
    """A text that others wrote and a run has read. `kind`: what it is, such as `web`, `mail`, `document`, `server`."""

    kind: str
    title: str
    url: str = ""
    tool: str = ""
    document_id: str = ""

    def as_json(self) -> dict[str, str]:
        return {name: value for name, value in asdict(self).items() if value}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Read":
        return cls(**{one.name: str(stored.get(one.name) or "") for one in fields(cls)})


class Acts(StrEnum):
    """What a call does beyond giving its caller something to read."""

    NOTHING = ""
    CHANGES = "changes"
    SENDS = "sends"
    """Data go to others than the installation and those whom an administrator chose."""
    SHARES = "shares"
    """Data go to the members of a project, who are others than the person, too."""


@dataclass(frozen=True, slots=True)
class Call:
    """What is asked about. `arguments`: those that it would be carried out with. `tool`: "" before an agent begins.
    `tainted_by`: the first few texts of others that its run has read; what it `acts` then is for a person to decide.
    """

    tool: str
    risk: Risk
    irreversible: bool
    requires_approval: bool
    agent_name: str
    arguments: Mapping[str, Any]
    execution_id: UUID
    user_id: UUID | None
    conversation_id: UUID | None
    acts: Acts = Acts.NOTHING
    tainted_by: tuple[Read, ...] = ()
    tainted_more: int = 0

    @property
    def is_tainted(self) -> bool:
        """Whether text of others may have brought about something that it should not."""
        return bool(self.tainted_by) and self.acts is not Acts.NOTHING


@dataclass(frozen=True, slots=True)
class Approvers:
    """Who may decide. `name`: of the role or group. `different_person`: not the one whose run asks."""

    kind: ApproverKind = ApproverKind.SELF
    name: str = ""
    user_ids: tuple[UUID, ...] = ()
    different_person: bool = False

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind.value,
            "name": self.name,
            "user_ids": [str(user_id) for user_id in self.user_ids],
            "different_person": self.different_person,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Approvers":
        return cls(
            ApproverKind(stored["kind"]),
            stored["name"],
            tuple(UUID(user_id) for user_id in stored["user_ids"]),
            stored["different_person"],
        )


ONLY_ONE: Final = (
    "Nobody can decide it now: it takes another person than whose run it is, and there is no other administrator. "
    "It ends undecided unless there is one in time."
)
OWN_USER: Final = Approvers()


@dataclass(frozen=True, slots=True)
class PolicyFacts:
    """A policy as it stands. Empty tool, risk or agent: fits all; a tool's name may have wildcards, such as
    `mcp_github_*`. `somebody_can`: an active person may decide by it; `an_administrator_can`: or at least in
    their place."""

    name: str
    tool: str = ""
    risk: str = ""
    agent_name: str = ""
    action: PolicyAction = PolicyAction.DEFAULT
    approvers: Approvers = OWN_USER
    allow_rules: bool = False
    somebody_can: bool = True
    an_administrator_can: bool = True

    def fits(self, call: Call) -> bool:
        wanted = ((self.risk, call.risk), (self.agent_name, call.agent_name))
        is_about = self.tool in ("", call.tool) or glob_fits(self.tool, call.tool)
        return is_about and all(mine in ("", theirs) for mine, theirs in wanted)


@dataclass(frozen=True, slots=True)
class RuleFacts:
    """A standing rule of the person whose run it is. `uses_left` of None: as many as there are."""

    id: UUID
    user_id: UUID
    effect: RuleEffect
    scope: RuleScope
    tool: str
    agent_name: str = ""
    execution_id: UUID | None = None
    conversation_id: UUID | None = None
    conditions: tuple[Condition, ...] = ()
    text: str = ""
    until: datetime | None = None
    uses_left: int | None = None

    def stands_for(self, call: Call, now: datetime) -> bool:
        """Whether it is about such a call at all, whatever the arguments."""
        is_over = (self.until is not None and self.until <= now) or self.uses_left == 0
        return (
            not is_over
            and self.tool == call.tool
            and self.user_id == call.user_id
            and self.agent_name in ("", call.agent_name)
            and self._reaches(call)
        )

    def _reaches(self, call: Call) -> bool:
        if self.scope is RuleScope.RUN:
            return self.execution_id == call.execution_id
        if self.scope is RuleScope.CONVERSATION:
            return self.conversation_id is not None and self.conversation_id == call.conversation_id
        return True


@dataclass(frozen=True, slots=True)
class Standing:
    """What stands at a moment for the calls of one tool by one person's runs. Policies in the order of position, rules
    in that of their making. `preapproved`: what the run itself brought along; whoever reads the rest adds it.
    """

    now: datetime
    policies: tuple[PolicyFacts, ...] = ()
    rules: tuple[RuleFacts, ...] = ()
    preapproved: tuple[Preapproved, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """`why`: for people and models. `rule_id`: of the rule that decided. `policy`: the name of the one that fits.
    `tainted_by`: what of others was read, where that is why somebody is asked."""

    kind: Literal["allow", "ask", "deny"]
    why: str
    approvers: Approvers = field(default=OWN_USER)
    rules_allowed: bool = False
    rule_id: UUID | None = None
    policy: str = ""
    tainted_by: tuple[Read, ...] = ()
    tainted_more: int = 0

    def as_json(self) -> dict[str, Any]:
        taint = {"tainted_by": [one.as_json() for one in self.tainted_by], "tainted_more": self.tainted_more}
        return {
            "kind": self.kind,
            "why": self.why,
            "approvers": self.approvers.as_json(),
            "rules_allowed": self.rules_allowed,
            "rule_id": str(self.rule_id) if self.rule_id else None,
            "policy": self.policy,
            **(taint if self.tainted_by else {}),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Verdict":
        return cls(
            stored["kind"],
            stored["why"],
            Approvers.from_json(stored["approvers"]),
            stored["rules_allowed"],
            UUID(stored["rule_id"]) if stored["rule_id"] else None,
            stored["policy"],
            tuple(Read.from_json(one) for one in stored.get("tainted_by", ())),
            int(stored.get("tainted_more", 0)),
        )


# Where no policy fits: as the tool says, and the run's own user decides.
NO_POLICY: Final = PolicyFacts(name="")
WHY_NAMES: Final = 2
ADMINISTRATORS: Final = Role.ADMINISTRATOR.value
AFTER_TAINT: Final = ": a person decides each time."
"""The end of the sentence that names what of others was read; cards have a place of their own for that."""
MEMBERS_SEE: Final = "All members of the project will see it."


def verdict(call: Call, standing: Standing) -> Verdict:
    """What becomes of the call. Whatever denies is looked at before anything that allows. Where text of others may have
    brought the call about, nothing that was said beforehand allows it: neither rule nor policy knew of that text.
    """
    policy = policy_for(call, standing.policies)
    if (no := denied(call, standing)) is not None:
        return no
    if call.is_tainted:
        return Verdict(
            "ask",
            " ".join(filter(None, [_why_tainted(call), _why_asked(call, policy)])),
            approvers=approvers_of(policy),
            policy=policy.name,
            tainted_by=call.tainted_by,
            tainted_more=call.tainted_more,
        )
    rules = [rule for rule in standing.rules if rule.stands_for(call, standing.now)]
    found = _not_asked(call, policy) or _answered(call, policy, rules, standing)
    return found or Verdict(
        "ask",
        _why_asked(call, policy),
        approvers=approvers_of(policy),
        rules_allowed=rules_may_cover(call, policy),
        policy=policy.name,
    )


def denied(call: Call, standing: Standing) -> Verdict | None:
    """The no that stands for the call; None if there is none. It counts until the call is carried out."""
    rules = [rule for rule in standing.rules if rule.stands_for(call, standing.now)]
    return _denied(call, policy_for(call, standing.policies), rules)


def _denied(call: Call, policy: PolicyFacts, rules: list[RuleFacts]) -> Verdict | None:
    if policy.action is PolicyAction.DENY:
        return Verdict("deny", f"The policy “{policy.name}” forbids {call.tool}.", policy=policy.name)
    denying = (rule for rule in rules if rule.effect is RuleEffect.DENY)
    rule = next((rule for rule in denying if touches(rule.conditions, call.arguments)), None)
    if rule is None:
        return None
    return Verdict("deny", f"A standing rule denies it: {rule.text}", rule_id=rule.id, policy=policy.name)


def _not_asked(call: Call, policy: PolicyFacts) -> Verdict | None:
    if policy.action is PolicyAction.ALLOW:
        return Verdict("allow", f"The policy “{policy.name}” allows it.", policy=policy.name)
    if call.requires_approval or policy.action is PolicyAction.ASK:
        return None
    return Verdict("allow", f"{call.tool} needs no approval.", policy=policy.name)


def _answered(call: Call, policy: PolicyFacts, rules: list[RuleFacts], standing: Standing) -> Verdict | None:
    """Allowed beforehand: by what the run brought along, else by a rule, one with a number of uses last."""
    if not rules_may_cover(call, policy):
        return None
    brought = (one for one in standing.preapproved if one.tool == call.tool)
    if any(covers(one.conditions, call.arguments) for one in brought):
        return Verdict("allow", "It was approved beforehand, when the run was made.", policy=policy.name)
    fitting = [rule for rule in rules if rule.effect is RuleEffect.ALLOW and covers(rule.conditions, call.arguments)]
    rule = min(fitting, key=lambda rule: rule.uses_left is not None, default=None)
    if rule is None:
        return None
    return Verdict("allow", f"A standing rule allows it: {rule.text}", rule_id=rule.id, policy=policy.name)


def policy_for(call: Call, policies: tuple[PolicyFacts, ...]) -> PolicyFacts:
    """The first that fits."""
    return next((policy for policy in policies if policy.fits(call)), NO_POLICY)


def rules_may_cover(call: Call, policy: PolicyFacts) -> bool:
    """Whether the run's own user may answer such calls for good. Nobody waves through what is another's to decide, nor
    what cannot be undone, unless an administrator said so.
    """
    theirs = policy.approvers.kind is not ApproverKind.SELF or policy.approvers.different_person
    return policy.allow_rules or not (theirs or call.irreversible)


def approvers_of(policy: PolicyFacts) -> Approvers:
    """Those whom the policy names; administrators where none of them can decide."""
    if policy.somebody_can:
        return policy.approvers
    return Approvers(ApproverKind.ROLE, ADMINISTRATORS, different_person=policy.approvers.different_person)


def _why_tainted(call: Call) -> str:
    named = ", ".join(f"“{one.title}”" for one in call.tainted_by[:WHY_NAMES])
    more = len(call.tainted_by) - WHY_NAMES + call.tainted_more
    read = f"{named} and {more} more" if more > 0 else named
    does = "changes something" if call.acts is Acts.CHANGES else "sends data out"
    told = f"This run has read text that others wrote ({read}), and {call.tool} {does}{AFTER_TAINT}"
    return f"{told} {MEMBERS_SEE}" if call.acts is Acts.SHARES else told


def _why_asked(call: Call, policy: PolicyFacts) -> str:
    said = []
    if call.irreversible:
        said.append(f"{call.tool} cannot be undone.")
    elif call.requires_approval:
        said.append(f"{call.tool or call.agent_name} needs a person's approval.")
    if policy.action is PolicyAction.ASK:
        said.append(f"The policy “{policy.name}” asks for it.")
    if not policy.somebody_can and not policy.an_administrator_can:
        said.append(ONLY_ONE)
    elif not policy.somebody_can:
        said.append(f"Nobody whom the policy “{policy.name}” names can decide now; administrators can.")
    return " ".join(said)
