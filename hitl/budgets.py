"""What counts as an answer to a question about a run's budget: raise it, finish with what there is, or stop. Pure.

What such a question has, and what a run makes of the answer, is the business of whoever asks.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from django.utils.translation import gettext as _

from hitl.kinds import RequestStatus
from hyperagent.lib.languages import grouped

RAISE: Final = "raise"
FINISH: Final = "finish"
USD: Final = "usd"
_MOST: Final = {"tokens": Decimal(10**12), USD: Decimal(10**6)}
_WHOLE: Final = re.compile(r"[0-9]{1,13}")
_MONEY: Final = re.compile(r"[0-9]{1,7}(\.[0-9]{1,6})?")
# What a decision without a choice means.
_MEANT: Final = {RequestStatus.APPROVED: RAISE, RequestStatus.DENIED: FINISH}


def faults_of(question: Any, *, decision: str, choice: str | None, text: str | None) -> dict[str, list[str]]:
    """What is wrong with an answer, by field; that a choice is offered at all is looked at elsewhere."""
    meant = _MEANT.get(decision)  # type: ignore[call-overload]
    if meant is None and choice is None:
        return {"choice": [_("Choose one: raise, finish or stop.")]}
    if meant is not None and choice not in (None, meant):
        words = _("'{decision}' means {meant} here. Leave the choice out, or send the decision 'answered'.")
        return {"choice": [words.format(decision=decision, meant=meant)]}
    if text is None:
        return {}
    if (choice or meant) != RAISE:
        return {"text": [_("Only a raise takes a number. Leave this out.")]}
    fault = _limit_fault(_asked(question), text.strip())
    return {"text": [fault]} if fault else {}


def said(question: Any, *, decision: str, choice: str | None, text: str | None) -> dict[str, Any]:
    """The answer as the run gets it, complete: the choice, of a raise the new limit, and of what it is a limit."""
    asked = _asked(question)
    chosen = choice or _MEANT[decision]  # type: ignore[index]
    answer = {"choice": chosen, "unit": str(asked.get("unit") or "tokens")}
    if chosen == RAISE:
        answer["text"] = str(asked.get("suggested")) if text is None else text.strip()
    return answer


def _limit_fault(asked: Mapping[str, Any], text: str) -> str:
    unit = str(asked.get("unit") or "tokens")
    if unit == USD and not _MONEY.fullmatch(text):
        words = _("'{text}' is not a sum in dollars such as 2.50. Give the whole new limit.")
        return words.format(text=text[:40])
    if unit != USD and not _WHOLE.fullmatch(text):
        return _("'{text}' is not a whole number of tokens. Give the whole new limit.").format(text=text[:40])
    used, most = Decimal(str(asked.get("used") or 0)), _MOST.get(unit, _MOST["tokens"])
    if Decimal(text) <= used:
        words = _("The run has used {used} already. Give a limit above that.")
        return words.format(used=grouped(used))
    return _("At most {most} can be given.").format(most=grouped(most)) if Decimal(text) > most else ""


def _asked(question: Any) -> Mapping[str, Any]:
    return question if isinstance(question, Mapping) else {}
