"""Kill switches: thrown and lifted by administrators, each with who and when. Runs ask before each effect whether one
is thrown for them (`hitl.policy_sql.thrown`); what was begun before is not undone.
"""

from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from hitl.kinds import SwitchScope
from hitl.models import Switch
from hyperagent.accounts.models import User
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import Target, actor_of, record
from hyperagent.lib.labels import said
from hyperagent.lib.languages import grouped
from hyperagent.lib.refusals import NotAllowed, NotThere, Refused
from hyperagent.lib.text import clean_text

MAX_REASON_CHARS: Final = 1_000
MAX_TARGET_CHARS: Final = 120


def throw(by: User, *, scope: SwitchScope, target: str = "", reason: str) -> Switch:
    """From its return on no effect of that scope begins. If it is thrown already, that one stays and comes back.

    `target`: the name of the agent or tool, as which none may be known here, or a person's id or e-mail address.
    Raises NotAllowed, and Refused with every fault.
    """
    _check_administrator(by)
    reason, target = clean_text(reason).strip(), clean_text(target).strip()
    faults = {}
    if not reason:
        faults["reason"] = _("Say why; the people whose runs are stopped read it.")
    elif len(reason) > MAX_REASON_CHARS:
        faults["reason"] = _("This has {count} characters; at most {limit} are allowed.").format(
            count=grouped(len(reason)), limit=grouped(MAX_REASON_CHARS)
        )
    named, fault = target_of(scope, target)
    if fault:
        faults["target"] = fault
    if faults:
        raise Refused.of({name: [words] for name, words in faults.items()})
    with transaction.atomic():
        # Locked: one that somebody is just lifting is waited for, and then it is another.
        standing = Switch.objects.select_for_update(of=("self",)).select_related("thrown_by", "lifted_by")
        switch, is_new = standing.get_or_create(
            scope=scope, target=named, lifted_at=None, defaults={"reason": reason, "thrown_by": by}
        )
        if is_new:
            _tell(switch, by, "thrown")
    return switch


def lift(by: User, switch_id: UUID) -> Switch:
    """Effects of that scope may begin again, unless another switch stops them. Lifted twice, the first stays.

    Raises NotAllowed and NotThere.
    """
    _check_administrator(by)
    with transaction.atomic():
        changed = Switch.objects.filter(pk=switch_id, lifted_at=None).update(lifted_at=Now(), lifted_by=by)
        switch = Switch.objects.select_related("thrown_by", "lifted_by").filter(pk=switch_id).first()
        if switch is None:
            raise NotThere
        if changed:
            _tell(switch, by, "lifted")
    return switch


def _tell(switch: Switch, by: User, what: str) -> None:
    details = {"what": what, "scope": switch.scope, "target": switch.target}
    record(AuditKind.SWITCH_THROWN, actor=actor_of(by), target=Target("switch", str(switch.pk)), details=details)


def agents_switched_off() -> frozenset[str]:
    """The names, in small letters, of the agents that have a switch of their own thrown. One query."""
    thrown = Switch.objects.thrown().filter(scope=SwitchScope.AGENT)
    return frozenset(target.lower() for target in thrown.values_list("target", flat=True))


def people_of(switches: list[Switch]) -> dict[str, str]:
    """The e-mail addresses of the people whom these stop, by id. One query, or none."""
    ids = {id_ for switch in switches if switch.scope == SwitchScope.USER for id_ in _uuids(switch.target)}
    if not ids:
        return {}
    return {str(id_): email for id_, email in User.objects.filter(pk__in=ids).values_list("pk", "email")}


def _check_administrator(by: User) -> None:
    if not (by.is_active and by.is_staff):
        raise NotAllowed("not_allowed", _("Only administrators throw and lift kill switches. Ask one of them."))


def target_of(scope: SwitchScope, target: str) -> tuple[str, str]:
    """As it is stored, and what is wrong with it."""
    if scope is SwitchScope.INSTALLATION:
        return "", _("The whole installation has no target. Leave this out, or choose another scope.") if target else ""
    if not target or len(target) > MAX_TARGET_CHARS:
        return "", _("Name the {scope} that is to be stopped, in at most {limit} characters.").format(
            scope=said(scope), limit=MAX_TARGET_CHARS
        )
    if scope is not SwitchScope.USER:
        return target, ""
    found = User.objects.with_email(target) if "@" in target else User.objects.filter(pk__in=_uuids(target))
    user = found.first()
    return (
        (str(user.pk), "")
        if user
        else ("", _("Nobody here has the id or e-mail address '{target}'.").format(target=target))
    )


def _uuids(text: str) -> list[UUID]:
    try:
        return [UUID(text)]
    except ValueError:
        return []
