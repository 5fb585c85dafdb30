"""What stands in general: policies that administrators write, switches that they throw, rules that people made."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext, ngettext, pgettext
from django.utils.translation import gettext_lazy as _

from hitl import rules, switches
from hitl.admin.access import ForAuditors, is_administrator
from hitl.kinds import SwitchScope
from hitl.models import Policy, Rule, RuleUse, Switch
from hitl.models.policies import named_fault
from hyperagent.accounts.models import User
from hyperagent.lib.admin_lists import QuickListAdmin
from hyperagent.lib.admin_values import end_of_id
from hyperagent.lib.read_only_admin import link_to, link_to_id


class PolicyForm(forms.ModelForm):  # type: ignore[type-arg]
    was = forms.CharField(required=False, label="", widget=forms.HiddenInput)
    """When it was changed last, as the page was shown: what another administrator wrote since is not undone."""

    class Meta:
        model = Policy
        fields = (
            "name", "position", "is_enabled", "tool", "risk", "agent_name", "for_group", "for_person", "action",
            "allow_rules", "approver_kind", "approver_role", "approver_group", "approvers", "require_different_person",
        )  # fmt: skip
        help_texts: ClassVar[dict[str, Any]] = {
            "tool": _(
                "A tool's name; * stands for any characters, so mcp_github_* is every tool of that server."
                " Empty: every tool."
            ),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is not None:
            self.initial["was"] = self.instance.changed_at.isoformat()

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        if given.get("was") and given["was"] != self.initial.get("was"):
            raise ValidationError(_("Somebody changed this policy since the page was shown. Load it again and look."))
        fault = named_fault(given.get("approver_kind", ""), given.get("approvers") or ())
        if fault:
            self.add_error("approvers", fault)
        return given


@admin.register(Policy)
class PolicyAdmin(QuickListAdmin):
    """Each change is in Django's own history of the row."""

    form = PolicyForm
    list_display = (
        "name", "position", "is_enabled", "tool", "risk", "agent_name", "for_group", "for_person", "action",
        "approver_kind", "require_different_person", "allow_rules",
    )  # fmt: skip
    list_filter = ("is_enabled", "action", "approver_kind")
    list_select_related = ("for_group", "for_person")
    ordering = ("position", "id")
    autocomplete_fields = ("approvers", "for_person")
    fieldsets = (
        (None, {"fields": ("name", "position", "is_enabled", "was")}),
        (_("Which calls it is about"), {"fields": ("tool", "risk", "agent_name")}),
        (_("In whose runs"), {"fields": ("for_group", "for_person")}),
        (_("What becomes of them"), {"fields": ("action", "allow_rules")}),
        (
            _("Who decides"),
            {
                "fields": (
                    "approver_kind", "approver_role", "approver_group", "approvers", "require_different_person",
                )
            },
        ),
    )  # fmt: skip

    def has_module_permission(self, request: HttpRequest) -> bool:
        return is_administrator(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_administrator(request)

    has_add_permission = has_change_permission = has_delete_permission = has_view_permission


class SwitchForm(forms.ModelForm):  # type: ignore[type-arg]
    """Throws the switch by the one function that does; what that refuses stands at its field."""

    reason = forms.CharField(label=_("Reason"), max_length=switches.MAX_REASON_CHARS, widget=forms.Textarea)

    class Meta:
        model = Switch
        fields = ("scope", "target", "reason")

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        scope, target = given.get("scope"), given.get("target") or ""
        if scope and (scope == SwitchScope.INSTALLATION) != (not target):
            words = gettext(
                "Leave this empty for the installation; name the agent, the tool or the person for all others."
            )
            raise ValidationError({"target": words})
        if scope:
            _stored, fault = switches.target_of(SwitchScope(scope), target)
            if fault:
                self.add_error("target", fault)
        return given

    def _get_validation_exclusions(self) -> set[str]:
        # A person may be named by address here, and is stored by id.
        return {*super()._get_validation_exclusions(), "target"}  # type: ignore[misc]


@admin.register(Switch)
class SwitchAdmin(ForAuditors):
    """Adding throws a switch, an action lifts it. None is ever changed or deleted: the list is the history."""

    form = SwitchForm
    list_display = ("scope", "whom", "reason", "thrown_by", "thrown_at", "lifted_by", "lifted_at")
    list_filter = (("lifted_at", admin.EmptyFieldListFilter), "scope")
    list_select_related = ("thrown_by", "lifted_by")
    ordering = ("-thrown_at", "-id")
    fields = ("scope", "target", "reason", "thrown_by", "thrown_at", "lifted_by", "lifted_at")
    actions = ("lift",)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return super().get_fields(request, obj) if obj else SwitchForm.Meta.fields

    def owner_id(self, row: Any) -> Any:
        return row.thrown_by_id

    def may_read(self, request: HttpRequest, row: Any) -> bool:
        return True

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return ()

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_administrator(request)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        assert isinstance(request.user, User)
        given = form.cleaned_data
        scope = SwitchScope(given["scope"])
        thrown = switches.throw(request.user, scope=scope, target=given["target"], reason=given["reason"])
        obj.pk, obj.target = thrown.pk, thrown.target

    @admin.action(description=_("Lift selected switches"), permissions=("add",))
    def lift(self, request: HttpRequest, queryset: QuerySet[Switch]) -> None:
        assert isinstance(request.user, User)
        lifted = [switches.lift(request.user, switch.pk) for switch in queryset.thrown()]  # type: ignore[attr-defined]
        text = ngettext("{count} lifted.", "{count} lifted.", len(lifted)).format(count=len(lifted))
        self.message_user(request, text, messages.SUCCESS if lifted else messages.WARNING)

    @admin.display(description=_("Whom it stops"))
    def whom(self, row: Switch) -> str:
        if row.scope == SwitchScope.USER:
            return switches.people_of([row]).get(row.target, row.target)
        return row.target or pgettext("choice", "everybody")


@admin.register(Rule)
class RuleAdmin(ForAuditors):
    list_display = ("user", "effect", "tool", "scope", "text", "uses", "max_uses", "until", "created_at", "revoked_at")
    list_filter = ("effect", "scope", ("revoked_at", admin.EmptyFieldListFilter))
    list_select_related = ("user",)
    ordering = ("-created_at", "-id")
    search_fields = ("id", "user")
    search_help_text = _("The id of a rule, or the beginning of a person's e-mail address.")
    fields = (
        "user", "effect", "scope", "tool", "agent_name", "conditions", "text", "until", "max_uses", "uses",
        "execution_id", "conversation_id", "made_from", "created_at", "revoked_at", "revoked_by",
    )  # fmt: skip
    actions = ("revoke",)

    def may_read(self, request: HttpRequest, row: Any) -> bool:
        # What was allowed for good is what an administrator has to know.
        return True

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return is_administrator(request)

    @admin.action(description=_("Revoke selected rules"), permissions=("revoke",))
    def revoke(self, request: HttpRequest, queryset: QuerySet[Rule]) -> None:
        assert isinstance(request.user, User)
        open_ones = list(queryset.filter(revoked_at=None))
        for rule in open_ones:
            rules.revoke_as_administrator(request.user, rule.pk)
        text = ngettext("{count} revoked.", "{count} revoked.", len(open_ones)).format(count=len(open_ones))
        self.message_user(request, text, messages.SUCCESS if open_ones else messages.WARNING)


@admin.register(RuleUse)
class RuleUseAdmin(ForAuditors):
    """Each call that a rule decided in place of a person."""

    list_display = ("at", "its_rule", "tool", "agent_name", "run")
    readonly_fields = ("its_rule", "run")
    list_select_related = ("rule",)
    ordering = ("-id",)
    search_fields = ("execution_id", "rule")
    search_help_text = _("The id of a run or of a rule.")
    content_fields = ("arguments",)
    fields = ("at", "its_rule", "tool", "agent_name", "run", "arguments_hash", "call_key", "arguments")

    def owner_id(self, row: Any) -> Any:
        return row.rule.user_id

    @admin.display(description=_("Rule"))
    def its_rule(self, row: RuleUse) -> Any:
        return link_to(row.rule)

    @admin.display(description=_("Run"))
    def run(self, row: RuleUse) -> Any:
        return link_to_id("agents_execution", row.execution_id, end_of_id(row.execution_id), row=row)
