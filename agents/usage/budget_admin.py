"""Budgets and prices in the admin. What is saved there goes through `setting`, like on the pages."""

from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest

from agents.usage import setting
from agents.usage.models import ModelPrice
from hyperagent.accounts.budget_models import Budget, Purse
from hyperagent.accounts.budgets import Period, Unit, Whose, faults_of
from hyperagent.accounts.requests import person
from hyperagent.lib.admin_lists import QuickListAdmin
from hyperagent.lib.read_only_admin import ReadOnlyAdmin


class BudgetAdminForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Budget
        fields = ("whose", "user", "group", "period", "unit", "amount")

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or self.cleaned_data
        amount, unit = given.get("amount"), given.get("unit")
        if isinstance(amount, Decimal) and unit and (fault := faults_of(amount, Unit(unit))):
            self.add_error("amount", fault)
        return given


@admin.register(Budget)
class BudgetAdmin(QuickListAdmin, admin.ModelAdmin):  # type: ignore[type-arg]
    """Whose it is stays: another's is another budget."""

    form = BudgetAdminForm
    list_display = ("whose", "user", "group", "amount", "unit", "period", "set_at")
    list_filter = ("whose", "unit", "period")
    list_select_related = ("user", "group")
    autocomplete_fields = ("user",)
    ordering = ("whose", "id")

    def get_readonly_fields(self, request: HttpRequest, obj: Budget | None = None) -> tuple[str, ...]:
        return ("whose", "user", "group", "period", "unit") if obj else ()

    def save_model(self, request: HttpRequest, obj: Budget, form: Any, change: bool) -> None:
        saved = setting.set_budget(
            by=person(request),
            whose=Whose(obj.whose),
            period=Period(obj.period),
            unit=Unit(obj.unit),
            amount=obj.amount,
            user=obj.user,
            group=obj.group,
            request=request,
        )
        obj.pk = saved.pk

    def delete_model(self, request: HttpRequest, obj: Budget) -> None:
        setting.end_budget(obj, by=person(request), request=request)

    def delete_queryset(self, request: HttpRequest, queryset: Any) -> None:
        for budget in queryset.order_by("pk"):
            self.delete_model(request, budget)


@admin.register(Purse)
class PurseAdmin(ReadOnlyAdmin):
    """What was counted; the ledger of model calls is the truth of it."""

    list_display = ("whose", "period", "starts", "used_usd", "used_tokens", "held_usd", "held_tokens", "unpriced_calls")
    list_filter = ("period",)
    ordering = ("-starts", "-id")
    sortable_by = ("starts",)

    def may_read(self, request: HttpRequest, row: Any) -> bool:
        return True


@admin.register(ModelPrice)
class ModelPriceAdmin(QuickListAdmin, admin.ModelAdmin):  # type: ignore[type-arg]
    """A price that was set stays; another one goes before it from its time on."""

    list_display = (
        "model", "input_usd", "output_usd", "cached_usd", "reasoning_usd", "is_taken_back", "since", "set_at",
    )  # fmt: skip
    search_fields = ("model",)
    ordering = ("model", "-since", "-id")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: ModelPrice, form: Any, change: bool) -> None:
        saved = setting.set_price(
            by=person(request),
            model=obj.model,
            input_usd=obj.input_usd,
            output_usd=obj.output_usd,
            cached_usd=obj.cached_usd,
            reasoning_usd=obj.reasoning_usd,
            since=obj.since,
            request=request,
        )
        obj.pk = saved.pk
