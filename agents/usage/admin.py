"""The ledger of model calls in the admin, for looking only: what each took, and what it cost where that is known."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.formats import number_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from agents.usage import budget_admin as _budget_admin  # noqa: F401
from agents.usage.models import ModelCall
from hyperagent.lib.read_only_admin import ReadOnlyAdmin, link_to_id


class UnpricedFilter(admin.SimpleListFilter):
    title = _("price")
    parameter_name = "price"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("unknown", gettext("Unknown"))]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        return queryset.filter(cost_usd=None) if self.value() == "unknown" else queryset


@admin.register(ModelCall)
class ModelCallAdmin(ReadOnlyAdmin):
    list_display = ("at", "model", "provider", "agent_name", "user", "prompt_tokens", "completion_tokens", "cost")
    list_filter = ("at", UnpricedFilter, "is_estimate")
    list_select_related = ("user",)
    ordering = ("-at", "-step_id")
    sortable_by = ("at",)
    search_fields = ("step_id", "user")
    search_help_text = _("The number of a step, or the beginning of a person's e-mail address.")
    readonly_fields = ("run", "talk", "step", "cost")
    fields = (
        "step", "run", "talk", "user", "agent_name", "provider", "model", "prompt_tokens", "completion_tokens", "cost",
        "is_estimate", "at",
    )  # fmt: skip

    def may_read(self, request: HttpRequest, row: Any) -> bool:
        return True

    @admin.display(description=_("Cost (US$)"))
    def cost(self, call: ModelCall) -> str:
        return gettext("unknown") if call.cost_usd is None else number_format(call.cost_usd, decimal_pos=6)

    @admin.display(description=_("Step"))
    def step(self, call: ModelCall) -> SafeString | str:
        return link_to_id("agents_step", max(call.step_id, 0))

    @admin.display(description=_("Execution"))
    def run(self, call: ModelCall) -> SafeString | str:
        return link_to_id("agents_execution", call.execution_id)

    @admin.display(description=_("Conversation"))
    def talk(self, call: ModelCall) -> SafeString | str:
        return link_to_id("conversations_conversation", call.conversation_id)
