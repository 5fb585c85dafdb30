"""Second factors and links to the provider, for administrators: who has them, and a way to remove those that somebody
has lost. What is in them is shown to nobody.
"""

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.contrib import admin, messages
from django.db import models
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from hyperagent.accounts.mfa import factors
from hyperagent.accounts.models import User
from hyperagent.accounts.sign_on_models import ProviderIdentity
from hyperagent.lib.read_only_admin import UnchangedAdmin

# django-allauth's own pages: one would let secrets be read and written, the other is of a table that stays empty.
for model in (Authenticator, EmailAddress):
    if admin.site.is_registered(model):
        admin.site.unregister(model)


@admin.register(Authenticator)
class AuthenticatorAdmin(UnchangedAdmin):
    list_display = ("id", "user", "type", "created_at", "last_used_at")
    list_filter = ("type",)
    list_select_related = ("user",)
    ordering = ("-id",)
    search_fields = ("id", "user")
    search_help_text = _("The number of a factor, or the beginning of a person's e-mail address.")
    exclude = ("data",)
    actions = ("remove_all",)

    def has_remove_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("mfa.delete_authenticator")

    @admin.action(description=_("Remove all second factors of these people"), permissions=["remove"])
    def remove_all(self, request: HttpRequest, queryset: models.QuerySet[Authenticator]) -> None:
        """For somebody who has lost theirs. Whoever asks has to be known by more than a mail: see docs/operating.md."""
        assert isinstance(request.user, User)
        people = User.objects.filter(pk__in=queryset.values("user_id")).order_by("pk")
        done = 0
        for user in people:
            if user.is_superuser and not request.user.is_superuser:
                text = _("{user}: only an administrator with all rights may do this.").format(user=user)
                self.message_user(request, text, messages.ERROR)
                continue
            factors.remove_all(user, by=request.user)
            done += 1
        self.message_user(request, _("Done: {count}.").format(count=done), messages.SUCCESS)


@admin.register(ProviderIdentity)
class ProviderIdentityAdmin(UnchangedAdmin):
    list_display = ("id", "user", "issuer", "email", "linked_at", "used_at")
    list_select_related = ("user",)
    ordering = ("-linked_at", "-id")
    search_fields = ("id", "user")
    search_help_text = _("The id of a link, or the beginning of a person's e-mail address.")
