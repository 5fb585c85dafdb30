"""`python -m benchmarks.page_rows --email E`: a long conversation and long runs of this person, and a session of
theirs. Says their ids and the cookie in JSON. Written in bulk: nothing of it was ever asked or driven.
"""

import argparse
import json
import os
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hyperagent.settings")
django.setup()

# Models exist only after Django is set up.
from django.conf import settings  # noqa: E402
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY  # noqa: E402
from django.contrib.sessions.backends.db import SessionStore  # noqa: E402

from agents.engine import events as e  # noqa: E402
from agents.models import Event, Execution  # noqa: E402
from conversations.models import Conversation, Message, Role  # noqa: E402
from hyperagent.accounts.models import User  # noqa: E402

Json = dict[str, Any]
BEGAN = datetime(2026, 11, 20, 9, tzinfo=UTC)
AGENTS = 40
FRAMES = 50
ANSWER = """**Answer {number}.** Short waves are scattered more, and the eye sees blue rather than violet [1].

- The sun gives less violet, and the air takes some of it.
- The cones of the eye answer to blue more strongly.

| Wave | Length | Scattered |
|---|---:|---:|
| Red | 700 nm | 1.0 |
| Blue | 450 nm | 5.9 |

```python
def scattered(length_nm: float) -> float:
    return (700 / length_nm) ** 4
```

So the same sky is red in the evening: the way through the air is longer, and the blue has gone elsewhere.
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page_rows")
    parser.add_argument("--email", required=True)
    parser.add_argument("--messages", type=int, default=2_000)
    parser.add_argument("--events", type=int, default=20_000)
    options = parser.parse_args()
    user = User.objects.get(email=options.email)
    made = {
        "long": _long_conversation(user, turns=options.messages // 2),
        "ended": _long_run(user, count=options.events, is_over=True),
        "live": _long_run(user, count=options.events, is_over=False),
        "cookies": {settings.SESSION_COOKIE_NAME: _session(user)},
    }
    print(json.dumps(made))


def _long_conversation(user: User, *, turns: int) -> str:
    conversation = Conversation.objects.create(user=user, title="A long conversation")
    runs, messages = [], []
    parent = None
    for number in range(turns):
        at = BEGAN + timedelta(minutes=number)
        run = _run(user, conversation, at=at, answer=ANSWER.format(number=number), last_seq=0, is_over=True)
        asked = Message(
            conversation=conversation,
            parent=parent,
            role=Role.USER,
            text=f"Question {number}: why is the sky blue?",
            created_at=at,
        )
        parent = Message(
            conversation=conversation,
            parent=asked,
            role=Role.ASSISTANT,
            execution=run,
            created_at=at + timedelta(seconds=1),
        )
        runs.append(run)
        messages += [asked, parent]
    Execution.objects.bulk_create(runs, batch_size=500)
    Message.objects.bulk_create(messages, batch_size=500)
    return str(conversation.id)


def _long_run(user: User, *, count: int, is_over: bool) -> str:
    conversation = Conversation.objects.create(user=user, title="A long run")
    run = _run(user, conversation, at=BEGAN, answer=ANSWER if is_over else "", last_seq=count, is_over=is_over)
    run.save()
    asked = Message.objects.create(
        conversation=conversation, role=Role.USER, text="Look at all of it", created_at=BEGAN
    )
    Message.objects.create(
        conversation=conversation,
        parent=asked,
        role=Role.ASSISTANT,
        execution=run,
        created_at=BEGAN + timedelta(seconds=1),
    )
    bodies = list(_bodies(count, is_over=is_over))
    Event.objects.bulk_create(_rows(run, bodies, folded=is_over), batch_size=1000)
    return str(conversation.id)


def _run(
    user: User, conversation: Conversation, *, at: datetime, answer: str, last_seq: int, is_over: bool
) -> Execution:
    source = {"type": "web", "source": "Rayleigh scattering", "url": "https://bench.example/sky"}
    return Execution(
        user=user,
        conversation_id=conversation.id,
        status="completed" if is_over else "awaiting_user",  # which no runner claims
        question="why is the sky blue?",
        input={"version": 1},
        answer=answer,
        result={"sources": [source], "model": "gpt-5.2"} if is_over else None,
        last_seq=last_seq,
        epoch=1,
        prompt_tokens=900,
        completion_tokens=200,
        cost_usd="0.004",
        created_at=at,
        started_at=at,
        ended_at=at + timedelta(seconds=3) if is_over else None,
        finish_handled_at=at if is_over else None,
        log_folded_at=at if is_over else None,
    )


def _bodies(count: int, *, is_over: bool) -> Iterator[tuple[str, e.Body]]:
    """By agent. Two fifths are text, the rest what forty agents did, one after the other."""
    texts = count * 2 // 5
    yield "root", e.AgentState(agent_name="turn", status="running")
    yield "root", e.StatusChanged(status="running")
    told = 2
    deeds = count - texts - told - 1
    for number in range(deeds):
        agent = f"agent {number * AGENTS // deeds}"
        yield agent, _deed(number, begins=number == 0 or agent != f"agent {(number - 1) * AGENTS // deeds}")
    for number in range(texts):
        yield "root", e.Token(content=f"word{number} " if number % 12 else "\n\nNext. ")
    usage = e.Usage(prompt_tokens=9_340, completion_tokens=1_812, cost_usd=0.0412)
    yield (
        "root",
        e.Complete(answer=ANSWER, sources=(), usage=usage) if is_over else e.StatusChanged(status="awaiting_user"),
    )


def _deed(number: int, *, begins: bool) -> e.Body:
    if begins:
        return e.AgentState(agent_name="research", parent_id=_id("root"), status="running", task=f"Part {number}")
    call = f"c{number // 5}"
    deeds: tuple[e.Body, ...] = (
        e.ToolCall(tool="web_search", args={"query": f"question {number}", "top_k": 8}, id=call),
        e.ToolResult(
            tool="web_search",
            content=f"8 results, best: page {number} of the news about it",
            id=f"c{(number - 1) // 5}",
        ),
        e.TerminalCommand(command=f"grep -c {number} data.csv", id=f"p{number // 5}"),
        e.TerminalOutput(content=f"line {number}\n", id=f"p{(number - 1) // 5}"),
        e.TerminalComplete(exit_code=0, id=f"p{(number - 2) // 5}"),
    )
    return deeds[number % 5]


def _rows(run: Execution, bodies: list[tuple[str, e.Body]], *, folded: bool) -> Iterator[Event]:
    """`folded`: token frames that follow each other stand in one row, as after the end of a run."""
    waiting: list[str] = []
    for seq, (agent, body) in enumerate(bodies, 1):
        at = BEGAN + timedelta(milliseconds=20 * seq)
        told = {
            "seq": seq,
            "execution_id": str(run.id),
            "agent_id": _id(agent),
            "timestamp": int(at.timestamp() * 1000),
        }
        waiting.append(json.dumps({**body.model_dump(mode="json"), **told}))
        goes_on = seq < len(bodies) and _type(bodies[seq][1]) == _type(body) == "token" and len(waiting) < FRAMES
        if folded and goes_on:
            continue
        yield Event(
            execution=run,
            seq=seq,
            agent_id=_id(agent),
            type=_type(body),
            body="\n".join(waiting),
            frames=len(waiting),
            hash=bytes(32),
            created_at=at,
        )
        waiting = []


def _type(body: e.Body) -> str:
    return str(body.model_dump()["type"])


def _id(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


def _session(user: User) -> str:
    store = SessionStore()
    store[SESSION_KEY] = str(user.pk)
    store[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    store[HASH_SESSION_KEY] = user.get_session_auth_hash()
    store.create()
    return str(store.session_key)


if __name__ == "__main__":
    main()
