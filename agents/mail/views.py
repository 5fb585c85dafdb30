"""The page of one's mailboxes. All of it works without JavaScript. The verbs are in `actions`."""

import uuid
from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

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
from hyperagent.lib.refusals import NotThere, Refused

GOING: Final = "mail_going_to_google"
LOST: Final = gettext_noop("That took too long, or was begun in another window. Connect Gmail again from here.")


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def mailboxes(request: HttpRequest) -> HttpResponse:
    """One's own, and the form for another one."""
    form = MailboxForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            account = actions.connect_by_servers(person(request), form.wanted())
        except Refused as refused:
            return _page(request, _with_faults(form, refused), status=refused.status)
        messages.success(request, _("{address} is connected.").format(address=account.address))
        return redirect("mail:mailboxes")
    return _page(request, form, status=400 if form.errors else 200)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def again(request: HttpRequest, account_id: uuid.UUID) -> HttpResponse:
    """Connecting one again that was connected by its servers, or changing how."""
    user = person(request)
    account = _own(user, account_id)
    if account.kind == AccountKind.GMAIL:
        return redirect("mail:gmail_again", account_id)
    form = MailboxForm(request.POST or None, initial=filled_with(account))
    status = 400 if form.errors else 200
    if request.method == "POST" and form.is_valid():
        try:
            kept = actions.connect_by_servers(user, form.wanted(), instead_of=account.id)
        except Refused as refused:
            form, status = _with_faults(form, refused), refused.status
        else:
            messages.success(request, _("{address} is connected.").format(address=kept.address))
            return redirect("mail:mailboxes")
    return render(request, "mail/mailbox.html", {"form": form, "account": account}, status=status)


@never_cache
@login_required
@require_POST
def change(request: HttpRequest, account_id: uuid.UUID) -> HttpResponse:
    """One of a mailbox's buttons."""
    try:
        messages.success(request, _changed(person(request), account_id, request.POST))
    except NotThere:
        raise Http404 from None
    except Refused as refused:
        messages.error(request, refused.message)
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
    try:
        url = actions.gmail_consent_url(going, address=account.address if account else "")
    except Refused as refused:
        messages.error(request, refused.message)
        return redirect("mail:mailboxes")
    oauth.keep(request.session, GOING, going.state, {"verifier": going.verifier})
    return redirect(url)


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
        try:
            account = actions.connect_gmail(person(request), PendingConsent(state, kept["verifier"]), code)
            messages.success(request, _("{address} is connected.").format(address=account.address))
        except Refused as refused:
            messages.error(request, refused.message)
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


def _page(request: HttpRequest, form: MailboxForm, *, status: int) -> HttpResponse:
    user = person(request)
    shared = availability.PROVIDERS.mailbox
    context = {
        "accounts": account_status.accounts_of(user.pk),
        "form": form,
        "gmail": google() is not None,
        "shared": getattr(getattr(shared, "shared", None), "address", ""),
        "redirect_url": actions.gmail_redirect_url() if user.is_staff else "",
    }
    return render(request, "mail/mailboxes.html", context, status=status)


def _with_faults(form: MailboxForm, refused: Refused) -> MailboxForm:
    for name, faults in refused.fields.items():
        form.add_error(name if name in form.fields else None, faults)
    if not refused.fields:
        form.add_error(None, refused.message)
    usual = servers_of(form.data.get("address", ""))
    if usual.hint:
        form.add_error(None, usual.hint)
    return form


def _own(user: User, account_id: uuid.UUID) -> MailAccount:
    found = MailAccount.objects.filter(user=user, id=account_id).first()
    if found is None:
        raise Http404
    return found
