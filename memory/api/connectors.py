"""The connectors' endpoints. Each checks the shape of what came, calls a verb of `memory.connecting.actions` and shows
what it gave. Whoever did not make a connector is told 404.
"""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import Count, Q, QuerySet
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hyperagent.accounts.authentication import HasScope
from hyperagent.accounts.models import User
from hyperagent.accounts.scopes import Scope
from hyperagent.lib.api import ErrorSerializer, OneOf, Pages, own_or_404
from hyperagent.lib.times import iso
from memory.api.documents import DocumentsView
from memory.connecting import actions
from memory.kinds import ConnectorKind
from memory.models import Connector, ConnectorItem

ERRORS = dict.fromkeys((400, 403, 404, 409), ErrorSerializer)
WITH_DOCUMENTS = OpenApiParameter("documents", str, enum=["keep", "delete"], description="What becomes of them: keep.")


class ConnectorSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=[(kind.value, kind.name) for kind in ConnectorKind])
    location = serializers.CharField()
    every_s = serializers.IntegerField()
    is_on = serializers.BooleanField()
    is_failing = serializers.BooleanField()
    result = serializers.CharField(help_text="What became of the last look, for people.")
    documents = serializers.IntegerField()
    problems = serializers.IntegerField(help_text="Files or pages that could not be read.")
    looked_at = serializers.DateTimeField(allow_null=True)
    next_look_at = serializers.DateTimeField(allow_null=True, help_text="null: it is off, or at once.")
    created_at = serializers.DateTimeField()


class ConnectorWriteSerializer(serializers.Serializer[Any]):
    kind = OneOf(ConnectorKind)
    location = serializers.CharField(max_length=2_000, help_text="A folder's absolute path, or an address.")
    every_s = serializers.IntegerField(required=False, default=3_600)


class ConnectorChangeSerializer(serializers.Serializer[Any]):
    every_s = serializers.IntegerField(required=False)
    is_on = serializers.BooleanField(required=False)


class ConnectorDeleteSerializer(serializers.Serializer[Any]):
    documents = serializers.ChoiceField(choices=["keep", "delete"], default="keep")


class ItemSerializer(serializers.Serializer[Any]):
    place = serializers.CharField(help_text="A path within the folder, or an address.")
    doc_id = serializers.UUIDField(allow_null=True)
    problem = serializers.CharField(allow_blank=True)
    looked_at = serializers.DateTimeField(allow_null=True)


class ConnectorList(DocumentsView, generics.GenericAPIView[Connector]):
    serializer_class = ConnectorSerializer
    pagination_class = Pages
    filter_backends = ()
    queryset = Connector.objects.none()

    @extend_schema(responses=ConnectorSerializer(many=True))
    def get(self, request: Request) -> Response:
        """Your connectors, newest first."""
        page = self.paginate_queryset(counted(Connector.objects.of(self.caller)))
        return self.get_paginated_response([connector_shape(one) for one in page or []])

    @extend_schema(request=ConnectorWriteSerializer, responses={201: ConnectorSerializer, **ERRORS})
    def post(self, request: Request) -> Response:
        """Has documents read from a place, now and every so often: a web page, the pages of a sitemap, or
        (administrators only, scope `admin`) a folder of the server.
        """
        asked = ConnectorWriteSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        given = asked.validated_data
        is_for_administrators = given["kind"] == ConnectorKind.FOLDER and self.caller.is_staff
        if is_for_administrators and not HasScope(Scope.ADMIN)().has_permission(request, self):
            self.permission_denied(request, message=HasScope(Scope.ADMIN)().message, code="scope_missing")  # type: ignore[attr-defined]
        made = actions.add(
            self.caller, kind=ConnectorKind(given["kind"]), location=given["location"], every_s=given["every_s"]
        )
        return _shown(self.caller, made.pk, status=201)


class ConnectorDetail(DocumentsView):
    @extend_schema(responses={200: ConnectorSerializer, 404: ErrorSerializer})
    def get(self, request: Request, connector_id: UUID) -> Response:
        """One connector: what became of its last look, and when it looks again."""
        return _shown(self.caller, connector_id)

    @extend_schema(request=ConnectorChangeSerializer, responses={200: ConnectorSerializer, **ERRORS})
    def patch(self, request: Request, connector_id: UUID) -> Response:
        """How often it looks (`every_s`, in seconds), or switches it on or off. What is left out stays as it is."""
        own_or_404(Connector.objects.of(self.caller), pk=connector_id)
        asked = ConnectorChangeSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        actions.change(self.caller, connector_id, **asked.validated_data)
        return _shown(self.caller, connector_id)

    @extend_schema(parameters=[WITH_DOCUMENTS], responses={204: None, **ERRORS})
    def delete(self, request: Request, connector_id: UUID) -> Response:
        """Deletes the connector. The documents that it brought stay, unless `documents=delete`."""
        asked = ConnectorDeleteSerializer(data=request.query_params.dict())
        asked.is_valid(raise_exception=True)
        actions.delete(self.caller, connector_id, with_documents=asked.validated_data["documents"] == "delete")
        return Response(status=204)


class ConnectorLook(DocumentsView):
    @extend_schema(request=None, responses={202: ConnectorSerializer, **ERRORS})
    def post(self, request: Request, connector_id: UUID) -> Response:
        """Looks now, in the background: whether there are new documents, changed ones, or some are gone."""
        actions.look_now(self.caller, connector_id)
        return _shown(self.caller, connector_id, status=202)


class ConnectorItems(DocumentsView, generics.GenericAPIView[ConnectorItem]):
    serializer_class = ItemSerializer
    pagination_class = Pages.ordered_by("id")
    filter_backends = ()
    queryset = ConnectorItem.objects.none()

    @extend_schema(responses=ItemSerializer(many=True))
    def get(self, request: Request, connector_id: UUID) -> Response:
        """The files or pages that it found: which document each became, or why it could not be read."""
        page = self.paginate_queryset(own_or_404(Connector.objects.of(self.caller), pk=connector_id).items.all())
        return self.get_paginated_response([_item_shape(item) for item in page or []])


def counted(rows: QuerySet[Connector]) -> QuerySet[Connector]:
    """With how many documents each has, and how many places that could not be read."""
    return rows.annotate(
        documents_count=Count("items__document", distinct=True),
        problems_count=Count("items", filter=~Q(items__problem=""), distinct=True),
    )


def connector_shape(connector: Connector) -> dict[str, Any]:
    """Needs what `counted` loads."""
    looked = connector.looked_at
    next_look = looked + timedelta(seconds=connector.pause_s) if looked and connector.is_on else None
    return {
        "id": str(connector.pk),
        "kind": str(connector.kind),
        "location": connector.location,
        "every_s": connector.every_s,
        "is_on": connector.is_on,
        "is_failing": connector.is_failing,
        "result": connector.result,
        "documents": getattr(connector, "documents_count", 0),
        "problems": getattr(connector, "problems_count", 0),
        "looked_at": iso(looked),
        "next_look_at": iso(next_look),
        "created_at": iso(connector.created_at),
    }


def _shown(user: User, connector_id: UUID, *, status: int = 200) -> Response:
    found = own_or_404(counted(Connector.objects.of(user)), pk=connector_id)
    return Response(connector_shape(found), status=status)


def _item_shape(item: ConnectorItem) -> dict[str, Any]:
    return {
        "place": item.place,
        "doc_id": str(item.document_id) if item.document_id else None,
        "problem": item.problem,
        "looked_at": iso(item.looked_at),
    }


urlpatterns = [
    path("connectors", ConnectorList.as_view(), name="connectors"),
    path("connectors/<uuid:connector_id>", ConnectorDetail.as_view(), name="connector"),
    path("connectors/<uuid:connector_id>/look", ConnectorLook.as_view(), name="connector-look"),
    path("connectors/<uuid:connector_id>/items", ConnectorItems.as_view(), name="connector-items"),
]
