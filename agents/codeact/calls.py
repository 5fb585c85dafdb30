"""What a script says through its door, and what it is told: each line is a call of a tool, through the one gateway."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agents.engine.canonical import plain
from agents.engine.clock import Clock
from agents.engine.errors import StepFailed
from agents.engine.events import Source
from agents.engine.scripts import Script, has_happened, shown
from agents.runtime.attempts import Attempt
from agents.runtime.context import AgentContext
from agents.runtime.tool_door import ToolReply
from hyperagent.lib.text import clean_value

AT_ONCE: Final = 16

BAD_LINE: Final = "A call has to be a JSON object with an id, the name of a tool, and its arguments as an object."


class Asked(BaseModel):
    """A line of a script. `id` is its own, and goes back with the answer."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    id: int | str | None = None
    tool: str = Field(max_length=200)
    arguments: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one script. `own_s`: how long it may take, without the time in which a call is open. `wall_s`: in all."""

    calls: int = 300
    own_s: float = 300
    wall_s: float = 7200


@dataclass(slots=True, eq=False)
class Calls:
    """The calls of one run of a script. `stop` is called with why, where the script has to be ended for them."""

    context: AgentContext
    script: Script
    allowed: Sequence[str]
    limits: Limits
    stop: Callable[[str], None]
    made: int = 0
    attempts: list[Attempt] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    """The calls that changed something, in words."""
    _room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    _over: bool = False
    clock: Clock = field(init=False)

    def __post_init__(self) -> None:
        why = f"It worked for more than {self.limits.own_s:g} s between its calls, and was stopped."
        self.clock = Clock(self.limits.own_s, "", lambda: self.stop(why))

    def end(self) -> None:
        self._over = True
        self.clock.stop()

    async def answer(self, said: dict[str, Any]) -> dict[str, Any]:
        """Whatever is sent, something is answered: what is wrong with it, in words, if nothing else."""
        try:
            asked = Asked.model_validate(clean_value(said))
            arguments = plain(asked.arguments)
        except (ValidationError, ValueError, RecursionError):
            return _error(_id_of(said), "bad_call", BAD_LINE)
        self.made += 1
        if self.made > self.limits.calls:
            why = (
                f"It made more than {self.limits.calls} calls of tools, the most that one script may, and was stopped."
            )
            self.stop(why)
            return _error(asked.id, "too_many_calls", why)
        self.clock.pause()
        try:
            async with self._room:
                reply = await self.script.call(asked.tool, arguments, self._body(asked.tool, arguments))
        except StepFailed as failure:
            return _error(asked.id, failure.code, failure.message)
        finally:
            if not self._over:
                self.clock.resume()
        return _answered(asked.id, reply)

    def _body(self, tool: str, arguments: Any) -> Callable[[AgentContext], Any]:
        async def body(inside: AgentContext) -> ToolReply:
            inside.attempts = self.attempts
            inside.called_by = self.context.call_id
            reply = await inside.tool(tool, arguments, allowed=self.allowed, call_id=inside.place)
            # The place of the next call is in the scope of this one.
            if has_happened(inside.run.steps_of(inside.agent.id), inside.position[:-1]):
                self.done.append(shown(tool, arguments))
            self.sources.extend(source for source in reply.sources if source not in self.sources)
            return reply

        return body


def _answered(id_: Any, reply: ToolReply) -> dict[str, Any]:
    if reply.is_error:
        code = reply.data.get("error") if isinstance(reply.data, dict) else None
        return _error(id_, str(code or "failed"), reply.trouble)
    return {"id": id_, "value": reply.data, "content": reply.content}


def _error(id_: Any, code: str, message: str) -> dict[str, Any]:
    return {"id": id_, "error": {"code": code, "message": message}}


def _id_of(said: dict[str, Any]) -> Any:
    id_ = said.get("id")
    return id_ if isinstance(id_, int | str) else None
