"""People, their tokens and the counted tries, for administrators. Changes go through `actions`."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin as StockUserAdmin
from django.contrib.auth.forms import AdminUserCreationForm, UserChangeForm
from django.core.exceptions import PermissionDenied
from django.db import models
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from hyperagent.accounts import closing
from hyperagent.accounts.actions import deactivate, revoke_token
from hyperagent.accounts.models import ApiToken, LoginAttempt, User
from hyperagent.accounts.personal import parts
from hyperagent.lib.admin_lists import QuickListAdmin, people_called
from hyperagent.lib.read_only_admin import ReadableAdmin
from hyperagent.lib.refusals import Refused


class UserCreation(AdminUserCreationForm):  # type: ignore[type-arg]
    class Meta:
        model = User
        fields = ("email",)


class UserChange(UserChangeForm):  # type: ignore[type-arg]
    class Meta:
        model = User
        fields = "__all__"


@admin.register(User)
class UserAdmin(QuickListAdmin, StockUserAdmin):  # type: ignore[type-arg]
    form = UserChange
    add_form = UserCreation
    list_display = ("email", "display_name", "is_active", "is_staff", "date_joined", "last_login")
    list_filter = ("is_active", "is_staff", "is_superuser", "groups")
    search_fields = ("id", "email")
    search_help_text = _("The id of a person, or the beginning of their e-mail address.")
    ordering = ("email",)
    sortable_by = ("email",)
    readonly_fields = ("date_joined", "last_login")
    fieldsets = (
        (None, {"fields": ("email", "display_name", "password")}),
        ("Rights", {"fields": ("is_active", "is_staff", "is_superuser", "groups", "user_permissions")}),
        ("Times", {"fields": ("date_joined", "last_login")}),
    )
    add_fieldsets = ((None, {"classes": ("wide",), "fields": ("email", "usable_password", "password1", "password2")}),)

    def get_search_results(
        self, request: HttpRequest, queryset: models.QuerySet[Any], search_term: str
    ) -> tuple[models.QuerySet[Any], bool]:
        term = search_term.strip().replace("\x00", "")
        return (queryset.filter(pk__in=people_called(term)) if term else queryset), False

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> Any:
        fields = tuple(super().get_readonly_fields(request, obj))
        if _is_superuser(request):
            return fields
        # Whoever may edit people must not be able to make themselves more than they are.
        return (*fields, "is_staff", "is_superuser", "groups", "user_permissions")

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        is_somebody = obj is None or obj.deleted_at is None
        return super().has_change_permission(request, obj) and _may_touch(request, obj) and is_somebody

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        is_somebody = obj is None or obj.deleted_at is None
        return super().has_delete_permission(request, obj) and _may_touch(request, obj) and is_somebody

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[Any]]:
        """Nothing is deleted row by row: the account is closed, and what is kept of the person goes part by part."""
        users = list(objs)
        kept = parts()
        told = [str(sentence) for part in reversed(kept) for sentence in part.goes]
        refused = [f"{user}: {reason}" for user in users if (reason := closing.why_not(user))]
        shown = [entry for user in users for entry in (str(user), told)]
        return shown, {str(User._meta.verbose_name_plural): len(users)}, set(), refused

    def delete_model(self, request: HttpRequest, obj: User) -> None:
        assert isinstance(request.user, User)
        try:
            closing.close(obj, by=request.user)
        except Refused as refused:
            raise PermissionDenied(refused.message) from None

    def delete_queryset(self, request: HttpRequest, queryset: models.QuerySet[User]) -> None:
        for user in queryset.order_by("pk"):
            self.delete_model(request, user)

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if change and "is_active" in form.changed_data and not obj.is_active:
            deactivate(obj)


class _ReadOnlyAdmin(ReadableAdmin):
    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(ApiToken)
class ApiTokenAdmin(_ReadOnlyAdmin):
    list_display = ("name", "user", "scopes", "created_at", "expires_at", "last_used_at", "revoked_at")
    list_select_related = ("user",)
    ordering = ("-created_at", "-id")
    search_fields = ("id", "user")
    search_help_text = _("The id of a token, or the beginning of a person's e-mail address.")
    exclude = ("digest",)
    actions = ("revoke",)

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("accounts.change_apitoken")

    @admin.action(description=_("Revoke the selected tokens"), permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: models.QuerySet[ApiToken]) -> None:
        tokens = list(queryset.select_related("user"))
        for token in tokens:
            revoke_token(token.user, token.pk)
        self.message_user(request, f"Revoked: {len(tokens)}.", messages.SUCCESS)


@admin.register(LoginAttempt)
class LoginAttemptAdmin(_ReadOnlyAdmin):
    list_display = ("door", "subject_kind", "subject", "level", "counted_at", "blocked_until")
    list_filter = ("door", "subject_kind")
    search_fields = ("subject",)
    search_help_text = _("An e-mail address as it was typed, or the address that it came from.")
    ordering = ("-counted_at", "-id")
    sortable_by = ("counted_at",)


def _is_superuser(request: HttpRequest) -> bool:
    return isinstance(request.user, User) and request.user.is_superuser


def _may_touch(request: HttpRequest, user: User | None) -> bool:
    return user is None or not user.is_superuser or _is_superuser(request)
