"""Sentences of ours about what people are asked, and why runs failed, which are stored in English, said in the reader's
language where a server writes them: lists, the administration, mails. What is not known here is a model's or a person's
own text, and stays as it is. The page's own list, which has these too, is static/js/told.js.
"""

import re
from decimal import Decimal
from functools import cache
from typing import Final

from django.utils.formats import number_format
from django.utils.translation import get_language, gettext, gettext_noop, ngettext

from hyperagent.lib.languages import ENGLISH, known
from hyperagent.lib.tool_labels import quoted_tool

MOST_CHARS: Final = 4_000
SENTENCES: Final = (
    # Approvals: agents/tools/verdicts.py, agents/pipeline/approving.py, hitl/policy.py.
    gettext_noop("Send this mail?"),
    gettext_noop("Run this program?"),
    gettext_noop("Make this change?"),
    gettext_noop("May the {agent} agent begin?"),
    gettext_noop("May the {agent} agent call {tool}?"),
    gettext_noop("The {agent} agent begins only when a person agrees."),
    gettext_noop("{tool} cannot be undone."),
    gettext_noop("{tool} needs a person's approval."),
    gettext_noop("The policy “{name}” asks for it."),
    gettext_noop("Nobody whom the policy “{name}” names can decide now; administrators can."),
    gettext_noop(
        "Nobody can decide it now: it takes another person than whose run it is, and there is no other administrator."
    ),
    gettext_noop("It ends undecided unless there is one in time."),
    gettext_noop(
        "This run has read text that others wrote ({read}), and {tool} changes something: a person decides each time."
    ),
    gettext_noop(
        "This run has read text that others wrote ({read}), and {tool} sends data out: a person decides each time."
    ),
    gettext_noop("All members of the project will see it."),
    # Plans: agents/pipeline/planner.py.
    gettext_noop("This is the plan."),
    gettext_noop("This is the plan for what is missing."),
    gettext_noop("Accept it, change it, or reject it."),
    gettext_noop("It may do what cannot be undone: {tools}."),
    gettext_noop("It is reckoned to cost {usd}, and plans above {limit} are asked about."),
    gettext_noop(
        "With what was planned before, it is reckoned to cost {usd}, and plans above {limit} are asked about."
    ),
    gettext_noop("It cannot be run as you changed it: {faults}."),
    # Budgets: agents/run_budget.py, hyperagent/accounts/budgets.py, agents/runtime/shared_budgets.py.
    gettext_noop("This run has used {used}, and its budget is {budget}."),
    gettext_noop("What {models} cost is not known, and is not counted."),
    gettext_noop("The {agent} agent needs more to go on."),
    gettext_noop("What shall be done?"),
    gettext_noop("Your budget of {amount} a day is used up: {used} are used."),
    gettext_noop("Your budget of {amount} a month is used up: {used} are used."),
    gettext_noop("The budget of the group {name} of {amount} a day is used up: {used} are used."),
    gettext_noop("The budget of the group {name} of {amount} a month is used up: {used} are used."),
    gettext_noop("The budget of this installation of {amount} a day is used up: {used} are used."),
    gettext_noop("The budget of this installation of {amount} a month is used up: {used} are used."),
    gettext_noop("Your budget of {amount} a day does not suffice: {used} are used."),
    gettext_noop("Your budget of {amount} a month does not suffice: {used} are used."),
    gettext_noop("The budget of the group {name} of {amount} a day does not suffice: {used} are used."),
    gettext_noop("The budget of the group {name} of {amount} a month does not suffice: {used} are used."),
    gettext_noop("The budget of this installation of {amount} a day does not suffice: {used} are used."),
    gettext_noop("The budget of this installation of {amount} a month does not suffice: {used} are used."),
    gettext_noop("The next call may take up to {wanted}, and {left} are left."),
    gettext_noop("It starts anew on {when}."),
    gettext_noop("An administrator can raise it."),
    gettext_noop("You can do that under Usage, Budgets."),
    gettext_noop("Raise the limit to {amount}"),
    gettext_noop("Finish with what there is"),
    gettext_noop("Stop the run"),
    gettext_noop("Go on, it is raised"),
    gettext_noop("Go on, it was raised or starts anew"),
    # Doubts: agents/engine/effects.py, agents/tools/doubt.py.
    gettext_noop("It happened: go on"),
    gettext_noop("It did not happen: do it now"),
    gettext_noop("Leave it as it is, and go on without it"),
    gettext_noop('{tool} may have been carried out: an answer to a mail to {to} with the subject "{subject}".'),
    gettext_noop('{tool} may have been carried out: a mail to {to} with the subject "{subject}".'),
    gettext_noop("{tool} may have been carried out: a program in {language}."),
    gettext_noop("{tool} may have been carried out: a change of {path}."),
    gettext_noop("{tool} may have been carried out."),
    gettext_noop("{tool} was begun and interrupted, and it cannot be told from here whether it happened."),
    gettext_noop("{tool} was begun at {when} and interrupted, and it cannot be told from here whether it happened."),
    gettext_noop("Look for yourself, then say what shall be done."),
    # Why runs fail: hyperagent/lib/llm/errors.py, agents/runtime/driver.py, agents/runtime/endings.py.
    gettext_noop("The model provider '{provider}' is busy."),
    gettext_noop("Try again in a moment."),
    gettext_noop("The model provider '{provider}' has a fault of its own."),
    gettext_noop("The model provider '{provider}' did not begin to answer in time."),
    gettext_noop("Try again."),
    gettext_noop("The model provider '{provider}' fell silent in the middle of an answer."),
    gettext_noop("The model provider '{provider}' broke the connection before its answer was done."),
    gettext_noop("All calls that the model provider '{provider}' may serve at once are taken."),
    gettext_noop("The model provider '{provider}' cannot be reached."),
    gettext_noop("Check its address and the network, then try again."),
    gettext_noop("The model provider '{provider}' does not accept its key."),
    gettext_noop("An administrator must set a valid one."),
    gettext_noop("The model provider '{provider}' has no model '{model}' for us."),
    gettext_noop("An administrator must choose another one."),
    gettext_noop("The account at the model provider '{provider}' has no credit left."),
    gettext_noop("An administrator must see to its plan."),
    gettext_noop("The model provider '{provider}' refused the request to '{model}'."),
    gettext_noop("An administrator finds why in the log."),
    gettext_noop("This is more than the model '{model}' of '{provider}' can read at once."),
    gettext_noop("Shorten it or begin anew."),
    gettext_noop("The model '{model}' of '{provider}' gave an empty answer."),
    gettext_noop("The content filter of '{provider}' held the answer back."),
    gettext_noop("Put the question differently."),
    gettext_noop("The model '{model}' of '{provider}' reached its length limit before it answered."),
    gettext_noop("Ask for less at once."),
    gettext_noop("The model '{model}' of '{provider}' gave an answer that cannot be read."),
    gettext_noop("This run crashed the worker {count} times and was stopped."),
    gettext_noop("{count} workers in a row were lost with this run before it got any further; it was stopped."),
    gettext_noop("Try it again with another question, or tell an administrator."),
    gettext_noop(
        "This run was begun by another version of HyperAgent (its input has the form {form}, this worker knows "
        "{known}), as while an update is under way."
    ),
    gettext_noop("Try it again in a few minutes."),
    gettext_noop("Something went wrong here."),
    gettext_noop("A part of this run could not be stored."),
    gettext_noop("An administrator finds it under {number}."),
    gettext_noop("{what} was under way when this ended: it may or may not have happened."),
    gettext_noop("Look for yourself before you have it done again."),
    # Why a memory waits, or was told: memory/remembering/orders.py, storing_rules.py, relevance.py.
    gettext_noop("It asks to put other instructions aside."),
    gettext_noop("It speaks of the system's own instructions."),
    gettext_noop("It gives the assistant another part to play."),
    gettext_noop("It imitates a message of the system or of a tool."),
    gettext_noop("It asks to hide something, or to get round a person's yes."),
    gettext_noop("It asks to give away secrets."),
    gettext_noop("It asks to fetch an address."),
    gettext_noop("It is a standing order to do something with mails, files, tools or money."),
    gettext_noop("It is an order to do something with mails, files, tools or money."),
    gettext_noop("It has characters that nobody sees."),
    gettext_noop("It contradicts what you pinned."),
    gettext_noop("It contradicts what you wrote yourself."),
    gettext_noop("It belongs to your profile."),
    gettext_noop("You pinned it."),
    gettext_noop("It says how you want things done."),
    gettext_noop("It fits your question."),
)
OF_MAILS: Final = (
    # Of mails: agents/usage/alerts.py.
    gettext_noop("Your budget of {amount} a day is used up"),
    gettext_noop("Your budget of {amount} a month is used up"),
    gettext_noop("The budget of the group {name} of {amount} a day is used up"),
    gettext_noop("The budget of the group {name} of {amount} a month is used up"),
    gettext_noop("The budget of this installation of {amount} a day is used up"),
    gettext_noop("The budget of this installation of {amount} a month is used up"),
    gettext_noop("Your budget of {amount} a day: {percent} % are used"),
    gettext_noop("Your budget of {amount} a month: {percent} % are used"),
    gettext_noop("The budget of the group {name} of {amount} a day: {percent} % are used"),
    gettext_noop("The budget of the group {name} of {amount} a month: {percent} % are used"),
    gettext_noop("The budget of this installation of {amount} a day: {percent} % are used"),
    gettext_noop("The budget of this installation of {amount} a month: {percent} % are used"),
)
_AMOUNTS: Final = frozenset({"amount", "used", "budget", "wanted", "left", "usd", "limit"})
_AMOUNT: Final = re.compile(r"\$(?P<usd>\d[\d,]*(?:\.\d+)?)|\b(?P<tokens>\d[\d,]*) tokens?\b")
_PLACE: Final = re.compile(r"\\\{(\w+)\\\}")
# A tool and an agent are one word each; otherwise a whole text would be taken for a sentence that ends like it.
_ONE_WORD: Final = frozenset({"tool", "agent"})


def in_our_words(text: str) -> str:
    """Whole if it is a sentence of ours, else sentence by sentence, else as it is. In English, too, a tool is called as
    people call it."""
    if not text or len(text) > MOST_CHARS:
        return text
    of_tools = known(get_language() or ENGLISH) == ENGLISH
    parts = re.split(r"(?<=[.?!]) ", text)
    return _sentence(text, of_tools) or " ".join(_sentence(part, of_tools) or part for part in parts)


def amounts_in_our_words(text: str) -> str:
    """`12,000 tokens` and `$0.25`, with the reader's word and figures."""
    return _AMOUNT.sub(_amount, text)


def _amount(found: re.Match[str]) -> str:
    if found["usd"]:
        value = Decimal(found["usd"].replace(",", ""))
        places = -int(value.as_tuple().exponent)
        return f"${number_format(value, decimal_pos=places, force_grouping=True)}"
    count = int(found["tokens"].replace(",", ""))
    return ngettext("{count} token", "{count} tokens", count).format(count=number_format(count, force_grouping=True))


def _sentence(text: str, of_tools: bool) -> str:
    """In the reader's language; empty for what is not ours. `of_tools`: of those alone that name one."""
    for original, pattern in _patterns(of_tools):
        if found := pattern.fullmatch(text):
            return _filled(gettext(original), found.groupdict())
    return ""


def _filled(text: str, values: dict[str, str]) -> str:
    """In one go: what was filled in is not looked through again."""
    shown = {name: _shown(name, value) for name, value in values.items()}
    return re.sub(r"\{(\w+)\}", lambda place: shown.get(place[1], place[0]), text)


def _shown(name: str, value: str) -> str:
    if name in ("tool", "tools"):
        return ", ".join(quoted_tool(one) for one in value.split(", "))
    return amounts_in_our_words(value) if name in _AMOUNTS else value


@cache
def _patterns(of_tools: bool) -> tuple[tuple[str, re.Pattern[str]], ...]:
    wanted = (one for one in (*SENTENCES, *OF_MAILS) if "{tool" in one or not of_tools)
    return tuple((one, re.compile(_PLACE.sub(_group, re.escape(one)), re.DOTALL)) for one in wanted)


def _group(place: re.Match[str]) -> str:
    return rf"(?P<{place[1]}>\S+)" if place[1] in _ONE_WORD else f"(?P<{place[1]}>.+?)"
