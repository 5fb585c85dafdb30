"""The audit log over the API: a page of it, all of it as a file, and what comes as it comes."""

from typing import Any

from django.http import HttpResponseBase, JsonResponse
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from hyperagent.accounts.audit_log.access import ReadsAudit, token_of
from hyperagent.accounts.audit_log.streaming import server_sent
from hyperagent.accounts.models import User
from hyperagent.audit import reading
from hyperagent.audit.exporting import Form, export
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.models import AuditEvent
from hyperagent.audit.reading import Wanted, found
from hyperagent.audit.recording import actor_of, record
from hyperagent.audit.sealing import seal
from hyperagent.audit.shapes import told
from hyperagent.lib.admin_lists import people_called
from hyperagent.lib.api import ErrorSerializer, Pages, with_format
from hyperagent.lib.async_api import (
    AsyncAnswerView,
    Later,
    ServerSentSerializer,
    event_stream,
    place_asked,
    wants_stream,
)

FILTERS = [
    OpenApiParameter("kind", str, description="One or more kinds, with commas between; `sign_in.*` is all of those."),
    OpenApiParameter("actor", str, description="Whoever did it: an id, or the beginning of an e-mail address."),
    OpenApiParameter("target", str, description="The id of what it was done to."),
    OpenApiParameter("address", str, description="The address that the request came from."),
    OpenApiParameter("since", str, description="ISO 8601: at this moment or later."),
    OpenApiParameter("until", str, description="ISO 8601: before this moment."),
]


class PartySerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField(help_text="As it was; `deleted user 3f2a` once the account is deleted.")


class TargetSerializer(serializers.Serializer[Any]):
    type = serializers.CharField()
    id = serializers.CharField()
    name = serializers.CharField()


class AuditEventSerializer(serializers.Serializer[Any]):
    number = serializers.IntegerField(help_text="Its place in the log, without gaps.")
    at = serializers.DateTimeField()
    kind = serializers.CharField(help_text=f"Such as {', '.join(list(AuditKind)[:6])}.")
    actor = PartySerializer(allow_null=True)
    target = TargetSerializer(allow_null=True)
    address = serializers.CharField(allow_null=True)
    browser = serializers.CharField(allow_null=True)
    request_id = serializers.CharField(allow_null=True)
    details = serializers.JSONField()
    hash = serializers.CharField(help_text="SHA-256 over the event and the hash of the one before.")


class FilterSerializer(serializers.Serializer[Any]):
    kind = serializers.CharField(required=False, default="", allow_blank=True, max_length=2_000)
    actor = serializers.CharField(required=False, default="", allow_blank=True, max_length=254)
    target = serializers.CharField(required=False, default="", allow_blank=True, max_length=200)
    address = serializers.CharField(required=False, default="", allow_blank=True, max_length=64)
    since = serializers.DateTimeField(required=False, default=None)
    until = serializers.DateTimeField(required=False, default=None)

    def validate_kind(self, text: str) -> tuple[str, ...]:
        kinds: dict[str, None] = {}
        for name in filter(None, (part.strip() for part in text.split(","))):
            fitting = [kind.value for kind in AuditKind if _is_called(kind, name)]
            if not fitting:
                raise serializers.ValidationError(
                    _("'{name}' is no kind of event. Use some of: {kinds}.").format(
                        name=name[:40], kinds=", ".join(AuditKind)
                    )
                )
            kinds.update(dict.fromkeys(fitting))
        return tuple(kinds)


class ExportSerializer(FilterSerializer):
    form = serializers.ChoiceField(choices=[form.value for form in Form], default=Form.JSON_LINES.value)

    def to_internal_value(self, data: Any) -> Any:
        return super().to_internal_value(with_format(data, counts_as="form"))


class AfterSerializer(serializers.Serializer[Any]):
    after = serializers.IntegerField(required=False, default=0, min_value=0, max_value=2**63 - 1)
    limit = serializers.IntegerField(required=False, default=500, min_value=1, max_value=1_000)


class AuditPageSerializer(serializers.Serializer[Any]):
    next = serializers.URLField(help_text="There always is one: it may be empty yet.")
    previous = serializers.URLField(allow_null=True)
    results = AuditEventSerializer(many=True)


@extend_schema_view(get=extend_schema(parameters=FILTERS))
class AuditList(generics.ListAPIView[AuditEvent]):
    """The audit log: who did what, newest first."""

    permission_classes = (ReadsAudit,)
    serializer_class = AuditEventSerializer
    pagination_class = Pages.ordered_by("-number")
    filter_backends = ()
    queryset = AuditEvent.objects.none()

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        rows = found(_wanted(FilterSerializer(data=request.query_params)))
        seal()
        return self.get_paginated_response([told(row) for row in self.paginate_queryset(rows) or []])


class AuditExport(APIView):
    permission_classes = (ReadsAudit,)

    @extend_schema(
        parameters=[*FILTERS, OpenApiParameter("form", str, enum=[form.value for form in Form])],
        responses={(200, "text/csv"): str, (200, "application/jsonl"): str, 400: ErrorSerializer, 403: ErrorSerializer},
    )
    def get(self, request: Request) -> HttpResponseBase:
        """Every entry that fits the filters, oldest first, as a file. That it was taken is written into the log."""
        asked = ExportSerializer(data=request.query_params)
        rows, actor = found(_wanted(asked)), actor_of(request.user)
        assert actor is not None
        # Not the words that were typed: a name in them could not be forgotten.
        filters = sorted(name for name in asked.validated_data if name != "form" and asked.validated_data[name])
        return export(rows, Form(asked.validated_data["form"]), by=actor, filters={"by": filters})


class AuditStream(AsyncAnswerView):
    permission_classes = (ReadsAudit,)

    @extend_schema(
        parameters=[
            OpenApiParameter("after", int, description="The last number that you have; 0 for all."),
            OpenApiParameter("limit", int, description="Events on a page (JSON only), at most 1,000."),
            OpenApiParameter("Last-Event-ID", int, OpenApiParameter.HEADER, description="Counts as `after`."),
        ],
        responses={
            (200, "application/json"): AuditPageSerializer,
            (200, "text/event-stream"): ServerSentSerializer,
            400: ErrorSerializer,
            403: ErrorSerializer,
        },
    )
    def get(self, request: Request) -> HttpResponseBase:
        """The log in order and without gaps: a page of JSON, or with `Accept: text/event-stream` all that is and all
        that comes.
        """
        wanted = place_asked(request, AfterSerializer)
        user, token, after = request.user, token_of(request), wanted["after"]
        assert isinstance(user, User)
        if not wants_stream(request):
            return _page(request, after, wanted["limit"])
        record(AuditKind.AUDIT_STREAMED, actor=actor_of(user), details={"after": after})

        token_id, session_key = (token.pk, None) if token else (None, request.session.session_key)

        async def answer() -> HttpResponseBase:
            parts = server_sent(after, user_id=user.pk, token_id=token_id, session_key=session_key)
            return event_stream(parts, of="the audit log")

        return Later(answer)


def _page(request: Request, after: int, limit: int) -> HttpResponseBase:
    rows = reading.after(after, limit=limit)
    last = rows[-1].number if rows else after
    next_page = f"{request.build_absolute_uri(request.path)}?after={last}&limit={limit}"
    return JsonResponse({"next": next_page, "previous": None, "results": [told(row) for row in rows]})


def _wanted(asked: serializers.Serializer[Any]) -> Wanted:
    asked.is_valid(raise_exception=True)
    given = asked.validated_data
    return Wanted(
        kinds=given["kind"] or (),
        actor_ids=tuple(people_called(given["actor"])) if given["actor"] else None,
        target_id=given["target"],
        address=given["address"],
        since=given["since"],
        until=given["until"],
    )


def _is_called(kind: AuditKind, name: str) -> bool:
    return kind.value == name or (name.endswith(".*") and kind.value.startswith(name[:-1]))
