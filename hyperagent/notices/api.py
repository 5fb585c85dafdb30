"""Webhooks over the API: one's own, and for administrators those of the installation. Decides nothing itself."""

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from hyperagent.accounts.authentication import HasScope
from hyperagent.accounts.models import ApiToken
from hyperagent.accounts.requests import person
from hyperagent.accounts.scopes import Scope
from hyperagent.accounts.tokens import scopes_of
from hyperagent.lib.api import ErrorSerializer, Pages, Several, own_or_404
from hyperagent.notices import actions
from hyperagent.notices.kinds import CHOOSABLE, DeliveryStatus, EventType
from hyperagent.notices.models import Delivery, Endpoint

ME, INSTALLATION = "me", "installation"
_EVENTS_HELP = f"Of {', '.join(CHOOSABLE)}."


class EndpointSerializer(serializers.ModelSerializer[Endpoint]):
    owner = serializers.SerializerMethodField(help_text="me, or installation")
    enabled = serializers.BooleanField()

    class Meta:
        model = Endpoint
        fields = (
            "id", "owner", "url", "events", "enabled", "disabled_at", "disabled_why", "failing_since", "created_at",
        )  # fmt: skip

    def get_owner(self, endpoint: Endpoint) -> str:
        return INSTALLATION if endpoint.is_installations else ME


class NewEndpoint(serializers.Serializer[Any]):
    url = serializers.CharField(max_length=10_000)
    events = Several(child=serializers.CharField(max_length=100), max_length=20, help_text=_EVENTS_HELP)
    owner = serializers.ChoiceField(choices=[ME, INSTALLATION], default=ME)


class EndpointChange(serializers.Serializer[Any]):
    url = serializers.CharField(max_length=10_000, required=False)
    events = Several(child=serializers.CharField(max_length=100), max_length=20, required=False, help_text=_EVENTS_HELP)
    enabled = serializers.BooleanField(required=False)


class EndpointWithSecret(EndpointSerializer):
    secret = serializers.CharField(help_text="Shown this once. What is sent is signed with it.")

    class Meta:
        model = Endpoint
        fields = (*EndpointSerializer.Meta.fields, "secret")


class DeliverySerializer(serializers.ModelSerializer[Delivery]):
    webhook_id = serializers.UUIDField(source="endpoint_id")
    type = serializers.ChoiceField(choices=[(kind.value, kind.name) for kind in EventType])
    status = serializers.ChoiceField(choices=[(status.value, status.name) for status in DeliveryStatus])
    next_attempt_at = serializers.SerializerMethodField()
    payload = serializers.JSONField()

    class Meta:
        model = Delivery
        fields = (
            "id", "webhook_id", "event_id", "type", "status", "attempts", "last_status_code", "last_error",
            "response_head", "payload", "created_at", "last_attempt_at", "next_attempt_at", "delivered_at",
        )  # fmt: skip

    def get_next_attempt_at(self, delivery: Delivery) -> str | None:
        return serializers.DateTimeField().to_representation(delivery.next_attempt_at) if delivery.is_open else None


class WebhookList(generics.ListAPIView[Endpoint]):
    """Your webhooks, and with the scope `admin` those of the installation, newest first."""

    serializer_class = EndpointSerializer
    pagination_class = Pages
    filter_backends = ()
    queryset = Endpoint.objects.none()

    def get_permissions(self) -> list[BasePermission]:
        return [HasScope(Scope.RUN if self.request.method == "POST" else Scope.READ)()]

    def get_queryset(self) -> Any:
        return _visible(self.request)

    @extend_schema(request=NewEndpoint, responses={201: EndpointWithSecret, 400: ErrorSerializer, 409: ErrorSerializer})
    def post(self, request: Request) -> Response:
        """Has events sent to an address from now on. `secret`, by which what is sent is signed, is shown this once.
        `owner` installation (scope `admin`): the events of everybody. 409 if there are too many.
        """
        asked = NewEndpoint(data=request.data)
        asked.is_valid(raise_exception=True)
        values: dict[str, Any] = asked.validated_data
        if values["owner"] == INSTALLATION and not _is_administrators(request):
            self.permission_denied(request, message=HasScope(Scope.ADMIN)().message, code="scope_missing")  # type: ignore[attr-defined]
        user = None if values["owner"] == INSTALLATION else person(request)
        endpoint, secret = actions.add_endpoint(user, url=values["url"], events=values["events"], by=person(request))
        shown = {**EndpointSerializer(endpoint).data, "secret": secret}
        return Response(shown, status=201, headers={"Cache-Control": "no-store"})


class WebhookDetail(APIView):
    def get_permissions(self) -> list[BasePermission]:
        return [HasScope(Scope.READ if self.request.method in ("GET", "HEAD") else Scope.RUN)()]

    @extend_schema(responses={200: EndpointSerializer, 404: ErrorSerializer})
    def get(self, request: Request, endpoint_id: uuid.UUID) -> Response:
        """One webhook: where it sends what, and since when it fails, if it does."""
        return Response(EndpointSerializer(own_or_404(_visible(request), pk=endpoint_id)).data)

    @extend_schema(
        request=EndpointChange, responses={200: EndpointSerializer, **dict.fromkeys((400, 404), ErrorSerializer)}
    )
    def patch(self, request: Request, endpoint_id: uuid.UUID) -> Response:
        """Another address, other events, or switches it on or off. What is left out stays as it is."""
        endpoint = own_or_404(_visible(request), pk=endpoint_id)
        asked = EndpointChange(data=request.data)
        asked.is_valid(raise_exception=True)
        changed = actions.change_endpoint(endpoint, **asked.validated_data, by=person(request))
        return Response(EndpointSerializer(changed).data)

    @extend_schema(responses={204: None, 404: ErrorSerializer})
    def delete(self, request: Request, endpoint_id: uuid.UUID) -> Response:
        """Deletes it with its log: nothing more is sent there."""
        actions.delete_endpoint(own_or_404(_visible(request), pk=endpoint_id), by=person(request))
        return Response(status=204)


class WebhookTest(APIView):
    permission_classes = (HasScope(Scope.RUN),)

    @extend_schema(request=None, responses={202: DeliverySerializer, **dict.fromkeys((404, 409), ErrorSerializer)})
    def post(self, request: Request, endpoint_id: uuid.UUID) -> Response:
        """Sends an event of type `webhook.test` to this endpoint alone. 409 if it is switched off, or a test is on its
        way.
        """
        delivery = actions.send_test(own_or_404(_visible(request), pk=endpoint_id))
        return Response(DeliverySerializer(delivery).data, status=202)


class DeliveryList(generics.ListAPIView[Delivery]):
    """The deliveries of a webhook: what was sent or is to be, and what came of it, newest first."""

    permission_classes = (HasScope(Scope.READ),)
    serializer_class = DeliverySerializer
    pagination_class = Pages
    filter_backends = ()
    queryset = Delivery.objects.none()

    def get_queryset(self) -> Any:
        return own_or_404(_visible(self.request), pk=self.kwargs["endpoint_id"]).deliveries.all()


class Redeliver(APIView):
    permission_classes = (HasScope(Scope.RUN),)

    @extend_schema(request=None, responses={202: DeliverySerializer, **dict.fromkeys((404, 409), ErrorSerializer)})
    def post(self, request: Request, delivery_id: uuid.UUID) -> Response:
        """Sends the event again at once, under the same id. 409 if the webhook is switched off."""
        found = own_or_404(Delivery.objects.filter(endpoint__in=_visible(request)), pk=delivery_id)
        return Response(DeliverySerializer(actions.deliver_again(found)).data, status=202)


def _visible(request: Request) -> Any:
    return Endpoint.objects.visible_to(person(request), installation=_is_administrators(request))


def _is_administrators(request: Request) -> bool:
    token = request.auth if isinstance(request.auth, ApiToken) else None
    return Scope.ADMIN in scopes_of(person(request), token)
