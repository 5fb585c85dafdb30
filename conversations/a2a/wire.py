"""Answers as JSON-RPC, in the words of the version that was asked in. Pure. Imports a2a: open it late."""

import json
from collections.abc import Mapping
from typing import Any, Final

from a2a.compat.v0_3 import conversions
from a2a.types import ListTasksResponse, SendMessageResponse, StreamResponse, Task
from a2a.types.a2a_pb2 import TaskState
from a2a.utils.errors import A2A_ERROR_REASONS, JSON_RPC_ERROR_CODE_MAP, A2AError
from google.protobuf.json_format import MessageToDict  # type: ignore[import-untyped]

Json = dict[str, Any]
_ERROR_INFO: Final = "type.googleapis.com/google.rpc.ErrorInfo"
_DOMAIN: Final = "a2a-protocol.org"
# Where the stream of a task ends, as the older version says with its news.
_LAST: Final = frozenset(
    {
        TaskState.TASK_STATE_COMPLETED,
        TaskState.TASK_STATE_FAILED,
        TaskState.TASK_STATE_CANCELED,
        TaskState.TASK_STATE_REJECTED,
        TaskState.TASK_STATE_INPUT_REQUIRED,
    }
)


def sent(task: Task, *, is_older: bool) -> Json:
    """The answer to a message."""
    return older_task(task) if is_older else MessageToDict(SendMessageResponse(task=task))


def shown(task: Task, *, is_older: bool) -> Json:
    """The answer to whoever looks."""
    return older_task(task) if is_older else MessageToDict(task)


def listed(page: ListTasksResponse) -> Json:
    told: Json = MessageToDict(page, always_print_fields_with_no_presence=True)
    return told


def older_task(task: Task) -> Json:
    told: Json = conversions.to_compat_task(task).model_dump(mode="json", by_alias=True, exclude_none=True)
    return told


def result(id_: str | int | None, value: Mapping[str, Any]) -> Json:
    return {"jsonrpc": "2.0", "id": id_, "result": value}


def error(id_: str | int | None, fault: A2AError) -> Json:
    details = {
        "@type": _ERROR_INFO,
        "reason": A2A_ERROR_REASONS.get(type(fault), "UNKNOWN_ERROR"),
        "domain": _DOMAIN,
        "metadata": fault.data or {},
    }
    code = JSON_RPC_ERROR_CODE_MAP.get(type(fault), -32603)
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": fault.message, "data": [details]}}


def frame(id_: str | int | None, news: StreamResponse, *, is_older: bool) -> bytes:
    """One piece of news as a server-sent event."""
    return _framed(result(id_, _older_news(news, id_) if is_older else MessageToDict(news)))


def error_frame(id_: str | int | None, fault: A2AError, *, is_older: bool) -> bytes:
    """The newer version has a name for it."""
    return (b"" if is_older else b"event: error\n") + _framed(error(id_, fault))


def _framed(value: Json) -> bytes:
    # The standard library's, for the call's id: that is any number, and others end at 64 bits.
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def _older_news(news: StreamResponse, id_: str | int | None) -> Json:
    told = conversions.to_compat_stream_response(news, id_).model_dump(mode="json", by_alias=True, exclude_none=True)
    value: Json = told["result"]
    if news.HasField("status_update"):
        value["final"] = news.status_update.status.state in _LAST
    return value
