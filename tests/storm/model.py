"""The model of a storm: what it says follows from the request alone, so that it answers the same however often a run is
begun anew. Only what goes wrong once is remembered.
"""

import json
import re
import threading
from collections import Counter
from typing import Any, Final

from tests.pipeline.graphs import DIAMOND, SATISFIED, plan_text
from tests.scripted.script import Call, Script, ScriptedCall, ScriptedUsage
from tests.scripted.server import ScriptedServer
from tests.storm.plan import Shape, Trouble

FILES: Final = 3
BUDGET_TOKENS: Final = 250_000
ROUND_TOKENS: Final = 100_000
BUDGET_ROUNDS: Final = 4
ORDER_TOOL: Final = "mcp_shop_order"
COMPOSED: Final = "The board reads: all of it was found."
FORMS: Final = ("", "MailPlan", "Letter", "MasterOutput", "Judged")
_TOLD = re.compile(r"\[storm (?P<tag>\w+) (?P<shape>\w+) (?P<trouble>\w+)\]")
_SAY = re.compile(r"say (?P<count>\d+) tokens at (?P<rate>\d+)/s")
_TASK = re.compile(r"Work on (?P<name>\w+) now\.")
CODE: Final = "total = sum(range(10))\nprint('total', total)"
SCRIPT: Final = """import hyperagent
for number in range(3):
    hyperagent.write_file(f"{tag}-{{number}}.txt", "from a script")
print("written")
"""
_TROUBLES: Final = {
    Trouble.BUSY: Script(status=429, retry_after="1", error_message="Too many requests"),
    Trouble.STALL: Script(text="It begins and ", silence_after=2),
    Trouble.RESET: Script(text="It begins and breaks off", cut_after=3),
    Trouble.MALFORMED: Script(text="It begins and goes wrong", malformed_after=2),
    Trouble.ERROR: Script(status=500, error_message="Internal error"),
}


class StormModel(ScriptedServer):
    """Questions that are not of the storm are echoed."""

    def __init__(self) -> None:
        super().__init__(echo=True)
        self._had_trouble: Counter[str] = Counter()
        self._lock = threading.Lock()

    def _line_for(self, call: Call) -> Script | None:
        told = _TOLD.search(_all_of(call))
        if told is None:
            return None
        trouble = Trouble(told["trouble"])
        if trouble is not Trouble.NONE and self._is_first(told["tag"]):
            return _TROUBLES[trouble]
        return answer_to(call, tag=told["tag"], shape=Shape(told["shape"]))

    def _is_first(self, tag: str) -> bool:
        with self._lock:
            self._had_trouble[tag] += 1
            return self._had_trouble[tag] == 1


def answer_to(call: Call, *, tag: str, shape: Shape) -> Script | None:
    """What is said in the runs of this shape; None: an echo, for whoever wants a form that no shape is about."""
    wanted = _form_of(call)
    if wanted not in FORMS:
        return None
    match shape:
        case Shape.CHAT:
            return _words(call)
        case Shape.PLAN:
            return _planned(call)
        case Shape.MAIL:
            return _mail(tag, wanted)
        case Shape.FILES:
            return _acting(call, "write_file", {"path": f"{tag}-{_acts(call)}.txt", "content": tag}, times=FILES)
        case Shape.ORDER:
            return _acting(call, ORDER_TOOL, {"item": tag}, times=1)
        case Shape.BUDGET:
            return _acting(call, "write_file", {"path": f"{tag}.txt", "content": tag}, times=BUDGET_ROUNDS)
        case Shape.LOOP:
            return _acting(call, "list_files", {}, times=1000)
        case Shape.CODE:
            return Script(text=f"Here it is:\n```python\n{CODE}\n```" if "## Running it" not in call.last_user else tag)
        case Shape.CODEACT:
            return _acting(call, "execute_script", {"code": SCRIPT.format(tag=tag)}, times=1)


def _words(call: Call) -> Script:
    said = _SAY.search(call.last_user)
    count, rate = (int(said["count"]), float(said["rate"])) if said else (5, 20.0)
    return Script(text=" ".join(f"w{number}" for number in range(count)), tokens_per_s=rate)


def _planned(call: Call) -> Script:
    if "## Results\n### " in call.last_user:
        return Script(text=COMPOSED, tokens_per_s=20)
    if "## Results\n- id" in call.last_user:
        return Script(text=SATISFIED)
    task = _TASK.search(call.last_user)
    if task is not None:
        return Script(text=f"Found {task['name']}. " + "and more " * 8, tokens_per_s=30)
    return Script(text=plan_text(DIAMOND))


def _mail(tag: str, wanted: str) -> Script:
    if wanted == "MailPlan":
        plan = {"action": "send", "to": [f"{tag}@example.org"], "subject": tag, "say": "Hello."}
        return Script(text=json.dumps(plan))
    if wanted == "Letter":
        return Script(text=json.dumps({"subject": tag, "body": "Hello there."}))
    return Script(text=f"About the mail {tag}: that was it.", tokens_per_s=40)


def _acting(call: Call, tool: str, arguments: dict[str, Any], *, times: int) -> Script:
    """So many calls, one after the other, and then an answer."""
    acts = _acts(call)
    if acts >= times or not call.body.get("tools"):
        return Script(text=f"That was it, after {acts} calls.", tokens_per_s=40)
    return Script(
        tool_calls=[ScriptedCall(name=tool, arguments=json.dumps(arguments))],
        usage=ScriptedUsage(prompt_tokens=ROUND_TOKENS),
        first_delay_s=0.3,
    )


def _acts(call: Call) -> int:
    return sum(message.get("role") == "tool" for message in call.messages)


def _form_of(call: Call) -> str:
    """The name of the form that is asked for; empty where it is free text."""
    schema = ((call.body.get("response_format") or {}).get("json_schema") or {}).get("schema") or {}
    return str(schema.get("title") or "")


def _all_of(call: Call) -> str:
    """The newest user's message, or the first before it that names a run: a loop's notices do not."""
    if _TOLD.search(call.last_user):
        return call.last_user
    texts = [str(message.get("content") or "") for message in call.messages if message.get("role") == "user"]
    return "\n".join(texts)
