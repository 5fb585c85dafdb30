"""A server that is a program: the standard library alone, a line of JSON for each message. Seen read-only inside."""

import json
import os
import socket
import sys
from pathlib import Path


def answer(asked: dict) -> dict:  # type: ignore[type-arg]
    match asked["method"]:
        case "initialize":
            about = {"name": "clock", "version": "1"}
            return {
                "protocolVersion": asked["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": about,
            }
        case "tools/list":
            schema = {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]}
            return {"tools": [{"name": "look", "description": "Looks around", "inputSchema": schema}]}
        case "tools/call":
            return {"content": [{"type": "text", "text": json.dumps(looked(asked["params"]["arguments"]["what"]))}]}
    raise LookupError(asked["method"])


def looked(what: str) -> object:
    kept = Path.home() / "kept"
    match what:
        case "self":
            return {"pid": os.getpid(), "uid": os.getuid(), "key": os.environ.get("API_KEY"), "env": sorted(os.environ)}
        case "network":
            try:
                socket.create_connection(("93.184.215.14", 80), timeout=2).close()
            except OSError as error:
                return type(error).__name__
            return "connected"
        case "host":
            return [Path(path).exists() for path in ("/work", "/root", "/home/user", __file__)]
        case "write":
            try:
                (Path(__file__).parent / "x").write_text("x")
            except OSError as error:
                return type(error).__name__
            return "written"
        case "die":
            print("it was all too much", file=sys.stderr, flush=True)
            sys.exit(3)
    before = kept.read_text() if kept.exists() else ""
    kept.write_text(what)
    return before


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    try:
        told = {"result": answer(message)}
    except LookupError as error:
        told = {"error": {"code": -32601, "message": str(error)}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **told}), flush=True)
