"""What another program's agent sends, read into a call, and its message into a wish. Both versions of the protocol come
out as the newer one. Pure. Imports a2a: open it late.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from a2a.compat.v0_3 import conversions
from a2a.compat.v0_3 import types as older
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from a2a.types.a2a_pb2 import ROLE_USER
from a2a.utils.errors import (
    A2AError,
    ContentTypeNotSupportedError,
    ExtendedAgentCardNotConfiguredError,
    InvalidParamsError,
    InvalidRequestError,
    MethodNotFoundError,
    PushNotificationNotSupportedError,
    VersionNotSupportedError,
)
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError  # type: ignore[import-untyped]
from google.protobuf.message import Message as Proto  # type: ignore[import-untyped]
from pydantic import BaseModel, ValidationError

from hyperagent.lib.width import holds_more

VERSION: Final = "1.0"
OLDER: Final = "0.3"
MOST_ID_CHARS: Final = 200
# More is no message, and to tell what is wrong with each part would take seconds.
MOST_VALUES: Final = 5_000
# What may stand in data and metadata: more than fits into a question as text.
MOST_DATA_VALUES: Final = 100_000
_NO_PUSH: Final = "Nobody is told by push here. Stream it, or look again with GetTask (tasks/get)."
_NO_EXTENDED: Final = "There is no other card than the public one."


class Method(StrEnum):
    SEND = "SendMessage"
    STREAM = "SendStreamingMessage"
    GET = "GetTask"
    LIST = "ListTasks"
    CANCEL = "CancelTask"
    SUBSCRIBE = "SubscribeToTask"


_PARAMS: Final[Mapping[Method, type[Proto]]] = {
    Method.SEND: SendMessageRequest,
    Method.STREAM: SendMessageRequest,
    Method.GET: GetTaskRequest,
    Method.LIST: ListTasksRequest,
    Method.CANCEL: CancelTaskRequest,
    Method.SUBSCRIBE: SubscribeToTaskRequest,
}
_OLDER: Final[Mapping[str, tuple[Method, type[BaseModel], Callable[[Any], Proto]]]] = {
    "message/send": (Method.SEND, older.SendMessageRequest, conversions.to_core_send_message_request),
    "message/stream": (
        Method.STREAM,
        older.SendStreamingMessageRequest,
        conversions.to_core_send_message_request,
    ),
    "tasks/get": (Method.GET, older.GetTaskRequest, conversions.to_core_get_task_request),
    "tasks/cancel": (Method.CANCEL, older.CancelTaskRequest, conversions.to_core_cancel_task_request),
    "tasks/resubscribe": (
        Method.SUBSCRIBE,
        older.TaskResubscriptionRequest,
        conversions.to_core_subscribe_to_task_request,
    ),
}
_REFUSED: Final[Mapping[str, A2AError]] = {
    **dict.fromkeys(
        (
            "CreateTaskPushNotificationConfig",
            "GetTaskPushNotificationConfig",
            "ListTaskPushNotificationConfigs",
            "DeleteTaskPushNotificationConfig",
            "tasks/pushNotificationConfig/set",
            "tasks/pushNotificationConfig/get",
            "tasks/pushNotificationConfig/list",
            "tasks/pushNotificationConfig/delete",
        ),
        PushNotificationNotSupportedError(_NO_PUSH),
    ),
    **dict.fromkeys(
        ("GetExtendedAgentCard", "agent/getAuthenticatedExtendedCard"),
        ExtendedAgentCardNotConfiguredError(_NO_EXTENDED),
    ),
}


@dataclass(frozen=True, slots=True)
class Call:
    """`params`: the request's own message, of the newer version. `is_older`: answered in the words of the older one."""

    id: str | int | None
    method: Method
    params: Any
    is_older: bool


@dataclass(frozen=True, slots=True)
class MessageRequest:
    """A message. `key`: made of its id, so that the same message is one however often it comes. `task_id`: which it
    goes on with; `request_id`: which of its questions it answers, where several are open."""

    key: str
    text: str
    context_id: str
    task_id: str
    mode: str | None
    document_ids: tuple[str, ...]
    request_id: str
    at_once: bool
    history_length: int | None


def id_of(body: Any) -> str | int | None:
    given = body.get("id") if isinstance(body, Mapping) else None
    return given if isinstance(given, str | int) and not isinstance(given, bool) else None


def read(body: Any, *, version: str) -> Call:
    """`version`: as the header has it, if there is one. Raises A2AError with the first fault."""
    if not isinstance(body, Mapping) or body.get("jsonrpc") != "2.0" or not isinstance(body.get("method"), str):
        raise InvalidRequestError('Send one JSON-RPC object: {"jsonrpc": "2.0", "id", "method", "params"}.')
    name, id_ = str(body["method"]), id_of(body)
    if name in _REFUSED:
        raise _REFUSED[name]
    if version and version.partition(".")[0] not in {one.partition(".")[0] for one in (VERSION, OLDER)}:
        raise VersionNotSupportedError(f"There is no version '{version[:20]}' here. Speak {VERSION}, or {OLDER}.")
    params = body.get("params")
    if holds_more(params, MOST_VALUES, but=("data", "metadata")) or holds_more(params, MOST_DATA_VALUES):
        raise _invalid("params", "There is more in it than can be looked at. Send less at once.")
    if name in _OLDER:
        method, model, to_newer = _OLDER[name]
        return Call(id_, method, _newer(to_newer, _checked(model, body)), is_older=True)
    if name not in _PARAMS:
        known = ", ".join(_PARAMS)
        raise MethodNotFoundError(f"There is no method '{name[:80]}' here. There are: {known}; and those of {OLDER}.")
    method = Method(name)
    return Call(id_, method, _parsed(body.get("params") or {}, _PARAMS[method]()), is_older=False)


def wish_of(request: SendMessageRequest) -> MessageRequest:
    """Raises A2AError for what nothing can be made of."""
    message = request.message
    if request.configuration.HasField("task_push_notification_config"):
        raise PushNotificationNotSupportedError(_NO_PUSH)
    if not message.message_id or len(message.message_id) > MOST_ID_CHARS:
        raise _invalid("message.messageId", f"This has to be 1 to {MOST_ID_CHARS} characters; a random UUID does well.")
    if message.role != ROLE_USER:
        raise _invalid("message.role", "Only what a user says is answered: ROLE_USER, or 'user' in version 0.3.")
    said = {**_values("metadata", request.metadata), **_values("message.metadata", message.metadata)}
    documents = said.get("document_ids") or []
    if not isinstance(documents, list):
        raise _invalid("metadata.document_ids", "This is a list of ids of documents.")
    length = request.configuration.history_length if request.configuration.HasField("history_length") else None
    return MessageRequest(
        key=f"a2a {hashlib.sha256(message.message_id.encode()).hexdigest()}",
        text=_text_of(message),
        context_id=message.context_id.strip(),
        task_id=message.task_id.strip(),
        mode=str(said["mode"]) if said.get("mode") else None,
        document_ids=tuple(str(one) for one in documents),
        request_id=str(said.get("request_id") or ""),
        at_once=request.configuration.return_immediately,
        history_length=length,
    )


def _text_of(message: Message) -> str:
    """Data is told as JSON: it is the words of whoever sends it, as its text is."""
    texts = []
    for number, part in enumerate(message.parts):
        match part.WhichOneof("content"):
            case "text":
                texts.append(part.text)
            case "data":
                values = _values(f"message.parts.{number}.data", part.data)
                texts.append(json.dumps(values, ensure_ascii=False))
            case _:
                raise ContentTypeNotSupportedError(
                    f"message.parts.{number}: files are not taken here. Upload one with POST /api/v1/documents, and "
                    "name its id in metadata.document_ids."
                )
    if not "".join(texts).strip():
        raise _invalid("message.parts", "There is no text in this message. Say something.")
    return "\n\n".join(texts)


def _checked(model: type[BaseModel], body: Mapping[str, Any]) -> Any:
    try:
        return model.model_validate(body)
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(str(one) for one in fault["loc"] if not str(one)[:1].isupper())
        raise _invalid(place, fault["msg"]) from None


def _parsed(params: Any, into: Proto) -> Proto:
    try:
        return ParseDict(params, into, ignore_unknown_fields=True)
    except (ParseError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise _invalid("params", str(error)) from None


def _newer(to_newer: Callable[[Any], Proto], older_request: Any) -> Proto:
    try:
        return to_newer(older_request)
    except (ParseError, ValueError, OverflowError) as error:
        raise _invalid("params", str(error)) from None


def _values(place: str, message: Proto) -> Any:
    """What is in it, as JSON has it. `1e400` is a number to whoever reads the body, and none that could be told on."""
    try:
        return MessageToDict(message)
    except ValueError:
        raise _invalid(place, "There is a number in it that is too large.") from None


def _invalid(place: str, words: str) -> InvalidParamsError:
    return InvalidParamsError(f"{place}: {words}", data={"field": place})
