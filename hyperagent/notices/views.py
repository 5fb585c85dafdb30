"""The pages below `/settings/`: webhooks with their log, and which mails one wants. Each reads a form, calls one verb
of `actions`, and shows what came of it. No JavaScript.
"""

import uuid
from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.mixins import LoginRequiredMixin
from django.core.paginator import Paginator
from django.forms import Form
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views import View
from django.views.decorators.cache import never_cache

from hyperagent.accounts.models import User
from hyperagent.accounts.requests import person
from hyperagent.lib.outgoing_mails import mails_leave
from hyperagent.lib.refused_forms import RefusableForm, RefusalsTold
from hyperagent.notices import actions
from hyperagent.notices.forms import EVENT_LABELS, EndpointForm, NewEndpointForm, NotificationsForm
from hyperagent.notices.models import Delivery, Endpoint

DELIVERIES_A_PAGE = 25


class Webhooks(LoginRequiredMixin, RefusableForm):
    """The list, and the form for another one. The secret stands in the answer to that form and nowhere else."""

    template_name = "notices/webhooks.html"
    form_class = NewEndpointForm

    @method_decorator(never_cache)
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        return super().dispatch(request, *args, **kwargs)

    def get_form_kwargs(self) -> dict[str, Any]:
        return super().get_form_kwargs() | {"is_staff": person(self.request).is_staff}

    def act(self, form: Form) -> HttpResponse:
        typed = form.cleaned_data
        user = person(self.request)
        endpoint, secret = actions.add_endpoint(
            None if typed.get("for_installation") else user, url=typed["url"], events=typed["events"], by=user
        )
        again = NewEndpointForm(is_staff=user.is_staff)
        return self.render_to_response(self.get_context_data(form=again, made=endpoint, secret=secret), status=201)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        endpoints = [_shown(endpoint) for endpoint in _visible(self.request)]
        return super().get_context_data(**kwargs) | {"endpoints": endpoints}


class Webhook(LoginRequiredMixin, RefusableForm):
    """One endpoint: what it is told, whether it works, and its log."""

    template_name = "notices/webhook.html"
    form_class = EndpointForm
    endpoint: Endpoint

    @method_decorator(never_cache)
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.is_authenticated:
            self.endpoint = _own(request, kwargs["endpoint_id"])
        return super().dispatch(request, *args, **kwargs)

    def get_initial(self) -> dict[str, Any]:
        return {"url": self.endpoint.url, "events": self.endpoint.events}

    def act(self, form: Form) -> HttpResponse:
        typed = form.cleaned_data
        actions.change_endpoint(self.endpoint, url=typed["url"], events=typed["events"], by=person(self.request))
        messages.success(self.request, _("Saved."))
        return _back_to(self.endpoint.pk)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        pages = Paginator(self.endpoint.deliveries.all(), DELIVERIES_A_PAGE)
        return super().get_context_data(**kwargs) | {
            "endpoint": self.endpoint,
            "page": pages.get_page(self.request.GET.get("page")),
        }


class WebhookVerb(LoginRequiredMixin, View):
    """One of the buttons of an endpoint's page."""

    http_method_names = ("post", "options")
    act: Callable[[Endpoint, User], object]
    said = ""

    def post(self, request: HttpRequest, endpoint_id: uuid.UUID) -> HttpResponse:
        endpoint = _own(request, endpoint_id)
        with RefusalsTold(request):
            type(self).act(endpoint, person(request))
            messages.success(request, _(self.said))
        return _back_to(endpoint_id)


class TestWebhook(WebhookVerb):
    act = staticmethod(lambda endpoint, _by: actions.send_test(endpoint))
    said = gettext_noop("A test is on its way. Reload this page in a moment to see what came of it.")


class EnableWebhook(WebhookVerb):
    act = staticmethod(lambda endpoint, by: actions.change_endpoint(endpoint, enabled=True, by=by))
    said = gettext_noop("Switched on.")


class DisableWebhook(WebhookVerb):
    act = staticmethod(lambda endpoint, by: actions.change_endpoint(endpoint, enabled=False, by=by))
    said = gettext_noop("Switched off. What was still to be delivered is given up.")


class DeleteWebhook(LoginRequiredMixin, View):
    http_method_names = ("post", "options")

    def post(self, request: HttpRequest, endpoint_id: uuid.UUID) -> HttpResponse:
        actions.delete_endpoint(_own(request, endpoint_id), by=person(request))
        messages.success(request, _("The webhook is deleted. Nothing is sent there any more."))
        return redirect("notices:webhooks")


class DeliverAgain(LoginRequiredMixin, View):
    http_method_names = ("post", "options")

    def post(self, request: HttpRequest, delivery_id: uuid.UUID) -> HttpResponse:
        delivery = get_object_or_404(Delivery, endpoint__in=_visible(request), pk=delivery_id)
        with RefusalsTold(request):
            actions.deliver_again(delivery)
            messages.success(request, _("It is sent again. Reload this page in a moment."))
        return _back_to(delivery.endpoint_id)


class Notifications(LoginRequiredMixin, RefusableForm):
    template_name = "notices/notifications.html"
    form_class = NotificationsForm

    def get_initial(self) -> dict[str, Any]:
        return {kind.value: wanted for kind, wanted in actions.preferences_of(person(self.request)).items()}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {"mails_leave": mails_leave()}

    def act(self, form: NotificationsForm) -> HttpResponse:
        actions.set_preferences(person(self.request), form.wanted())
        messages.success(self.request, _("Saved."))
        return redirect("notices:notifications")


def _visible(request: HttpRequest) -> Any:
    user = person(request)
    return Endpoint.objects.visible_to(user, installation=user.is_staff)


def _own(request: HttpRequest, endpoint_id: uuid.UUID) -> Endpoint:
    endpoint: Endpoint = get_object_or_404(_visible(request), pk=endpoint_id)
    return endpoint


def _shown(endpoint: Endpoint) -> dict[str, Any]:
    return {"endpoint": endpoint, "events": [EVENT_LABELS[kind] for kind in EVENT_LABELS if kind in endpoint.events]}


def _back_to(endpoint_id: uuid.UUID) -> HttpResponse:
    return redirect("notices:webhook", endpoint_id=endpoint_id)
