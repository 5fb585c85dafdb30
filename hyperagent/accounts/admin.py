"""People, their tokens and the counted tries, for administrators. Changes go through `actions`."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.admin.utils import unquote
from django.contrib.auth.admin import GroupAdmin as StockGroupAdmin
from django.contrib.auth.admin import UserAdmin as StockUserAdmin
from django.contrib.auth.forms import AdminUserCreationForm, UserChangeForm
from django.contrib.auth.models import Group, Permission
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import models, transaction
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from hyperagent.accounts import closing, people, people_groups
from hyperagent.accounts.actions import revoke_all_tokens, revoke_token
from hyperagent.accounts.addresses import check_address
from hyperagent.accounts.audit_log import admin as _audit_log  # noqa: F401 (registers its page)
from hyperagent.accounts.letter_models import Letter
from hyperagent.accounts.mfa import admin as _second_factors  # noqa: F401 (registers its pages)
from hyperagent.accounts.models import ApiToken, LoginAttempt, User, UserQuota
from hyperagent.accounts.personal import parts
from hyperagent.accounts.requests import person
from hyperagent.accounts.scopes import GROUP_ROLES, Role
from hyperagent.lib import labels, looks
from hyperagent.lib.admin_lists import QuickListAdmin, as_uuid, people_called
from hyperagent.lib.looks import LOOKED
from hyperagent.lib.read_only_admin import ReadOnlyAdmin, UnchangedAdmin
from hyperagent.lib.refusals import NotThere, Refused

WHAT = {ADDITION: _("added"), CHANGE: _("changed"), DELETION: _("deleted"), LOOKED: _("looked")}
# What is left on the page as it was shown stays as it is now, whoever changed it meanwhile.
RIGHTS = ("is_active", "is_staff", "is_superuser", "groups", "user_permissions")
# Without one of these somebody is no administrator any more, or not with all rights.
ENDING = ("is_active", "is_staff", "is_superuser")
# What Django's own pages of people say, and its catalogues of other languages do not have yet.
_DJANGOS = (
    gettext_noop("After you’ve created a user, you’ll be able to edit more user options."),
    gettext_noop("Password-based authentication"),
    gettext_noop("Enabled"),
    gettext_noop("Disabled"),
    gettext_noop("Reset password"),
    gettext_noop("Set password"),
    gettext_noop("Raw passwords are not stored, so there is no way to see the user’s password."),
    gettext_noop(
        "Whether the user will be able to authenticate using a password or not. If disabled, they may still be able to"
        " authenticate using other backends, such as Single Sign-On or LDAP."
    ),
)


class PermissionsInWords(admin.ModelAdmin):  # type: ignore[type-arg]
    """Django has stored what permissions are called, in English."""

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field: Any = super().formfield_for_manytomany(db_field, request, **kwargs)
        if field is not None and db_field.related_model is Permission:
            field.queryset = field.queryset.select_related("content_type")
            field.label_from_instance = labels.permission
        return field


class UserCreation(AdminUserCreationForm):  # type: ignore[type-arg]
    class Meta:
        model = User
        fields = ("email",)

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        check_address(email)
        return email


class UserChange(UserChangeForm):  # type: ignore[type-arg]
    by: User | None = None
    """Who changes it: see `UserAdmin.get_form`."""

    class Meta:
        model = User
        fields = "__all__"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        tells_what_was_shown = not self.is_bound or self.add_initial_prefix("is_active") in self.data
        for name in self.fields.keys() & set(RIGHTS):
            self.fields[name].show_hidden_initial = tells_what_was_shown

    def clean_email(self) -> str:
        """One that the account has already stays."""
        email: str = self.cleaned_data["email"]
        if "email" in self.changed_data:
            check_address(email)
        return email

    def clean(self) -> dict[str, Any]:
        typed: dict[str, Any] = super().clean() or self.cleaned_data
        before = User.objects.get(pk=self.instance.pk)
        for name in typed.keys() & set(RIGHTS) - set(self.changed_data):
            held = getattr(before, name)
            typed[name] = held if isinstance(held, bool) else held.all()
        if before.is_active and typed.get("is_active") is False and self.by == before:
            raise ValidationError(_("You cannot deactivate yourself. Ask another administrator to do it."))
        ends = any(getattr(before, flag) and typed.get(flag) is False for flag in ENDING)
        if ends and before.is_active and (reason := people.why_last(before)):
            raise ValidationError(reason)
        return typed


@admin.register(User)
class UserAdmin(QuickListAdmin, PermissionsInWords, StockUserAdmin):  # type: ignore[type-arg]
    form = UserChange
    add_form = UserCreation
    list_display = ("email", "display_name", "is_active", "is_staff", "date_joined", "last_login")
    list_filter = ("is_active", "is_staff", "is_superuser", "groups")
    search_fields = ("id", "email")
    search_help_text = _("The id of a person, or the beginning of their e-mail address.")
    ordering = ("email",)
    sortable_by = ("email",)
    readonly_fields = ("date_joined", "last_login")
    actions = ("deactivate", "activate")
    fieldsets = (
        (None, {"fields": ("email", "display_name", "password")}),
        (_("Rights"), {"fields": ("is_active", "is_staff", "is_superuser", "groups", "user_permissions")}),
        (_("Times"), {"fields": ("date_joined", "last_login")}),
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

    def get_form(self, request: HttpRequest, obj: User | None = None, change: bool = False, **kwargs: Any) -> Any:
        form: Any = super().get_form(request, obj, change=change, **kwargs)
        form.by = request.user
        return form

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        with transaction.atomic():
            _hold_what_is_saved(request, object_id)
            return super().changeform_view(request, object_id, form_url, extra_context)

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        # Those of programs have no password to set: see /people/.
        is_somebody = obj is None or (obj.deleted_at is None and not obj.is_service)
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
        goes = [str(sentence) for part in reversed(kept) for sentence in part.goes]
        stays = [str(sentence) for part in reversed(kept) for sentence in part.stays]
        told = [str(_("What goes, for good")), goes, str(_("What stays")), stays]
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
        before = User.objects.get(pk=obj.pk) if change else obj
        # The verb turns it, with all that belongs to it.
        turns, obj.is_active = before.is_active != obj.is_active, before.is_active
        form.roles_before = set(before.roles()) if change else {Role.USER}
        super().save_model(request, obj, form, change)
        if change and not obj.is_staff:
            people.revoke_invitations_by(obj)
        if turns:
            verb = people.deactivate if obj.is_active else people.activate
            try:
                obj.is_active = verb(person(request), obj.pk).is_active
            except Refused as refused:
                raise PermissionDenied(refused.message) from None

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        people.tell_of_roles(person(request), form.instance, form.roles_before)

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:  # noqa: A002
        """With the password its person's API tokens go, as where they change it themselves."""
        with transaction.atomic():
            _hold_what_is_saved(request, id)
            before = self.get_object(request, unquote(id))
            answer: HttpResponse = super().user_change_password(request, id, form_url)
            after = self.get_object(request, unquote(id))
            if before is not None and after is not None and before.password != after.password:
                count = revoke_all_tokens(after, by=person(request))
                self.message_user(request, _("API tokens revoked: {count}.").format(count=count), messages.SUCCESS)
        return answer

    @admin.action(description=_("Deactivate the selected people"), permissions=["change"])
    def deactivate(self, request: HttpRequest, queryset: models.QuerySet[User]) -> None:
        self._each(request, queryset, people.deactivate)

    @admin.action(description=_("Activate the selected people"), permissions=["change"])
    def activate(self, request: HttpRequest, queryset: models.QuerySet[User]) -> None:
        self._each(request, queryset, people.activate)

    def _each(self, request: HttpRequest, queryset: models.QuerySet[User], verb: Callable[..., User]) -> None:
        done = 0
        for user in queryset.order_by("pk"):
            try:
                verb(person(request), user.pk)
                done += 1
            except Refused as refused:
                self.message_user(request, f"{user}: {refused.message}", messages.ERROR)
        self.message_user(request, _("Done: {count}.").format(count=done), messages.SUCCESS)


admin.site.unregister(Group)


@admin.register(Group)
class GroupAdmin(PermissionsInWords, StockGroupAdmin):  # type: ignore[misc]
    """Those that are roles keep their names and stay: what they are is known by name."""

    def get_readonly_fields(self, request: HttpRequest, obj: Group | None = None) -> Any:
        fields = [*super().get_readonly_fields(request, obj), *(["name"] if _is_role(obj) else [])]
        # As on the page of a person: else a group that one is in would be the way to more.
        return fields if _is_superuser(request) else [*fields, "permissions"]

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return super().has_delete_permission(request, obj) and not _is_role(obj)

    def save_model(self, request: HttpRequest, obj: Group, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if change and "name" in form.changed_data:
            people_groups.tell_of_another_name(form.initial["name"], obj.name)


@admin.register(ApiToken)
class ApiTokenAdmin(UnchangedAdmin):
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
            revoke_token(token.user, token.pk, by=person(request))
        self.message_user(request, _("Revoked: {count}.").format(count=len(tokens)), messages.SUCCESS)


@admin.register(UserQuota)
class UserQuotaAdmin(QuickListAdmin, admin.ModelAdmin):  # type: ignore[type-arg]
    """Other amounts than those of the settings. They hold at once; for requests, from the next minute on."""

    list_display = ("quota", "user", "group", "amount")
    list_filter = ("quota",)
    list_select_related = ("user", "group")
    autocomplete_fields = ("user",)
    ordering = ("quota", "id")


@admin.register(Letter)
class LetterAdmin(ReadOnlyAdmin):
    list_display = ("kind", "user", "invitation", "created_at", "sent_at", "attempts", "given_up_at")
    fields = (*list_display, "next_attempt_at", "last_error")
    list_filter = ("kind",)
    list_select_related = ("user", "invitation")
    ordering = ("-created_at", "-id")
    search_fields = ("id", "user")
    search_help_text = _("The id of a mail, or the beginning of a person's e-mail address.")


@admin.register(LoginAttempt)
class LoginAttemptAdmin(UnchangedAdmin):
    list_display = ("door", "subject_kind", "subject", "level", "counted_at", "blocked_until")
    list_filter = ("door", "subject_kind")
    search_fields = ("subject",)
    search_help_text = _("An e-mail address as it was typed, or the address that it came from.")
    ordering = ("-counted_at", "-id")
    sortable_by = ("counted_at",)


@admin.register(LogEntry)
class LogEntryAdmin(UnchangedAdmin):
    """What was done in the admin, and who looked at what other people's runs say: for auditors, whoever did it."""

    list_display = ("id", "action_time", "user", "what", "content_type", "object_id", "its_change")
    list_select_related = ("user", "content_type")
    ordering = ("-id",)
    search_fields = ("id", "user")
    search_help_text = _("The number of an entry, or the beginning of a person's e-mail address.")
    readonly_fields = ("what", "its_change")
    fields = ("id", "action_time", "user", "what", "content_type", "object_id", "object_repr", "its_change")

    def has_view_permission(self, request: HttpRequest, obj: LogEntry | None = None) -> bool:
        user = request.user
        return user.is_active and (user.is_staff or user.groups.filter(name=Role.AUDITOR).exists())

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    @admin.display(description=_("What"))
    def what(self, entry: LogEntry) -> str:
        return str(WHAT.get(entry.action_flag, ""))

    @admin.display(description=_("Change"))
    def its_change(self, entry: LogEntry) -> str:
        """What Django stored of it, in the reader's language."""
        return looks.in_words(entry.get_change_message())


def _hold_what_is_saved(request: HttpRequest, object_id: str | None) -> None:
    """Before the row is read that the page writes whole: else what happens to it meanwhile would be undone. With all
    administrators' rows, so that of the last two who take each other's right at one instant one stays."""
    id_ = as_uuid(unquote(object_id)) if object_id else None
    if request.method != "POST" or id_ is None:
        return
    # Of nobody the page itself says that there is none.
    with suppress(NotThere):
        people.hold(None, id_)
    by = person(request)
    if not User.objects.filter(pk=by.pk, is_active=True, is_staff=by.is_staff, is_superuser=by.is_superuser).exists():
        raise PermissionDenied


def _is_role(group: Group | None) -> bool:
    return group is not None and group.name in set(GROUP_ROLES)


def _is_superuser(request: HttpRequest) -> bool:
    return isinstance(request.user, User) and request.user.is_superuser


def _may_touch(request: HttpRequest, user: User | None) -> bool:
    return user is None or not user.is_superuser or _is_superuser(request)
