"""What counts as an answer to a question about a run's budget: raise it, finish with what there is, or stop. Pure.

What such a question has, and what a run makes of the answer, is the business of whoever asks.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from hitl.kinds import RequestStatus

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
        return {"choice": ["Choose one: raise, finish or stop."]}
    if meant is not None and choice not in (None, meant):
        return {"choice": [f"'{decision}' means {meant} here. Leave the choice out, or send the decision 'answered'."]}
    if text is None:
        return {}
    if (choice or meant) != RAISE:
        return {"text": ["Only a raise takes a number. Leave this out."]}
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
    form, is_what = (_MONEY, "a sum in dollars such as 2.50") if unit == USD else (_WHOLE, "a whole number of tokens")
    if not form.fullmatch(text):
        return f"'{text[:40]}' is not {is_what}. Give the whole new limit."
    used, most = Decimal(str(asked.get("used") or 0)), _MOST.get(unit, _MOST["tokens"])
    if Decimal(text) <= used:
        return f"The run has used {used:,f} already. Give a limit above that."
    return f"At most {most:,f} can be given." if Decimal(text) > most else ""


def _asked(question: Any) -> Mapping[str, Any]:
    return question if isinstance(question, Mapping) else {}
