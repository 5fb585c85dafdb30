"""The administrators' pages of budgets and prices, below `/usage/`. Each reads a form, calls one verb of `setting`, and
shows what came of it. No JavaScript. Others see their own budgets on the page of usage.
"""

from typing import Any

from django.contrib import messages
from django.contrib.auth.mixins import LoginRequiredMixin, UserPassesTestMixin
from django.forms import Form
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse_lazy
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.generic import FormView

from agents.usage import budget_showing, prices, purses, setting
from agents.usage.budget_forms import BudgetForm, PriceForm
from agents.usage.models import ModelPrice
from agents.usage.reading import unpriced_models
from hyperagent.accounts.budget_models import Budget
from hyperagent.accounts.budgets import Period, Unit, Whose, purse_of, told
from hyperagent.accounts.models import User
from hyperagent.accounts.requests import person
from hyperagent.lib.refusals import NotThere, Refused

ROWS = 500


class _Administrators(LoginRequiredMixin, UserPassesTestMixin):
    """Others are told that they may not, strangers are asked to sign in."""

    request: HttpRequest

    def test_func(self) -> bool:
        return isinstance(self.request.user, User) and self.request.user.is_staff

    def handle_no_permission(self) -> Any:
        self.raise_exception = self.request.user.is_authenticated
        return super().handle_no_permission()

    @method_decorator(never_cache)
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        answer: HttpResponseBase = super().dispatch(request, *args, **kwargs)
        return answer


class BudgetsPage(_Administrators, FormView):  # type: ignore[type-arg]
    template_name = "agents/budgets.html"
    form_class = BudgetForm
    success_url = reverse_lazy("usage:budgets")

    def form_valid(self, form: Form) -> HttpResponse:
        typed = form.cleaned_data
        try:
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
        except Refused as refused:
            form.add_error("amount" if "amount" in refused.fields else None, refused.message)
            return self.form_invalid(form)
        messages.success(self.request, _("Set: {budget}.").format(budget=_in_words(budget)))
        return super().form_valid(form)

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


class BudgetEnd(_Administrators, View):
    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest, budget_id: int) -> HttpResponse:
        budget = get_object_or_404(Budget.objects.select_related("user", "group"), pk=budget_id)
        said = _in_words(budget)
        setting.end_budget(budget, by=person(request), request=request)
        messages.success(request, _("Removed: {budget}.").format(budget=said))
        return redirect("usage:budgets")


class PricesPage(_Administrators, FormView):  # type: ignore[type-arg]
    template_name = "agents/prices.html"
    form_class = PriceForm
    success_url = reverse_lazy("usage:prices")

    def get_initial(self) -> dict[str, Any]:
        return {"model": self.request.GET.get("model", "")[:200]}

    def form_valid(self, form: Form) -> HttpResponse:
        typed = form.cleaned_data
        try:
            price = setting.set_price(by=person(self.request), request=self.request, **typed)
        except Refused as refused:
            form.add_error(None, refused.message)
            return self.form_invalid(form)
        messages.success(self.request, _("The price of {model} holds from now on.").format(model=price.model))
        return super().form_valid(form)

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


class PriceBack(_Administrators, View):
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
