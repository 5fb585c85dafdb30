"""Tuning an agent, and ending it: administrators only, each change in the audit log with what was before and after."""

import os
from typing import Any

from django.db import transaction
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils.translation import gettext as _

from agents.tuning.faults import faults_of, nothing_chosen
from agents.tuning.models import AgentTuning
from hyperagent.accounts.models import User
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import Target, actor_of, record
from hyperagent.lib.llm.config import LLMSettings
from hyperagent.lib.refusals import NotAllowed, Refused


def tune(row: AgentTuning, *, by: User, request: HttpRequest | None = None) -> None:
    """From its return on runs begin with it. Raises NotAllowed, and Refused with every fault."""
    _check_administrator(by)
    chosen = row.chosen()
    faults = faults_of(row.agent, chosen, LLMSettings.from_env(os.environ))
    if not chosen:
        faults["agent"] = nothing_chosen()
    if faults:
        raise Refused.of({name: [words] for name, words in faults.items()})
    with transaction.atomic():
        before = AgentTuning.objects.select_for_update().filter(agent=row.agent).first()
        row.changed_by, row.changed_at = by, Now()
        row.save()
        _record(row.agent, before, chosen, by=by, request=request)


def untune(row: AgentTuning, *, by: User, request: HttpRequest | None = None) -> None:
    """Runs begin as the agent's code and the environment say. Raises NotAllowed."""
    _check_administrator(by)
    with transaction.atomic():
        _record(row.agent, row, {}, by=by, request=request)
        row.delete()


def _check_administrator(by: User) -> None:
    if not (by.is_active and by.is_staff):
        raise NotAllowed("not_allowed", _("Only administrators tune agents. Ask one of them."))


def _record(
    agent: str, before: AgentTuning | None, after: dict[str, Any], *, by: User, request: HttpRequest | None
) -> None:
    details = {"before": before.chosen() if before else {}, "after": after}
    target = Target("agent", agent, agent)
    record(AuditKind.TUNING_CHANGED, actor=actor_of(by), target=target, details=details, request=request)
