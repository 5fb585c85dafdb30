"""The pages of what a person can do with all of their data: have it as a file, or be gone with it."""

import uuid
from collections.abc import AsyncIterator
from typing import IO, Any

from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.contrib.auth.mixins import LoginRequiredMixin
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django.views.generic import TemplateView

from hyperagent.accounts import actions, closing, exporting
from hyperagent.accounts.archive import COPY_BYTES
from hyperagent.accounts.forms import DeleteAccountForm
from hyperagent.accounts.mfa import session_marks
from hyperagent.accounts.models import User
from hyperagent.accounts.personal import parts
from hyperagent.accounts.requests import address_of, person
from hyperagent.accounts.views import SecretForm, forgotten
from hyperagent.lib.languages import remember_choice
from hyperagent.lib.refusals import NotThere
from hyperagent.lib.refused_forms import RefusalsTold
from hyperagent.lib.threads import in_thread


@method_decorator(never_cache, name="dispatch")
class Data(LoginRequiredMixin, TemplateView):
    template_name = "settings/data.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        export = exporting.newest(person(self.request))
        files = exporting.files_of(export) if export else []
        more = {
            "export": export,
            "sizes": [size for _name, size in files],
            "days": exporting.KEPT.days,
            "being_made": exporting.being_made(),
        }
        return super().get_context_data(**kwargs) | more


class AskForExport(LoginRequiredMixin, View):
    http_method_names = ("post", "options")

    def post(self, request: HttpRequest) -> HttpResponse:
        with RefusalsTold(request):
            exporting.ask(person(request))
        return redirect("settings:data")


@require_safe
@never_cache
@login_required
def download_export(request: HttpRequest, export_id: uuid.UUID) -> HttpResponseBase:
    """Its first file, or the one of `?file=`."""
    wanted = request.GET.get("file", "1")
    number = int(wanted) if wanted.isdecimal() and len(wanted) < 5 else 0
    try:
        export, content, size_bytes = exporting.opened(person(request), export_id, number)
    except NotThere:
        raise Http404 from None
    answer = StreamingHttpResponse(_pieces(content), content_type="application/zip")
    answer["Content-Length"] = str(size_bytes)
    name = f"hyperagent-{export.asked_at:%Y-%m-%d}{f'-{number}' if number > 1 else ''}.zip"
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


async def _pieces(content: IO[bytes]) -> AsyncIterator[bytes]:
    """Not whole in memory: a file that is given as it is would be, under ASGI."""
    try:
        while piece := await in_thread(content.read)(COPY_BYTES):
            yield piece
    finally:
        content.close()


class DeleteAccount(LoginRequiredMixin, SecretForm):
    template_name = "settings/delete_account.html"
    form_class = DeleteAccountForm

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        user = request.user
        if isinstance(user, User) and not user.has_usable_password() and not session_marks.is_recent(request.session):
            return redirect(f"{reverse('settings:confirm')}?{urlencode({'next': request.path})}")
        return super().dispatch(request, *args, **kwargs)

    def get_form_kwargs(self) -> dict[str, Any]:
        user = person(self.request)
        return super().get_form_kwargs() | {"email": user.email, "has_password": user.has_usable_password()}

    def act(self, form: Form) -> HttpResponse:
        user = person(self.request)
        typed = form.cleaned_data.get("password")
        if typed is not None and not actions.check_credentials(user.email, typed, address=address_of(self.request)):
            form.add_error("password", _("This is not your password."))
            return self.form_invalid(form)
        closing.close(user, by=user)
        logout(self.request)
        answer = forgotten(render(self.request, "settings/account_deleted.html"))
        remember_choice(answer, "")
        return answer

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        kept = parts()
        return super().get_context_data(**kwargs) | {
            "goes": [sentence for part in reversed(kept) for sentence in part.goes],
            "stays": [sentence for part in reversed(kept) for sentence in part.stays],
            "why_not": closing.why_not(person(self.request)),
        }
