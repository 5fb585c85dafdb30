"""The page of one's mailboxes. All of it works without JavaScript. The verbs are in `actions`."""

import uuid
from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.mixins import LoginRequiredMixin
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from agents import availability
from agents.mail import account_status, actions
from agents.mail.forms import MailboxForm, filled_with
from agents.mail.gmail.google import google
from agents.mail.gmail.oauth import PendingConsent
from agents.mail.kinds import AccountKind
from agents.mail.known_servers import servers_of
from agents.mail.models import MailAccount
from hyperagent.accounts.models import User
from hyperagent.accounts.requests import person
from hyperagent.lib import oauth
from hyperagent.lib.refusals import NotThere
from hyperagent.lib.refused_forms import RefusableForm, RefusalsTold

GOING: Final = "mail_going_to_google"
LOST: Final = gettext_noop("That took too long, or was begun in another window. Connect Gmail again from here.")


@method_decorator(never_cache, name="dispatch")
class Mailboxes(LoginRequiredMixin, RefusableForm):
    """One's own, and the form for another one."""

    template_name = "mail/mailboxes.html"
    form_class = MailboxForm

    def act(self, form: MailboxForm) -> HttpResponse:
        return _connected(self.request, actions.connect_by_servers(person(self.request), form.wanted()))

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        user = person(self.request)
        shared = availability.PROVIDERS.mailbox
        return super().get_context_data(**kwargs) | {
            "accounts": account_status.accounts_of(user.pk),
            "gmail": google() is not None,
            "shared": getattr(getattr(shared, "shared", None), "address", ""),
            "redirect_url": actions.gmail_redirect_url() if user.is_staff else "",
        }


@method_decorator(never_cache, name="dispatch")
class Again(LoginRequiredMixin, RefusableForm):
    """Connecting one again that was connected by its servers, or changing how."""

    template_name = "mail/mailbox.html"
    form_class = MailboxForm
    account: MailAccount

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.is_authenticated:
            self.account = _own(person(request), kwargs["account_id"])
            if self.account.kind == AccountKind.GMAIL:
                return redirect("mail:gmail_again", self.account.pk)
        return super().dispatch(request, *args, **kwargs)

    def get_initial(self) -> dict[str, Any]:
        return filled_with(self.account)

    def act(self, form: MailboxForm) -> HttpResponse:
        kept = actions.connect_by_servers(person(self.request), form.wanted(), instead_of=self.account.pk)
        return _connected(self.request, kept)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {"account": self.account}


@never_cache
@login_required
@require_POST
def change(request: HttpRequest, account_id: uuid.UUID) -> HttpResponse:
    """One of a mailbox's buttons."""
    with RefusalsTold(request):
        messages.success(request, _changed(person(request), account_id, request.POST))
    return redirect("mail:mailboxes")


@never_cache
@login_required
@require_GET
def usual_servers(request: HttpRequest) -> HttpResponse:
    """What an address suggests, for the form while it is filled in. Looks into a table, and asks nobody."""
    found = servers_of(request.GET.get("address", "")[:254])
    names = ("imap_host", "imap_port", "imap_security", "smtp_host", "smtp_port", "smtp_security", "hint", "is_sure")
    return JsonResponse({name: getattr(found, name) for name in names})


@never_cache
@login_required
@require_GET
def to_google(request: HttpRequest, account_id: uuid.UUID | None = None) -> HttpResponse:
    """A link and no form: browsers keep forms from leading to other sites. Nothing is changed by following it."""
    account = _own(person(request), account_id) if account_id else None
    going = PendingConsent.fresh()
    with RefusalsTold(request):
        url = actions.gmail_consent_url(going, address=account.address if account else "")
        oauth.keep(request.session, GOING, going.state, {"verifier": going.verifier})
        return redirect(url)
    return redirect("mail:mailboxes")


@never_cache
@login_required
@require_GET
def from_google(request: HttpRequest) -> HttpResponse:
    """A person comes back: once, soon, and in the browser that went."""
    state, code = request.GET.get("state", ""), request.GET.get("code", "")
    kept = oauth.taken(request.session, GOING, state)
    if kept is None:
        messages.error(request, _(LOST))
    elif not code:
        messages.error(request, _("Google was not given leave, so Gmail is not connected."))
    else:
        with RefusalsTold(request):
            return _connected(
                request, actions.connect_gmail(person(request), PendingConsent(state, kept["verifier"]), code)
            )
    return redirect("mail:mailboxes")


def _changed(user: User, account_id: uuid.UUID, posted: Any) -> str:
    match posted.get("verb", ""):
        case "test":
            return _("{address} works.").format(address=actions.check(user, account_id).address)
        case "default":
            return _("{address} is your default mailbox now.").format(
                address=actions.make_default(user, account_id).address
            )
        case "rename":
            name = actions.rename(user, account_id, posted.get("display_name", "")).display_name
            return _("Mails say {name} now.").format(name=name) if name else _("Mails say only the address now.")
        case "disconnect":
            return _("{address} is disconnected. Its password is deleted here.").format(
                address=actions.disconnect(user, account_id)
            )
        case _:
            raise NotThere


def _connected(request: HttpRequest, account: MailAccount) -> HttpResponse:
    messages.success(request, _("{address} is connected.").format(address=account.address))
    return redirect("mail:mailboxes")


def _own(user: User, account_id: uuid.UUID) -> MailAccount:
    found = MailAccount.objects.filter(user=user, id=account_id).first()
    if found is None:
        raise Http404
    return found
