"""What a provider's error means: from status, code and words to a Reason, for bodies and for errors in a stream."""

import json
from typing import Any, NamedTuple

from hyperagent.lib.llm.errors import Reason
from hyperagent.lib.llm.retry import retry_after_s


class WireFault(Exception):
    """The stream cannot be read: broken JSON, a shape that is no answer, or too much of it."""


class ErrorInStream(Exception):
    """The provider said within its stream that it failed."""

    def __init__(self, fields: "ErrorFields") -> None:
        super().__init__(fields.message)
        self.fields = fields


class ErrorFields(NamedTuple):
    code: str
    """All machine names that were given, in small letters, with a space between."""
    message: str
    status: int | None = None
    retry_after_s: float | None = None


# In this order: the first line whose words occur in the code or the message decides.
_BY_CODE: tuple[tuple[Reason, tuple[str, ...]], ...] = (
    (Reason.NO_CREDIT, ("insufficient_quota", "billing_error", "billing_hard_limit_reached")),
    (Reason.CONTEXT_TOO_LONG, ("context_length_exceeded", "exceed_context_size")),
    (Reason.FILTERED, ("content_filter", "content_policy_violation")),
    (
        Reason.WRONG_KEY,
        ("invalid_api_key", "authentication_error", "permission_error", "unauthenticated", "permission_denied"),
    ),
    (Reason.UNKNOWN_MODEL, ("model_not_found", "not_found_error")),
    (Reason.RATE_LIMITED, ("rate_limit", "resource_exhausted", "too_many_requests")),
    (Reason.SERVER_ERROR, ("overloaded", "api_error", "server_error", "internal", "unavailable", "timeout")),
)
_BY_WORDS: tuple[tuple[Reason, tuple[str, ...]], ...] = (
    (Reason.NO_CREDIT, ("credit balance is too low", "exceeded your current quota, please check your plan")),
    (
        Reason.CONTEXT_TOO_LONG,
        (
            "maximum context length",
            "prompt is too long",
            "exceeds the maximum number of tokens",
            "exceeds the available context size",
            "context window",
        ),
    ),
    (Reason.WRONG_KEY, ("api key not valid", "incorrect api key", "invalid x-api-key")),
)


def reason_of(fields: ErrorFields, *, status: int | None) -> Reason:
    """`status` is the HTTP status of the response, or None for an error within a stream that began well."""
    said = fields.message.lower()
    for reason, names in _BY_CODE[:3]:
        if any(name in fields.code for name in names):
            return reason
    for reason, words in _BY_WORDS:
        if any(word in said for word in words):
            return reason
    status = status if status is not None else fields.status
    if status is not None and (by_status := _by_status(status)):
        return by_status
    for reason, names in _BY_CODE[3:]:
        if any(name in fields.code for name in names):
            return reason
    return Reason.SERVER_ERROR if status is None or status >= 500 else Reason.BAD_REQUEST


def _by_status(status: int) -> Reason | None:
    if status in (401, 403):
        return Reason.WRONG_KEY
    if status == 402:
        return Reason.NO_CREDIT
    if status == 404:
        return Reason.UNKNOWN_MODEL
    if status == 429:
        return Reason.RATE_LIMITED
    if status in (408, 425) or status >= 500:
        return Reason.SERVER_ERROR
    return None


def error_fields(body: bytes) -> ErrorFields:
    """From an error response's body, in whatever of the providers' shapes; of an unknown shape the text itself."""
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        return ErrorFields(code="", message=body[:2000].decode("utf-8", "replace"))
    if isinstance(said, list) and said:
        said = said[0]
    found = error_in(said) if isinstance(said, dict) else None
    return found or ErrorFields(code="", message=body[:2000].decode("utf-8", "replace"))


def error_in(event: dict[str, Any]) -> ErrorFields | None:
    """The error that an event or a body carries, if it does."""
    error = event.get("error")
    if not error:
        return None
    if not isinstance(error, dict):
        return ErrorFields(code="", message=str(error))
    names = [error.get("type"), error.get("code"), error.get("status")]
    numbers = [name for name in names if isinstance(name, int)] + [
        int(name) for name in names if isinstance(name, str) and name.isdecimal()
    ]
    return ErrorFields(
        code=" ".join(name.lower() for name in names if isinstance(name, str)),
        message=str(error.get("message") or ""),
        status=next((number for number in numbers if 400 <= number < 600), None),
        retry_after_s=_asked_to_wait_s(error.get("details")),
    )


def _asked_to_wait_s(details: Any) -> float | None:
    """Google says it in the answer ("7.5s"), and not in its head."""
    found = [one.get("retryDelay") for one in details if isinstance(one, dict)] if isinstance(details, list) else []
    return next((retry_after_s(one.removesuffix("s")) for one in found if isinstance(one, str)), None)
