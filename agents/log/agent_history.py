"""What an agent and its models said to each other, put together from the recorded calls, as people read it. Pure.

Each call of a model carries again what was said before it. Here everything stands once, in the order of the calls.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded call of a model (`asked`: the messages of its request) or of a tool (without them)."""

    path: tuple[int, ...]
    name: str
    asked: Sequence[Json] | None
    response: Any


def history(task: str, steps: Sequence[Recorded]) -> list[Json]:
    """The task, then what each call of a model added to what was said, and its reply.

    `steps`: in their order. Results of tools stand in the call that follows them; only those of the last reply are
    taken from the steps of the tools.
    """
    said = list(_said([step for step in steps if step.asked is not None]))
    first = next((step.asked for step in steps if step.asked is not None), ())
    told = any(task in str(message.get("content") or "") for message in first or ())
    begun = [] if told or not task else [{"role": "user", "content": task}]
    return [*begun, *said, *_last_results(steps)]


def _said(calls: Sequence[Recorded]) -> Iterator[Json]:
    known = _Known()
    for call in calls:
        asked, reply = _asked(call), _replies(call.response)
        yield from asked[known.of(asked) :]
        yield from reply
        known.add(asked, reply)


class _Known:
    """The calls so far."""

    def __init__(self) -> None:
        self._asked: list[list[str]] = []
        self._replies: set[str] = set()

    def add(self, asked: Sequence[Json], reply: Sequence[Json]) -> None:
        self._asked.append([_key(message) for message in asked])
        self._replies.update(map(_key, reply))

    def of(self, asked: Sequence[Json]) -> int:
        """How many of these messages, from the first on, were said before: as an earlier call was asked them, or up to
        an earlier call's reply. What is new comes at the end; what an agent has summarised is left out before it."""
        keys = [_key(message) for message in asked]
        as_before = max((_common(keys, earlier) for earlier in self._asked), default=0)
        replies = [number for number, message in enumerate(asked) if message["role"] == "assistant"]
        replied = replies[-1] + 1 if replies and keys[replies[-1]] in self._replies else 0
        return max(as_before, replied)


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many they have in common at their beginning."""
    pairs = zip(one, other, strict=False)
    return next((number for number, (mine, its) in enumerate(pairs) if mine != its), min(len(one), len(other)))


def _key(message: Json) -> str:
    return json.dumps(message, sort_keys=True)


def _asked(call: Recorded) -> list[Json]:
    """Without what the system tells it, at the beginning and the end: that is its code's, not its history's."""
    return [_message(message) for message in call.asked or () if message["role"] != "system"]


def _replies(response: Any) -> list[Json]:
    """One; none of a call that failed."""
    if not isinstance(response, dict):
        return []
    if "value" in response:
        return [{"role": "assistant", "content": response["value"]}]
    return [_message({"role": "assistant", "content": response.get("text", ""), **response})]


def _message(message: Json) -> Json:
    shown = {"role": message["role"], "content": message.get("content", "")}
    return shown | {name: message[name] for name in ("thinking", "tool_calls", "tool_call_id") if message.get(name)}


def _last_results(steps: Sequence[Recorded]) -> list[Json]:
    """What the tools gave that the last reply called: each call of a reply is a branch of the fan-out after it."""
    last = next((number for number in range(len(steps) - 1, -1, -1) if steps[number].asked is not None), None)
    if last is None or not isinstance(steps[last].response, dict):
        return []
    calls = steps[last].response.get("tool_calls") or ()
    found: dict[int, Json] = {}
    for step in steps[last + 1 :]:
        branch = _branch(step.path, after=steps[last].path)
        if branch is None or branch >= len(calls) or calls[branch]["name"] != step.name or branch in found:
            continue
        content = step.response.get("content", "") if isinstance(step.response, dict) else ""
        found[branch] = {"role": "tool", "content": content, "tool_call_id": calls[branch]["id"]}
    return [found[branch] for branch in sorted(found)]


def _branch(path: tuple[int, ...], *, after: tuple[int, ...]) -> int | None:
    """The branch of a fan-out in the scope of the call `after`, in which a step stands; None if it stands elsewhere."""
    depth = len(after) - 1
    stands_there = len(path) > depth + 2 and path[:depth] == after[:depth]
    return path[depth + 1] if stands_there else None
