"""What the page of usage says: cards, rows and their bars, from sums. Pure, in the words of the reader's language."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from django.utils.formats import date_format, number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from agents import labels
from agents.usage.spans import Months, Span
from agents.usage.spent import Share, Spent, cost_brief, cost_text, least_dollars
from hyperagent.lib.languages import dollars

# Long numbers as people read them: from where on, and by what they are divided.
_SHORT: Final = ((10**9, 10**9), (10**6, 10**6), (10**5, 10**3))
SAME: Final = "same"


@dataclass(frozen=True, slots=True)
class Card:
    """One figure of this month. `change`: in percent of the same days before, None where that says nothing."""

    label: str
    value: str
    before: str
    change: int | None = None
    detail: str = ""
    is_least: bool = False

    @property
    def direction(self) -> str:
        if not self.change:
            return SAME
        return "more" if self.change > 0 else "less"

    @property
    def change_text(self) -> str:
        """With its sign, as a number; None is nothing."""
        return "" if self.change is None else f"{self.change:+d} %".replace("-", "−")


@dataclass(frozen=True, slots=True)
class Row:
    """One of a group, as the page and the file say it. `percent`: its bar, of the longest one's length."""

    key: str
    name: str
    detail: str
    spent: Spent
    percent: Decimal
    href: str = ""

    @property
    def cost(self) -> str:
        return cost_brief(self.spent)

    @property
    def tokens(self) -> str:
        return short(self.spent.tokens)


def cards(months: Months, same_days: Spent, before: Spent, now: Spent) -> list[Card]:
    """`before`: the whole month before, `same_days` of it as many days as `now` has."""

    def card(label: str, figure: Callable[[Spent], int], detail: str = "") -> Card:
        change = change_percent(figure(now), figure(same_days))
        return Card(label, short(figure(now)), in_month_before(short(figure(before))), change, detail)

    def in_month_before(amount: str) -> str:
        return _("%(month)s: %(amount)s") % {"month": date_format(months.before.first, "F"), "amount": amount}

    sides = {"read": short(now.prompt_tokens), "written": short(now.completion_tokens)}
    return [
        _cost_card(now, same_days, in_month_before(cost_text(before))),
        card(_("Tokens"), lambda one: one.tokens, _("%(read)s read, %(written)s written") % sides),
        card(_("Runs"), lambda one: one.runs),
        card(_("Calls of models"), lambda one: one.calls),
    ]


def _cost_card(now: Spent, same_days: Spent, before: str) -> Card:
    """What is not known of either cannot be compared."""
    known = now.known_cost_usd
    is_whole = not (now.unpriced_calls or same_days.unpriced_calls)
    return Card(
        _("Cost"),
        _("unknown") if known is None else least_dollars(known) if now.unpriced_calls else dollars(known),
        before,
        change_percent(now.cost_usd, same_days.cost_usd) if is_whole else None,
        _unpriced_brief(now),
        is_least=known is not None and now.unpriced_calls > 0,
    )


def _unpriced_brief(spent: Spent) -> str:
    if not spent.unpriced_calls:
        return ""
    text = ngettext("%(count)s call has no known price", "%(count)s calls have no known price", spent.unpriced_calls)
    return text % {"count": grouped(spent.unpriced_calls)}


def change_percent(now: Decimal | int, before: Decimal | int) -> int | None:
    """How much more it is, in percent of what was; None where nothing was."""
    return round((Decimal(now) - Decimal(before)) / Decimal(before) * 100) if before else None


def rows(shares: Sequence[Share], *, by_cost: bool) -> list[Row]:
    """With bars by cost, or by tokens where no price is known."""

    def length(spent: Spent) -> Decimal:
        return spent.cost_usd if by_cost else Decimal(spent.tokens)

    longest = max((length(share.spent) for share in shares), default=Decimal(0))
    return [
        Row(
            share.key,
            share.key,
            share.detail,
            share.spent,
            (length(share.spent) / longest * 100).quantize(Decimal("0.1")) if longest else Decimal(0),
        )
        for share in shares
    ]


def added(some: Spent, more: Spent) -> Spent:
    """Of two stretches of time; a run of both is counted in both."""
    return Spent(
        some.runs + more.runs,
        some.calls + more.calls,
        some.unpriced_calls + more.unpriced_calls,
        some.prompt_tokens + more.prompt_tokens,
        some.completion_tokens + more.completion_tokens,
        some.cost_usd + more.cost_usd,
    )


def agent_label(name: str) -> str:
    """What the installation does besides its agents has the name of its program."""
    own = {
        "turn": _("Planning and composing"),
        "composer": _("Composing the answer"),
        "afterwards": _("Titles and memories"),
        "embedder": _("Search by meaning"),
        "summary": _("Summaries of conversations"),
        "describe": _("Descriptions of documents"),
        "rerank": _("Ordering of search results"),
        "follow_ups": _("Suggestions of what to ask next"),
    }
    return own.get(name) or labels.agent_label(name)


def unpriced_text(spent: Spent) -> str:
    """What is left out of the cost, in a sentence; empty if nothing is."""
    if not spent.unpriced_calls:
        return ""
    return ngettext(
        "%(count)s call of a model without a known price is not in the cost.",
        "%(count)s calls of models without a known price are not in the cost.",
        spent.unpriced_calls,
    ) % {"count": grouped(spent.unpriced_calls)}


def span_text(span: Span) -> str:
    """ "1 – 22 November 2026", as short as it is clear."""
    first, last = span.first, span.last
    begun = whole = pgettext("format of a day", "j F Y")
    if first == last:
        return date_format(last, whole)
    if first.year == last.year:
        is_same_month = first.month == last.month
        begun = pgettext("format of a day", "j") if is_same_month else pgettext("format of a day", "j F")
    return f"{date_format(first, begun)} – {date_format(last, whole)}"


def short(number: int) -> str:
    """ "1,234", "123 k", "1.23 M"."""
    signs = (pgettext("billions", "B"), pgettext("millions", "M"), pgettext("thousands", "k"))
    for (least, unit), sign in zip(_SHORT, signs, strict=True):
        if number >= least:
            figure = Decimal(number) / unit
            places = 0 if figure >= 100 else 1 if figure >= 10 else 2
            return f"{number_format(figure, decimal_pos=places)}\u00a0{sign}"
    return grouped(number)


def grouped(number: int) -> str:
    return str(number_format(number, force_grouping=True))


def csv_lines(head: Sequence[str], groups: Iterable[tuple[Sequence[str], Spent]]) -> list[list[str]]:
    """A table of figures for programs: numbers in full with a point, an unknown cost empty. `head`: of the names."""
    figures = ("runs", "calls", "prompt_tokens", "completion_tokens", "cost_usd", "unpriced_calls")
    lines = [[*head, *figures]]
    for named, spent in groups:
        cost = spent.known_cost_usd
        known = "" if cost is None else format(cost.normalize(), "f")
        tokens = [spent.runs, spent.calls, spent.prompt_tokens, spent.completion_tokens]
        lines.append([*map(_as_text, named), *map(str, tokens), known, str(spent.unpriced_calls)])
    return lines


def _as_text(cell: str) -> str:
    """A spreadsheet takes no name for a formula."""
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell
