"""The endpoints of workspaces. Each checks the shape of what came, calls a verb of `memory.workspaces` and shows what
it gave."""

import re
from typing import IO, Final, cast
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpResponse, HttpResponseBase
from django.utils.http import parse_etags
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics
from rest_framework.exceptions import UnsupportedMediaType, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from hyperagent.accounts.authentication import HasScope
from hyperagent.accounts.scoped import ScopedView
from hyperagent.accounts.scopes import Scope as TokenScope
from hyperagent.lib.api import ErrorSerializer, Pages, whole_list
from hyperagent.lib.refusals import NotThere
from memory.api import files as bytes_api
from memory.api import workspace_serializers as shapes
from memory.models import WorkspaceFile
from memory.workspaces import files, folders, places
from memory.workspaces.overview import places_of
from memory.workspaces.places import Place, Scope
from memory.workspaces.showing import HEAD_BYTES, PDF, SHOWN, shown_as

ERRORS: Final = dict.fromkeys((400, 403, 404, 409), ErrorSerializer)
WRITING: Final = dict.fromkeys((400, 403, 404, 409, 412, 413, 415, 507), ErrorSerializer)
# A PDF is drawn by a browser in a place of its own, which a sandbox would keep it from.
_PDF_POLICY: Final = "default-src 'none'; frame-ancestors 'none'"
_SCOPE: Final = OpenApiParameter("scope", str, OpenApiParameter.PATH, enum=[scope.value for scope in Scope])
_PATH: Final = OpenApiParameter(
    "path", str, OpenApiParameter.PATH, description="Relative, with '/' between folders, such as data/sales.csv."
)
_MARK: Final = re.compile(r"[0-9]{1,9}(-[0-9a-f]{64})?")
_IF_MATCH: Final = OpenApiParameter(
    "If-Match", str, OpenApiParameter.HEADER, description="What was read: its ETag, or its version; 412 if it changed."
)
_IF_NONE_MATCH: Final = OpenApiParameter(
    "If-None-Match", str, OpenApiParameter.HEADER, description="*: only if there is no such file; 412 otherwise."
)


class FilesView(ScopedView):
    looking = HasScope(TokenScope.READ, TokenScope.DOCUMENTS)
    changing = HasScope(TokenScope.DOCUMENTS)

    @property
    def place(self) -> Place:
        return Place(Scope(self.kwargs["scope"]), self.kwargs["scope_id"])


class PlaceList(FilesView):
    @extend_schema(operation_id="file_places_list", responses=shapes.PlacesSerializer)
    def get(self, request: Request) -> Response:
        """Where the caller has files: their own, those of their projects, and of conversations that have some, the
        latest hundred."""
        return Response(whole_list(shapes.place_shape(found) for found in places_of(self.caller)))


@extend_schema(parameters=[_SCOPE])
class FileList(FilesView, generics.GenericAPIView[WorkspaceFile]):
    serializer_class = shapes.FileSerializer
    pagination_class = Pages.ordered_by("path")
    filter_backends = ()
    queryset = WorkspaceFile.objects.none()

    def get_queryset(self) -> QuerySet[WorkspaceFile]:
        places.rights(self.caller.pk, self.place)
        asked = shapes.FileListQuerySerializer(data=self.request.query_params)
        asked.is_valid(raise_exception=True)
        found = folders.deleted_in if asked.validated_data["deleted"] else files.standing
        return found(self.place, self.request.query_params.get("prefix", ""))

    @extend_schema(
        operation_id="files_list",
        parameters=[
            OpenApiParameter("prefix", str, description="Only paths that begin so."),
            shapes.FileListQuerySerializer,
        ],
        responses={200: shapes.FileSerializer(many=True), 404: ErrorSerializer},
    )
    def get(self, request: Request, scope: str, scope_id: UUID) -> Response:
        """The files of one place, by their paths. With `deleted` those that were deleted lately: `POST
        /file-versions/…` with the version of one puts it back."""
        page = self.paginate_queryset(self.get_queryset())
        return self.get_paginated_response([shapes.file_shape(self.place, row) for row in page or []])


@extend_schema(parameters=[_SCOPE, _PATH])
class FileDetail(FilesView):
    @extend_schema(
        parameters=[
            OpenApiParameter("version", int, description="An older one; without it the one that stands there."),
            OpenApiParameter("inline", bool, description="To be shown, if it is a picture, a PDF or a text."),
            OpenApiParameter("page", int, description="Of a PDF: this page as a picture."),
            OpenApiParameter("width", int, description="Of that picture, in pixels."),
        ],
        responses={
            **{(200, kind): OpenApiTypes.BINARY for kind in ("application/octet-stream", *SHOWN)},
            304: None,
            **dict.fromkeys((404, 410, 422), ErrorSerializer),
        },
    )
    def get(self, request: Request, scope: str, scope_id: UUID, path: str) -> HttpResponseBase:
        """The bytes of the file, as a download."""
        asked = shapes.FileQuerySerializer(data=request.query_params)
        asked.is_valid(raise_exception=True)
        given = asked.validated_data
        facts, stored_as = files.found(self.caller.pk, self.place, path, version=given["version"])
        if given["page"] is not None:
            if facts.media_type != PDF:
                raise NotThere
            return bytes_api.page_picture(
                request, stored_as=stored_as, key=stored_as, number=given["page"], width=given["width"]
            )
        etag = shapes.etag_of(facts)
        if etag in parse_etags(request.headers.get("If-None-Match", "")):
            return HttpResponse(status=304, headers={"ETag": etag})
        opened = bytes_api.opened(stored_as)
        head = opened.read(HEAD_BYTES) if given["inline"] else b""
        shown = shown_as(head, facts.media_type) if given["inline"] else None
        answer = bytes_api.streamed(
            opened,
            head=head,
            size_bytes=facts.size_bytes,
            filename=facts.path.rsplit("/", 1)[-1],
            shown_as=shown,
            policy=_PDF_POLICY if shown == PDF else bytes_api.NOTHING_RUNS,
        )
        answer["ETag"] = etag
        return answer

    @extend_schema(
        parameters=[_IF_MATCH, _IF_NONE_MATCH],
        request={"application/octet-stream": OpenApiTypes.BINARY},
        responses={200: shapes.FileSerializer, 201: shapes.FileSerializer, **WRITING},
    )
    def put(self, request: Request, scope: str, scope_id: UUID, path: str) -> Response:
        """Writes the file: the body is what stands there from now on, and what stood there is a version. 201 for a new
        file, 415 for a form: its boundary would stand in the file.
        """
        places.rights(self.caller.pk, self.place)
        _refuse_form(request)
        size_bytes = int(request.META.get("CONTENT_LENGTH") or 0)
        files.check_size(size_bytes)
        facts, is_new = files.put(
            self.caller.pk,
            self.place,
            path,
            # As it came: no parser reads it into memory.
            cast(IO[bytes], request._request),
            size_bytes=size_bytes,
            media_type=(request.content_type or "").split(";")[0].strip().lower(),
            expected=_expected(request),
        )
        return Response(
            shapes.file_shape(self.place, facts),
            status=201 if is_new else 200,
            headers={"ETag": shapes.etag_of(facts)},
        )

    @extend_schema(parameters=[_IF_MATCH], request=None, responses={204: None, 412: ErrorSerializer, **ERRORS})
    def delete(self, request: Request, scope: str, scope_id: UUID, path: str) -> Response:
        """Deletes the file. It is kept for some days: `POST /file-versions/…` takes it back."""
        files.delete(self.caller.pk, self.place, path, expected=_expected(request))
        return Response(status=204)


@extend_schema(parameters=[_SCOPE, _PATH])
class FileVersions(FilesView):
    @extend_schema(operation_id="file_versions_list", responses={200: shapes.VersionsSerializer, 404: ErrorSerializer})
    def get(self, request: Request, scope: str, scope_id: UUID, path: str) -> Response:
        """The versions that are kept, newest first; also those of a file that was deleted lately."""
        found = files.versions(self.caller.pk, self.place, path)
        return Response(whole_list(shapes.version_shape(row) for row in found))

    @extend_schema(request=shapes.RestoreSerializer, responses={200: shapes.FileSerializer, **ERRORS})
    def post(self, request: Request, scope: str, scope_id: UUID, path: str) -> Response:
        """Takes a version back: it becomes the newest one. A deleted file stands there again."""
        places.rights(self.caller.pk, self.place)
        asked = shapes.RestoreSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        facts = files.restore(self.caller.pk, self.place, path, asked.validated_data["version"])
        return Response(shapes.file_shape(self.place, facts))


@extend_schema(parameters=[_SCOPE, _PATH])
class FileMoves(FilesView):
    @extend_schema(request=shapes.MoveSerializer, responses={200: shapes.FileSerializer, **ERRORS})
    def post(self, request: Request, scope: str, scope_id: UUID, path: str) -> Response:
        """Moves the file to another path in the same place, with all versions. 409 if a file is there already."""
        places.rights(self.caller.pk, self.place)
        asked = shapes.MoveSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        facts = files.move(self.caller.pk, self.place, path, asked.validated_data["to"])
        return Response(shapes.file_shape(self.place, facts))


def _refuse_form(request: Request) -> None:
    """Raises UnsupportedMediaType."""
    if (request.content_type or "").strip().lower().startswith("multipart/form-data"):
        words = "The body is the file itself. Send its bytes as they are (curl --data-binary @file), not a form."
        raise UnsupportedMediaType("multipart/form-data", detail=words)


def _expected(request: Request) -> str | None:
    """The mark of what the caller has read, `files.NONE` if there is to be none, None if it is all the same."""
    if request.headers.get("If-None-Match", "").strip() == "*":
        return files.NONE
    wanted = request.headers.get("If-Match", "").strip()
    if not wanted:
        return None
    mark = wanted.removeprefix("W/").strip('"')
    if not _MARK.fullmatch(mark):
        raise ValidationError({"If-Match": ["Give the ETag of the file that you have read."]})
    return mark
