"""The documents' endpoints. Each checks the shape of what came, calls a verb of `memory.actions.documents` and shows
what it gave. Every query begins with what the caller may see.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import django_filters  # type: ignore[import-untyped]
from django.conf import settings
from django.db.models import F, Q, QuerySet
from django.http import HttpResponse, HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics
from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from hyperagent.accounts.authentication import HasScope
from hyperagent.accounts.scoped import ScopedView
from hyperagent.accounts.scopes import Scope
from hyperagent.lib.api import ErrorSerializer, Pages, own_or_404
from hyperagent.lib.refusals import NotThere, Refused
from memory.actions import documents as actions
from memory.api import document_serializers as serializers
from memory.api import files
from memory.ingestion.files import NoRoom, TooBig, is_full
from memory.kinds import DocumentStatus, Visibility
from memory.models import Chunk, Document
from memory.shapes import chunk_shape, document_shape, page_shape

ERRORS = dict.fromkeys((400, 403, 404, 409), ErrorSerializer)
# A multipart body is its file, the names around it and the other fields.
_AROUND_FILE_BYTES = 100_000
SOUGHT_CHARS = 200


class DocumentsView(ScopedView):
    looking = HasScope(Scope.READ, Scope.DOCUMENTS)
    changing = HasScope(Scope.DOCUMENTS)

    def seen(self) -> QuerySet[Document]:
        return Document.objects.seen_by(self.caller).select_related("owner").prefetch_related("groups")

    @property
    def is_administrators(self) -> bool:
        """A token of theirs has to be given the scope."""
        return HasScope(Scope.ADMIN)().has_permission(self.request, self)

    def change(self, document_id: UUID, given: Mapping[str, Any]) -> None:
        """What is left out stays as it is."""
        if "shared_with" in given:
            wanted = given["shared_with"]
            actions.share(
                self.caller,
                document_id,
                visibility=wanted.visibility,
                groups=wanted.groups,
                as_administrator=self.is_administrators,
            )
        if "title" in given:
            actions.rename(self.caller, document_id, given["title"])

    def shown(self, document_id: UUID, *, status: int = 200) -> Response:
        return Response(document_shape(own_or_404(self.seen(), pk=document_id), self.caller), status=status)


class DocumentFilter(django_filters.FilterSet):  # type: ignore[misc]
    status = django_filters.MultipleChoiceFilter(choices=[(status.value, status.value) for status in DocumentStatus])
    doc_type = django_filters.CharFilter(help_text="Such as pdf.")
    # Each word makes the query longer, and takes the longer to be put into it.
    q = django_filters.CharFilter(
        method="by_words",
        max_length=SOUGHT_CHARS,
        help_text="Parts of the file's name or the title: all of these words.",
    )
    owner = django_filters.ChoiceFilter(
        choices=[("me", "me"), ("shared", "shared")],
        method="by_owner",
        help_text="me: the caller's own; shared: what others let the caller see. Both without it.",
    )

    class Meta:
        model = Document
        fields = ("status", "doc_type", "q", "owner")

    def by_words(self, rows: QuerySet[Document], name: str, value: str) -> QuerySet[Document]:
        for word in value.split():
            rows = rows.filter(Q(filename__icontains=word) | Q(title__icontains=word))
        return rows

    def by_owner(self, rows: QuerySet[Document], name: str, value: str) -> QuerySet[Document]:
        mine = Q(owner=self.request.user)
        return rows.filter(mine if value == "me" else ~mine)


class _FormParser(MultiPartParser):
    """Other bodies of the API are JSON, and what cannot be read is refused as such."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        try:
            return super().parse(stream, media_type, parser_context)
        except ParseError as error:
            raise Refused("not_a_form", f"{error.detail}. Send the document as the field 'file' of a form.") from None


class DocumentList(DocumentsView, generics.GenericAPIView[Document]):
    serializer_class = serializers.DocumentSerializer
    pagination_class = Pages.ordered_by("-created_at", "-id")
    filterset_class = DocumentFilter
    queryset = Document.objects.none()

    def get_queryset(self) -> QuerySet[Document]:
        return self.seen()

    def get_parsers(self) -> list[Any]:
        request = getattr(self, "request", None)
        is_upload = request is None or request.method == "POST"
        return [_FormParser()] if is_upload else super().get_parsers()

    @extend_schema(responses=serializers.DocumentSerializer(many=True))
    def get(self, request: Request) -> Response:
        """The documents that you may see, newest first: your own, those of your projects and groups, and those for
        everybody.
        """
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        return self.get_paginated_response([document_shape(row, self.caller) for row in page or []])

    @extend_schema(
        request={"multipart/form-data": serializers.UploadSerializer},
        responses={
            201: serializers.DocumentSerializer,
            200: serializers.DocumentSerializer,
            **dict.fromkeys((400, 413, 507), ErrorSerializer),
        },
    )
    def post(self, request: Request) -> Response:
        """Uploads one file, which is read in the background; `status` says how far it is. 200 with the first document
        if you gave the same bytes before: a title, or who sees it, that you give with them holds from then on.
        """
        received = _received(request)
        _refuse_more_than_one(request)
        asked = serializers.UploadSerializer(data=received)
        asked.is_valid(raise_exception=True)
        given = asked.validated_data
        shared_with = given.get("shared_with", serializers.SharedWith(Visibility.PRIVATE))
        document, is_new = actions.add(
            self.caller,
            given["file"],
            filename=given["file"].name or "",
            title=given.get("title", ""),
            visibility=shared_with.visibility,
            groups=shared_with.groups,
            as_administrator=self.is_administrators,
        )
        if not is_new:
            # A form that is sent whole has an empty title where there is none.
            self.change(document.pk, {name: value for name, value in given.items() if value})
        return self.shown(document.pk, status=201 if is_new else 200)


def _received(request: Request) -> Any:
    """The form. What is too large is refused by its announced length, before it is read here."""
    limit = settings.CONFIG.document_max_bytes
    if int(request.META.get("CONTENT_LENGTH") or 0) > limit + _AROUND_FILE_BYTES:
        raise TooBig(limit)
    try:
        return request.data
    except OSError as error:
        if is_full(error):
            raise NoRoom from None
        raise


def _refuse_more_than_one(request: Request) -> None:
    """Of several parts of one name a form gives the last, and the others would be lost without a word."""
    count = sum(len(parts) for _, parts in request.FILES.lists())
    if count > 1:
        raise ValidationError({"file": [f"These are {count} files. Send each in a request of its own."]})


class DocumentDetail(DocumentsView):
    @extend_schema(responses={200: serializers.DocumentSerializer, 404: ErrorSerializer})
    def get(self, request: Request, document_id: UUID) -> Response:
        """One document: what it is, who sees it, and how far it is read."""
        return self.shown(document_id)

    @extend_schema(
        request=serializers.DocumentChangeSerializer, responses={200: serializers.DocumentSerializer, **ERRORS}
    )
    def patch(self, request: Request, document_id: UUID) -> Response:
        """Another title, or other people who see it; by its owner only."""
        own_or_404(self.seen(), pk=document_id)
        asked = serializers.DocumentChangeSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        self.change(document_id, asked.validated_data)
        return self.shown(document_id)

    @extend_schema(responses={204: None, **ERRORS})
    def delete(self, request: Request, document_id: UUID) -> Response:
        """Deletes it for everybody: the file, its text and whatever is found by it. By its owner only."""
        actions.delete(self.caller, document_id)
        return Response(status=204)


class DocumentCancel(DocumentsView):
    @extend_schema(request=None, responses={200: serializers.DocumentSerializer, **ERRORS})
    def post(self, request: Request, document_id: UUID) -> Response:
        """Stops the reading; the file stays. Stopping it twice changes nothing."""
        actions.cancel(self.caller, document_id)
        return self.shown(document_id)


class DocumentAgain(DocumentsView):
    @extend_schema(request=None, responses={202: serializers.DocumentSerializer, **ERRORS})
    def post(self, request: Request, document_id: UUID) -> Response:
        """Reads the file again from the start. 409 while it is being read."""
        actions.again(self.caller, document_id)
        return self.shown(document_id, status=202)


class DocumentChunks(DocumentsView, generics.GenericAPIView[Chunk]):
    serializer_class = serializers.ChunkSerializer
    pagination_class = Pages.ordered_by("ordinal")
    filter_backends = ()
    queryset = Chunk.objects.none()

    @extend_schema(responses={200: serializers.ChunkSerializer(many=True), 404: ErrorSerializer})
    def get(self, request: Request, document_id: UUID) -> Response:
        """The passages that a search can find, in the order of the text."""
        document = own_or_404(self.seen(), pk=document_id)
        rows = Chunk.objects.filter(document=document).annotate(parent_chunk_id=F("parent__chunk_id"))
        page = self.paginate_queryset(rows)
        return self.get_paginated_response([chunk_shape(chunk) for chunk in page or []])


class DocumentPages(DocumentsView):
    @extend_schema(
        parameters=[serializers.PagesQuerySerializer],
        responses={200: serializers.PagesSerializer, 404: ErrorSerializer},
    )
    def get(self, request: Request, document_id: UUID) -> Response:
        """The text of some pages, from `from` (the first is 1); `count` of them at most."""
        document = own_or_404(self.seen(), pk=document_id)
        asked = serializers.PagesQuerySerializer(data=request.query_params)
        asked.is_valid(raise_exception=True)
        first, count = asked.validated_data["from"], asked.validated_data["count"]
        found = list(document.pages.filter(number__gte=first).order_by("number")[: count + 1])
        return Response(
            {
                "total_pages": document.total_pages,
                "pages_read": document.pages_read,
                "next_from": found[count].number if len(found) > count else None,
                "results": [page_shape(page) for page in found[:count]],
            }
        )


class DocumentFile(DocumentsView):
    @extend_schema(
        responses={
            (200, "application/octet-stream"): OpenApiTypes.BINARY,
            **dict.fromkeys((404, 410), ErrorSerializer),
        }
    )
    def get(self, request: Request, document_id: UUID) -> HttpResponseBase:
        """The bytes of the file as it was uploaded, as a download."""
        return files.download(own_or_404(self.seen(), pk=document_id))


class DocumentPageImage(DocumentsView):
    @extend_schema(
        parameters=[OpenApiParameter("width", int, description="Pixels, 100 to 2000; rounded up to a few sizes.")],
        responses={
            (200, "image/png"): OpenApiTypes.BINARY,
            304: None,
            **dict.fromkeys((404, 410, 422), ErrorSerializer),
        },
    )
    def get(self, request: Request, document_id: UUID, number: int) -> HttpResponse:
        """A page of a PDF as a picture."""
        document = own_or_404(self.seen(), pk=document_id)
        asked = serializers.ImageQuerySerializer(data=request.query_params)
        asked.is_valid(raise_exception=True)
        if document.doc_type != "pdf" or not 1 <= number <= document.total_pages:
            raise NotThere
        width = asked.validated_data["width"]
        return files.page_picture(
            request, stored_as=document.stored_as, key=document.sha256, number=number, width=width
        )
