"""The shapes that every endpoint shares: how an error looks and how a long list is cut into pages."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, ClassVar, Final, TypeVar

from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.core.exceptions import ValidationError as ModelError
from django.db import DataError, models
from django.http import Http404, QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework import exceptions, serializers
from rest_framework.pagination import CursorPagination
from rest_framework.parsers import JSONParser
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.views import set_rollback

from hyperagent.lib import outage
from hyperagent.lib.json_numbers import NotANumber, read_json
from hyperagent.lib.languages import grouped
from hyperagent.lib.refusals import NotThere, Refused, TooMuch, error_object
from hyperagent.lib.text import clean_value

log = logging.getLogger(__name__)

M = TypeVar("M", bound=models.Model)
UNKNOWN_TOLD: Final = 20
"""Of names that nobody knows, so many: each answer would grow with what was sent."""

# The machine names of DRF's own errors.
_CODES: dict[type[exceptions.APIException], str] = {
    exceptions.ParseError: "not_json",
    exceptions.NotAuthenticated: "not_authenticated",
    exceptions.AuthenticationFailed: "bad_credentials",
    exceptions.PermissionDenied: "not_allowed",
    exceptions.MethodNotAllowed: "method_not_allowed",
    exceptions.UnsupportedMediaType: "unsupported_media_type",
    exceptions.NotAcceptable: "not_acceptable",
    exceptions.Throttled: "too_many_requests",
}


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """Every error of the API in the one shape. None for what nobody foresaw: the server's error page answers, with
    an id.
    """
    if outage.is_outage(error):
        # Here and not below: this runs in a thread, and a database that hangs would hold whoever looks at it.
        outage.heal(error)
    answer = error_response(error)
    if answer is not None:
        set_rollback()
    return answer


def error_response(error: Exception) -> Response | None:
    if isinstance(error, Http404):
        error = NotThere()
    if isinstance(error, Refused):
        return Response({"error": error.as_error()}, status=error.status, headers=retry_after(error))
    if outage.is_outage(error):
        log.error("answered with 503: %s: %s", type(error).__name__, error)
        shown = error_object(outage.CODE, _(outage.MESSAGE))
        return Response({"error": shown}, status=503, headers={"Retry-After": str(outage.RETRY_AFTER_S)})
    if isinstance(error, RequestDataTooBig):
        error = TooLarge(TooLarge.message())
    if isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied(str(error) or None)
    if isinstance(error, ModelError):
        error = exceptions.ValidationError(error.message_dict if hasattr(error, "error_dict") else error.messages)
    if isinstance(error, exceptions.APIException):
        return Response({"error": _api_error(error)}, status=error.status_code, headers=_headers(error))
    return None


def _api_error(error: exceptions.APIException) -> dict[str, Any]:
    if isinstance(error, exceptions.NotFound):
        return NotThere().as_error()
    if isinstance(error, exceptions.ValidationError):
        fields = _fields(error.detail)
        first = next(iter(fields.items()), ("", [_("The request cannot be used.")]))
        message = first[1][0] if first[0] in ("", "non_field_errors") else f"{first[0]}: {first[1][0]}"
        return error_object("invalid", message, fields=fields)
    default = _CODES.get(type(error), error.default_code)
    codes = error.get_codes()
    code = codes if isinstance(codes, str) and codes != error.default_code else default
    return error_object(code, str(error.detail))


def _fields(detail: Any, name: str = "") -> dict[str, list[str]]:
    """`{"a": {"b": ["x"]}}` as `{"a.b": ["x"]}`, every message a string."""
    if isinstance(detail, dict):
        found: dict[str, list[str]] = {}
        for key, value in detail.items():
            # What is wrong with a field as a whole is its own fault, not one of a part with a name of DRF's.
            is_whole = name and key == api_settings.NON_FIELD_ERRORS_KEY
            found.update(_fields(value, name if is_whole else f"{name}.{key}" if name else str(key)))
        return found
    if isinstance(detail, list) and any(isinstance(item, dict | list) for item in detail):
        found = {}
        for number, item in enumerate(detail):
            found.update(_fields(item, f"{name}.{number}" if name else str(number)))
        return found
    messages = [str(item) for item in detail] if isinstance(detail, list) else [str(detail)]
    return {name or "non_field_errors": messages}


def retry_after(refused: Refused) -> dict[str, str]:
    wait = refused.retry_after_s if isinstance(refused, TooMuch) else None
    return {"Retry-After": str(wait)} if wait else {}


def _headers(error: exceptions.APIException) -> dict[str, str]:
    headers = {}
    if challenge := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if wait := getattr(error, "wait", None):
        headers["Retry-After"] = str(int(wait) + 1)
    return headers


class Pages(CursorPagination):
    """`{"next", "previous", "results"}`; a page costs the same wherever it is in the list."""

    page_size = 50
    max_page_size = 200
    page_size_query_param = "page_size"
    ordering = ("-created_at", "-id")

    def paginate_queryset(
        self, queryset: models.QuerySet[Any, Any] | Sequence[Any], request: Any, view: Any = None
    ) -> list[Any] | None:
        """Raises ValidationError for a cursor that no page gave: whatever it is that it cannot be read as."""
        try:
            return super().paginate_queryset(queryset, request, view)
        except (exceptions.NotFound, ModelError, DataError, ValueError):
            if self.cursor_query_param not in request.query_params:
                raise
            message = "This is no cursor of this list. Follow `next` or `previous` of a page, or leave it out."
            raise exceptions.ValidationError({self.cursor_query_param: [message]}) from None

    @classmethod
    def ordered_by(cls, *fields: str) -> type["Pages"]:
        return type("Pages", (cls,), {"ordering": fields})


def whole_list(results: Iterable[Any]) -> dict[str, Any]:
    """As a page, for a list that is never cut into some."""
    return {"next": None, "previous": None, "results": list(results)}


class ListSerializer(serializers.Serializer[Any]):
    """A list has `results` beside these."""

    next = serializers.URLField(allow_null=True, help_text="The next page; null where this is the last.")
    previous = serializers.URLField(allow_null=True)


class ErrorDetailSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()
    fields = serializers.DictField(child=serializers.ListField(child=serializers.CharField()), required=False)  # type: ignore[assignment]


class ErrorSerializer(serializers.Serializer[Any]):
    error = ErrorDetailSerializer()


class OneOf(serializers.ChoiceField):
    """One of these words; the refusal names them all."""

    default_error_messages = {"invalid_choice": "'{input}' is not known. Use one of: {allowed}."}

    def __init__(self, allowed: Iterable[StrEnum], **options: Any) -> None:
        self.allowed = tuple(word.value for word in allowed)
        super().__init__(choices=self.allowed, **options)

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, str) and data in self.allowed:
            return data
        return self.fail("invalid_choice", input=str(data)[:40], allowed=", ".join(self.allowed))


class Several(serializers.ListField):
    """A list, whose length is looked at before its items: each wrong one is a fault to be told, and in one request
    there is room for hundreds of thousands."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, list) and self.max_length is not None and len(data) > self.max_length:
            return self.fail("max_length", max_length=self.max_length)
        return super().to_internal_value(data)


class NullIsLeftOut(serializers.Serializer[Any]):
    """A field that may be left out may be null as well: many a client sends all fields that it knows."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            data = {name: value for name, value in data.items() if value is not None or self._is_needed(name)}
        return super().to_internal_value(data)

    def _is_needed(self, name: str) -> bool:
        field = self.fields.get(name)
        return field is None or field.required


class KnownNames(serializers.Serializer[Any]):
    """What is not known by its name is refused: it would be a wish that nobody heeds."""

    no_such: ClassVar[Promise] = gettext_lazy("There is no such field. Use {known}.")

    def to_internal_value(self, data: Any) -> Any:
        unknown = sorted(str(name)[:40] for name in set(data) - set(self.fields)) if isinstance(data, dict) else []
        if unknown:
            said = str(self.no_such).format(known=", ".join(self.fields))
            raise serializers.ValidationError({name: [said] for name in unknown[:UNKNOWN_TOLD]})
        return super().to_internal_value(data)


def with_format(given: QueryDict, *, counts_as: str) -> QueryDict:
    """The query, in which `format`, by which many another API takes the form of a file, is another name of
    `counts_as`; where that is given itself, it counts."""
    query = given.copy()
    if form := query.pop("format", None):
        query.setdefault(counts_as, form[-1])
    return query


def own_or_404(rows: models.QuerySet[M], **which: Any) -> M:
    """The one row of `rows`, which the caller has already narrowed to what this person may see."""
    found = rows.filter(**which).first()
    if found is None:
        raise NotThere
    return found


class CleanJSONParser(JSONParser):
    """JSON within the size limit, its text cleaned of what cannot be stored or sent back (NUL, lone surrogates).
    Numbers that no double holds are refused."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise TooLarge(TooLarge.message())
        encoding = (parser_context or {}).get("encoding", settings.DEFAULT_CHARSET)
        try:
            return clean_value(read_json(body.decode(encoding)))
        except NotANumber as found:
            words = _("{number} is no number that can be kept. Send a smaller one, or a text.")
            raise exceptions.ParseError(words.format(number=found.shown)) from None
        except ValueError as error:
            raise exceptions.ParseError(f"JSON parse error - {error}") from None
        except RecursionError:
            raise exceptions.ParseError(_("The JSON is nested too deeply. Send it flatter.")) from None


class TooLarge(exceptions.APIException):
    status_code = 413
    default_code = "too_large"

    @staticmethod
    def message() -> str:
        return _("The request is larger than {data_upload_max_memory_size} bytes. Send less at once.").format(
            data_upload_max_memory_size=grouped(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
        )
