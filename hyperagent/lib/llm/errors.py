"""What may go wrong with a model call, named by what the caller does about it. No secret is ever part of a message."""

import re
from collections.abc import Iterable
from enum import StrEnum

from hyperagent.lib.llm.types import ModelReply
from hyperagent.lib.text import clean_text

_KEY_SHAPES = re.compile(
    r"(?i)\b(?:sk|pk|rk|gsk|xai|hf|key)[-_][A-Za-z0-9_\-*.]{6,}"
    r"|AIza[0-9A-Za-z_\-]{10,}"
    r"|(?<=bearer )\S+"
    r"|(?<=[?&]key=)[^&\s]+"
    r"|(?<=://)[^/\s@]+(?=@)"
)
DETAIL_LIMIT = 300


class Reason(StrEnum):
    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    NO_FIRST_TOKEN = "no_first_token"  # noqa: S105 - no password
    SILENCE = "silence"
    STREAM_CUT = "stream_cut"
    NO_FREE_SLOT = "no_free_slot"
    WRONG_KEY = "wrong_key"
    UNKNOWN_MODEL = "unknown_model"
    NO_CREDIT = "no_credit"
    BAD_REQUEST = "bad_request"
    CONTEXT_TOO_LONG = "context_too_long"
    NOT_CONNECTED = "not_connected"
    EMPTY_ANSWER = "empty_answer"
    FILTERED = "filtered"
    ALL_THOUGHT = "all_thought"
    MALFORMED = "malformed"
    NOT_CONFIGURED = "not_configured"


class ModelError(Exception):
    """Base of all. `code` is for programs, `user_message` for people, `detail` for the log (scrubbed, clipped)."""

    code = "model_error"
    paid: tuple[ModelReply, ...] = ()
    """Answers that could not be used, of all attempts: as providers said what they took, else estimated. Of what they
    refused before anything was made nothing."""

    def __init__(
        self,
        user_message: str,
        *,
        reason: Reason,
        provider: str = "",
        model: str = "",
        status: int | None = None,
        detail: str = "",
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(user_message)
        self.user_message = user_message
        self.reason = reason
        self.provider = provider
        self.model = model
        self.status = status
        self.detail = detail
        self.retry_after_s = retry_after_s


class ModelBusy(ModelError):
    """Again later: too many requests, a fault or a silence at the provider, a stream that broke."""

    code = "model_busy"


class ModelUnavailable(ModelError):
    """Nobody answers at the provider's address."""

    code = "model_unavailable"


class ModelRefused(ModelError):
    """A person must mend something: the key, the model's name, the credit, the request."""

    code = "model_refused"


class ContextTooLong(ModelRefused):
    """The messages do not fit the model: the caller may shorten them."""

    code = "context_too_long"


class ModelGarbled(ModelError):
    """The model answered nothing that can be used, and asking again did not help."""

    code = "model_garbled"


class NoModelConfigured(ModelError):
    """No provider serves what was asked for."""

    code = "no_model_configured"


def scrub(text: str, secrets: Iterable[str]) -> str:
    """`text` for a log or a page: cleaned, clipped, without the given secrets and without what looks like a key."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "***")
    return clean_text(_KEY_SHAPES.sub("***", text))[:DETAIL_LIMIT]


def model_error(
    reason: Reason,
    *,
    provider: str,
    model: str,
    status: int | None = None,
    detail: str = "",
    retry_after_s: float | None = None,
) -> ModelError:
    """The error of this reason, with its sentence. `detail` must be scrubbed already."""
    kind, sentence = _MEANINGS[reason]
    return kind(
        sentence.format(provider=provider, model=model),
        reason=reason,
        provider=provider,
        model=model,
        status=status,
        detail=detail,
        retry_after_s=retry_after_s,
    )


def not_configured(said: str) -> NoModelConfigured:
    return NoModelConfigured(said, reason=Reason.NOT_CONFIGURED)


_MEANINGS: dict[Reason, tuple[type[ModelError], str]] = {
    Reason.RATE_LIMITED: (ModelBusy, "The model provider '{provider}' is busy. Try again in a moment."),
    Reason.SERVER_ERROR: (ModelBusy, "The model provider '{provider}' has a fault of its own. Try again in a moment."),
    Reason.NO_FIRST_TOKEN: (ModelBusy, "The model provider '{provider}' did not begin to answer in time. Try again."),
    Reason.SILENCE: (ModelBusy, "The model provider '{provider}' fell silent in the middle of an answer. Try again."),
    Reason.STREAM_CUT: (
        ModelBusy,
        "The model provider '{provider}' broke the connection before its answer was done. Try again.",
    ),
    Reason.NO_FREE_SLOT: (
        ModelBusy,
        "All calls that the model provider '{provider}' may serve at once are taken. Try again in a moment.",
    ),
    Reason.NOT_CONNECTED: (
        ModelUnavailable,
        "The model provider '{provider}' cannot be reached. Check its address and the network, then try again.",
    ),
    Reason.WRONG_KEY: (
        ModelRefused,
        "The model provider '{provider}' does not accept its key. An administrator must set a valid one.",
    ),
    Reason.UNKNOWN_MODEL: (
        ModelRefused,
        "The model provider '{provider}' has no model '{model}' for us. An administrator must choose another one.",
    ),
    Reason.NO_CREDIT: (
        ModelRefused,
        "The account at the model provider '{provider}' has no credit left. An administrator must see to its plan.",
    ),
    Reason.BAD_REQUEST: (
        ModelRefused,
        "The model provider '{provider}' refused the request to '{model}'. An administrator finds why in the log.",
    ),
    Reason.CONTEXT_TOO_LONG: (
        ContextTooLong,
        "This is more than the model '{model}' of '{provider}' can read at once. Shorten it or begin anew.",
    ),
    Reason.EMPTY_ANSWER: (ModelGarbled, "The model '{model}' of '{provider}' gave an empty answer. Try again."),
    Reason.FILTERED: (
        ModelGarbled,
        "The content filter of '{provider}' held the answer back. Put the question differently.",
    ),
    Reason.ALL_THOUGHT: (
        ModelGarbled,
        "The model '{model}' of '{provider}' reached its length limit before it answered. Ask for less at once.",
    ),
    Reason.MALFORMED: (
        ModelGarbled,
        "The model '{model}' of '{provider}' gave an answer that cannot be read. Try again.",
    ),
}
