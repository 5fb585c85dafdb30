"""The administrators' pages of budgets and prices, below `/usage/`. Each reads a form, calls one verb of `setting`, and
shows what came of it. No JavaScript. Others see their own budgets on the page of usage.
"""

from typing import Any

from django.contrib import messages
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.utils.translation import gettext as _

from agents.usage import budget_showing, prices, purses, setting
from agents.usage.budget_forms import BudgetForm, PriceForm
from agents.usage.models import ModelPrice
from agents.usage.reading import unpriced_models
from hyperagent.accounts.administrators import ForAdministrators
from hyperagent.accounts.budget_models import Budget
from hyperagent.accounts.budgets import Period, Unit, Whose, purse_of, told
from hyperagent.accounts.requests import person
from hyperagent.lib.refusals import NotThere
from hyperagent.lib.refused_forms import RefusableForm

ROWS = 500


class BudgetsPage(ForAdministrators, RefusableForm):
    template_name = "agents/budgets.html"
    form_class = BudgetForm

    def act(self, form: Form) -> HttpResponse:
        typed = form.cleaned_data
        budget = setting.set_budget(
            by=person(self.request),
            whose=Whose(typed["whose"]),
            period=Period(typed["period"]),
            unit=Unit(typed["unit"]),
            amount=typed["amount"],
            user=typed["person"],
            group=typed["group"],
            request=self.request,
        )
        messages.success(self.request, _("Set: {budget}.").format(budget=_in_words(budget)))
        return redirect("usage:budgets")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        usual = [limit for limit in purses.standing_of(None) if limit.whose is Whose.INSTALLATION]
        budgets = list(Budget.objects.select_related("user", "group").order_by("whose", "id")[:ROWS])
        standing = {(limit.purse, limit.period, limit.unit): limit for limit, _told in purses.everybodys()}
        own = {Whose.INSTALLATION: _("The whole installation"), Whose.EVERYBODY: _("Each person")}
        shown = [
            {
                "budget": budget,
                "name": setting.name_of(budget) or own[Whose(budget.whose)],
                "is_group": budget.whose == Whose.GROUP,
                "amount": _amount(budget),
                "row": _row(standing.get((_purse(budget), Period(budget.period), Unit(budget.unit)))),
            }
            for budget in budgets
        ]
        return super().get_context_data(**kwargs) | {"budgets": shown, "installation": budget_showing.rows(usual)}


class BudgetEnd(ForAdministrators):
    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest, budget_id: int) -> HttpResponse:
        budget = get_object_or_404(Budget.objects.select_related("user", "group"), pk=budget_id)
        said = _in_words(budget)
        setting.end_budget(budget, by=person(request), request=request)
        messages.success(request, _("Removed: {budget}.").format(budget=said))
        return redirect("usage:budgets")


class PricesPage(ForAdministrators, RefusableForm):
    template_name = "agents/prices.html"
    form_class = PriceForm

    def get_initial(self) -> dict[str, Any]:
        return {"model": self.request.GET.get("model", "")[:200]}

    def act(self, form: Form) -> HttpResponse:
        price = setting.set_price(by=person(self.request), request=self.request, **form.cleaned_data)
        messages.success(self.request, _("The price of {model} holds from now on.").format(model=price.model))
        return redirect("usage:prices")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        book = prices.book()
        unknown = [
            (f"{one.provider}/{one.model}", one.calls)
            for one in unpriced_models()
            if book.price_of(one.provider, one.model) is None
        ]
        held, now = setting.prices_now(), timezone.now()
        others = ModelPrice.objects.exclude(pk__in=[price.pk for price in held]).order_by("model", "-since")
        return super().get_context_data(**kwargs) | {
            "prices": held[:ROWS],
            "later": others.filter(since__gt=now)[:ROWS],
            "earlier": others.filter(since__lte=now)[:ROWS],
            "unknown": unknown,
        }


class PriceBack(ForAdministrators):
    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest) -> HttpResponse:
        try:
            price = setting.take_price_back(by=person(request), model=request.POST.get("model", ""), request=request)
        except NotThere:
            messages.error(request, _("No own price holds for this model any more."))
        else:
            messages.success(request, _("The own price of {model} is taken back.").format(model=price.model))
        return redirect("usage:prices")


def _purse(budget: Budget) -> str:
    return purse_of(Whose(budget.whose), budget.user_id or budget.group_id)


def _row(limit: Any) -> budget_showing.Row | None:
    return budget_showing.rows([limit], person="-")[0] if limit is not None else None


def _amount(budget: Budget) -> str:
    if not budget.amount:
        return _("no limit")
    amount = told(budget.amount, Unit(budget.unit))
    if budget.period == Period.DAY:
        return _("{amount} a day").format(amount=amount)
    return _("{amount} a month").format(amount=amount)


def _in_words(budget: Budget) -> str:
    name = setting.name_of(budget)
    return f"{name}, {_amount(budget)}" if name else _amount(budget)
