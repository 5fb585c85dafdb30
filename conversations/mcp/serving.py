"""HyperAgent as a server of the Model Context Protocol: one HTTP request in, one answer out; nothing is kept between
two. Imports mcp, which takes a second: open this file late.
"""

import json
import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final
from uuid import uuid4

import mcp_types
from django.http import HttpResponse
from django.utils.translation import gettext as _
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from pydantic import ValidationError

from agents.tools.schema import parameters_of
from conversations.mcp.tools import TOOLS, ServerTool
from hyperagent.accounts.models import User
from hyperagent.accounts.scopes import Scope
from hyperagent.lib import outage
from hyperagent.lib.refusals import NotAllowed, Refused, error_object
from hyperagent.lib.text import clean_value

log = logging.getLogger(__name__)

NAME: Final = "hyperagent"
# Each that there is not is told. No tool has as many.
MOST_ARGUMENTS: Final = 100
INSTRUCTIONS: Final = (
    "Agents of a team, with its documents. Ask with `ask`; look again with `get_run`. What needs a person's approval "
    "waits for it: show people the requests whole, and answer with `answer_approval` only in their own words."
)


async def served(
    caller: User, scopes: Collection[Scope], *, method: str, path: str, headers: Mapping[str, str], body: bytes
) -> HttpResponse:
    """The answer to one request of this person's program."""
    manager = StreamableHTTPSessionManager(_server(caller, scopes), json_response=True, stateless=True)
    answer = HttpResponse()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            answer.status_code = message["status"]
            for name, value in message["headers"]:
                answer[name.decode("latin-1")] = value.decode("latin-1")
        else:
            answer.write(message.get("body", b""))

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()],
        "client": None,
        "server": None,
    }
    async with manager.run():
        await manager.handle_request(scope, receive, send)
    return answer


def _server(caller: User, scopes: Collection[Scope]) -> Server[Any]:
    """Made for each request, so that nobody's tools are ever called in another's name."""

    async def list_tools(context: Any, params: Any) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(tools=[_described(name, tool) for name, tool in TOOLS.items()])

    async def call_tool(context: Any, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        try:
            value = await _called(caller, scopes, params.name, params.arguments or {})
        except Refused as refused:
            return _result({"error": refused.as_error()}, is_error=True)
        except Exception as error:
            # The library would tell the program what the exception says.
            if outage.is_outage(error):
                log.warning("a call by MCP found a part of the server away: %s: %s", type(error).__name__, error)
                return _result({"error": error_object(outage.CODE, _(outage.MESSAGE))}, is_error=True)
            number = uuid4().hex[:12]
            log.exception("a call by MCP failed", extra={"error_id": number})
            words = _("Something went wrong here. Its number is {error_id}.").format(error_id=number)
            return _result({"error": error_object("internal", words)}, is_error=True)
        return _result(value)

    return Server(NAME, version="1", instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool)


async def _called(caller: User, scopes: Collection[Scope], name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Raises Refused for a tool or arguments that are none, and for what the token may not do."""
    tool = TOOLS.get(name)
    if tool is None:
        raise Refused("unknown_tool", f"There is no tool '{name[:80]}'. There are: {', '.join(TOOLS)}.")
    if not set(tool.scopes) & set(scopes):
        named = " or ".join(f"'{scope}'" for scope in tool.scopes)
        raise NotAllowed("scope_missing", f"{name} needs the scope {named}. Make a token that has it.")
    if len(given) > MOST_ARGUMENTS:
        raise Refused("invalid", f"{name} takes {', '.join(tool.arguments.model_fields)}, and nothing else.")
    try:
        arguments = tool.arguments.model_validate(clean_value(dict(given)))
    except ValidationError as error:
        faults = {".".join(map(str, one["loc"])) or "arguments": [one["msg"]] for one in error.errors()}
        first = next(iter(faults.items()))
        raise Refused("invalid", f"{first[0]}: {first[1][0]}", fields=faults) from None
    return await tool.function(caller, arguments)


def _described(name: str, tool: ServerTool) -> mcp_types.Tool:
    hints = mcp_types.ToolAnnotations(read_only_hint=tool.reads, destructive_hint=False, open_world_hint=not tool.reads)
    return mcp_types.Tool(
        name=name, description=tool.description, input_schema=parameters_of(tool.arguments), annotations=hints
    )


def _result(value: dict[str, Any], *, is_error: bool = False) -> mcp_types.CallToolResult:
    text = json.dumps(value, ensure_ascii=False, default=str)
    blocks: Sequence[Any] = [mcp_types.TextContent(type="text", text=text)]
    return mcp_types.CallToolResult(content=list(blocks), structured_content=json.loads(text), is_error=is_error)
