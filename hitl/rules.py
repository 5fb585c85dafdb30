"""Standing rules: shown, made, taken back. What they come to for a call is decided in `hitl.policy`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from hitl.calls import only_call
from hitl.conditions import Condition, Remember, covers, items_at, touches
from hitl.kinds import RequestKind, RequestStatus, Risk, RuleEffect, RuleScope
from hitl.models import Request, Rule
from hitl.policy import Call, PolicyFacts, policy_for, rules_may_cover
from hitl.policy_sql import READ_STANDING, standing_of
from hitl.wording import Draft, in_each_language, words_of
from hyperagent.accounts.models import User
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import Target, actor_of, record
from hyperagent.lib.labels import said
from hyperagent.lib.refusals import Conflict, NotAllowed, NotThere, Refused

MAX_STANDING: Final = 200
EFFECTS: Final[Mapping[RequestStatus, RuleEffect]] = {
    RequestStatus.APPROVED: RuleEffect.ALLOW,
    RequestStatus.DENIED: RuleEffect.DENY,
}


@dataclass(frozen=True, slots=True)
class Proposed:
    """A rule as it would be saved, and the same in words: the reader's, and those that others would read."""

    rule: Rule
    text: str
    readings: frozenset[str]


def preview(
    user: User,
    request_id: UUID,
    *,
    given: Remember,
    decision: RequestStatus,
    edited_arguments: Mapping[str, Any] | None = None,
) -> Proposed:
    """What `remember` would save if this person decided so now. Writes nothing.

    Raises NotThere, NotAllowed, Conflict if the request is no longer open, and Refused with the reason.
    """
    request = Request.objects.visible_to(user).filter(request_id=request_id).first()
    if request is None:
        raise NotThere
    if not Request.objects.decidable_by(user).filter(request_id=request_id).exists():
        raise NotAllowed("not_yours_to_decide", _("You may see this request, but others decide it."))
    if request.status != RequestStatus.PENDING:
        raise Conflict(
            "already_decided",
            _("This request is {status} already. Rules are made with a decision.").format(status=said(request.status)),
        )
    if decision not in EFFECTS:
        raise _unfit("decision", _("A rule is made when something is approved or denied."))
    if edited_arguments is not None:
        request.edited_arguments = dict(edited_arguments)
    return _proposed(request, by=user, given=given, effect=EFFECTS[decision])


def remember(request: Request, *, by: User, given: Remember, effect: RuleEffect) -> Rule:
    """Saves a rule with the words that were shown for it. Called within the transaction of the decision, by whoever
    knows that this person may decide; a refusal takes the decision back. It is about the person's own runs only.

    Raises Refused with the reason, and Conflict if the rule would now read otherwise than it was shown.
    """
    proposed = _proposed(request, by=by, given=given, effect=effect)
    if given.words and given.words not in proposed.readings:
        words = _("What rules may cover has changed meanwhile. The rule would now be: {text}").format(
            text=proposed.text
        )
        raise Conflict("rule_changed", words, text=proposed.text)
    proposed.rule.text = given.words or proposed.text
    proposed.rule.save(force_insert=True)
    _tell(AuditKind.RULE_MADE, proposed.rule, by)
    return proposed.rule


def made_with(request: Request, *, by: User) -> Rule | None:
    """The rule that this person made when they decided the request, be it revoked since."""
    return Rule.objects.of(by).filter(made_from=request.pk).first()


def is_as_wanted(rule: Rule, given: Remember) -> bool:
    """Whether this is what was asked for; the words follow from it."""
    conditions = [condition.as_json() for condition in given.conditions]
    return (rule.scope, rule.conditions, rule.until, rule.max_uses) == (
        given.scope,
        conditions,
        given.until,
        given.uses,
    )


def revoke(user: User, rule_id: UUID) -> Rule:
    """Takes back one's own rule, for every call that has not begun. Revoked twice, the first stays. Raises NotThere."""
    return _revoked(Rule.objects.of(user), rule_id, by=user)


def revoke_as_administrator(user: User, rule_id: UUID) -> Rule:
    """The same for anybody's rule. Raises NotThere, also for who is no administrator."""
    return _revoked(Rule.objects.all() if user.is_staff and user.is_active else Rule.objects.none(), rule_id, by=user)


def _revoked(rules: Any, rule_id: UUID, *, by: User) -> Rule:
    with transaction.atomic():
        changed = rules.filter(pk=rule_id, revoked_at=None).update(revoked_at=Now(), revoked_by=by)
        rule: Rule | None = rules.filter(pk=rule_id).select_related("revoked_by").first()
        if rule is None:
            raise NotThere
        if changed:
            _tell(AuditKind.RULE_REVOKED, rule, by)
    return rule


def _tell(kind: AuditKind, rule: Rule, by: User) -> None:
    """Not its words, which quote what was asked."""
    details = {"user": str(rule.user_id), "effect": rule.effect, "scope": rule.scope, "tool": rule.tool}
    record(kind, actor=actor_of(by), target=Target("rule", str(rule.pk)), details=details)


def _proposed(request: Request, *, by: User, given: Remember, effect: RuleEffect) -> Proposed:
    shown = only_call(request.question)
    if request.kind != RequestKind.APPROVAL or shown is None:
        raise _unfit("", _("A rule is about the calls of one tool. Decide this request for itself."))
    if request.question.get("tainted_by"):
        raise _unfit("", _("This run has read text that others wrote, so no rule is made of an answer to it."))
    if request.user_id != by.pk:
        raise _unfit("", _("Only the person whose run asks can make a rule of their answer. Leave this out."))
    call = _call_of(request, shown)
    _check_extent(given, effect, call)
    _check_fit(given.conditions, effect, call)
    exception = _exception(call, _policies_for(call)) if effect is RuleEffect.ALLOW else ""
    if Rule.objects.of(by).standing().count() >= MAX_STANDING:
        raise _unfit(
            "", _("There are {limit} standing rules already. Revoke some of them first.").format(limit=MAX_STANDING)
        )
    draft = Draft(
        effect=effect,
        scope=given.scope,
        tool=call.tool,
        # "Approve always" is about the tool for the session, whoever uses it there (S113).
        agent_name="" if given.scope is RuleScope.CONVERSATION else call.agent_name,
        arguments=call.arguments,
        conditions=given.conditions,
        until=given.until,
        uses=given.uses,
        exception=exception,
    )
    text = words_of(draft)
    return Proposed(_row(request, by, draft, text), text, in_each_language(draft))


def _row(request: Request, by: User, draft: Draft, text: str) -> Rule:
    return Rule(
        user=by,
        effect=draft.effect,
        scope=draft.scope,
        execution_id=request.execution_id if draft.scope is RuleScope.RUN else None,
        conversation_id=request.conversation_id if draft.scope is RuleScope.CONVERSATION else None,
        tool=draft.tool,
        agent_name=draft.agent_name,
        conditions=[condition.as_json() for condition in draft.conditions],
        text=text,
        until=draft.until,
        max_uses=draft.uses,
        made_from=request.request_id,
    )


def _call_of(request: Request, shown: Mapping[str, Any]) -> Call:
    """With the arguments that are decided about: the edited ones, if there are. What is not said can't be undone."""
    arguments = request.edited_arguments if request.edited_arguments is not None else shown.get("arguments")
    risk = request.risk or shown.get("risk")
    return Call(
        tool=str(shown.get("tool") or ""),
        risk=Risk(risk) if risk in set(Risk) else Risk.HIGH,
        irreversible=shown.get("irreversible") is not False,
        requires_approval=True,
        agent_name=request.agent_name,
        arguments=arguments if isinstance(arguments, Mapping) else {},
        execution_id=request.execution_id,
        user_id=request.user_id,
        conversation_id=request.conversation_id,
    )


def _policies_for(call: Call) -> tuple[PolicyFacts, ...]:
    with connection.cursor() as cursor:
        cursor.execute(READ_STANDING, {"user_id": call.user_id, "tool": call.tool, "call_key": ""})
        return standing_of(*cursor.fetchone()).policies


def _exception(call: Call, policies: tuple[PolicyFacts, ...]) -> str | Promise:
    """What is to be said if a policy lets a rule cover what rules otherwise do not. Raises Refused where none does."""
    policy = policy_for(call, policies)
    if not rules_may_cover(call, policy):
        if call.irreversible:
            reason = _("{tool} cannot be undone, so each call is approved for itself.").format(tool=call.tool)
        else:
            reason = _("The policy “{name}” says who approves {tool}, each call for itself.").format(
                name=policy.name, tool=call.tool
            )
        way_out = _("Approve it without a rule; an administrator can allow rules for it in a policy.")
        raise Refused.at("remember", f"{reason} {way_out}", code="rules_not_allowed")
    if not call.irreversible:
        return ""
    words = gettext_lazy("It cannot be undone; the policy “{name}” lets rules allow it all the same.")
    return format_lazy(words, name=policy.name)


def _check_extent(given: Remember, effect: RuleEffect, call: Call) -> None:
    if given.scope is RuleScope.CONVERSATION and call.conversation_id is None:
        raise _unfit("scope", _("This run belongs to no conversation. Use the scope 'run' or 'rule'."))
    if given.uses is not None and effect is RuleEffect.DENY:
        raise _unfit("uses", _("What is denied is not counted. Leave this out, or give the rule an end with 'until'."))


def _check_fit(conditions: tuple[Condition, ...], effect: RuleEffect, call: Call) -> None:
    """A rule that would not decide the very call on whose card it is made is a slip of the hand."""
    fits = covers if effect is RuleEffect.ALLOW else touches
    faults = {}
    for number, condition in enumerate(conditions):
        if fits((condition,), call.arguments):
            continue
        items, is_whole = items_at(call.arguments, condition.path)
        if items or is_whole:
            faults[f"conditions.{number}"] = _("This does not fit what {path} is in this call. Change either.").format(
                path=condition.path
            )
        else:
            names = ", ".join(call.arguments) or "none"
            faults[f"conditions.{number}.path"] = _("This call has no '{path}'. Its arguments: {names}.").format(
                path=condition.path, names=names
            )
    if faults:
        raise Refused.of({f"remember.{place}": [fault] for place, fault in faults.items()})


def _unfit(part: str, message: str) -> Refused:
    place = f"remember.{part}" if part else "remember"
    return Refused.at(place, message)
