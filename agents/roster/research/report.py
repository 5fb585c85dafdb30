"""The report, and the one question that may come before it: the last of the run (S101)."""

from pathlib import Path
from typing import Final

from agents.craft.exchange import AgentInput
from agents.craft.hearing import with_said
from agents.craft.prompts import read_prompt
from agents.runtime.context import AgentContext
from agents.spec import AgentSpec
from hyperagent.lib.llm.types import Message, ModelReply, ModelRequest, Role, ToolCall

ASKING: Final = read_prompt(Path(__file__).parent / "last_question.md")
ASK: Final = "ask_user"
NO_SECOND: Final = "Error: not asked: there is one question only. Write the report now."


def may_ask(context: AgentContext, task: AgentInput) -> bool:
    return task.options.interactive and context.run.tools is not None


async def written(context: AgentContext, task: AgentInput, spec: AgentSpec, *, system: str, user: str) -> ModelReply:
    """What the model writes. Where it asks the person something first, it writes with the answer, or without one."""
    door = context.run.tools
    tools = door.specs((ASK,)) if door is not None and may_ask(context, task) else ()
    messages = (Message(role=Role.SYSTEM, content=system), Message(role=Role.USER, content=user))
    request = task.request(
        agent=spec.name, tier=spec.tier, messages=messages, temperature=spec.temperature, tools=tools
    )
    reply = await _model(context, task, request)
    if not tools or not reply.tool_calls:
        return reply
    context.withdraw("the agent asks first")
    asked, *others = reply.tool_calls
    answer = await context.tool(asked.name, asked.arguments, allowed=(ASK,), call_id=asked.id)
    results = (_result(asked, answer.content), *(_result(call, NO_SECOND) for call in others))
    onward = {"messages": (*messages, reply.as_message(), *results), "may_call": False}
    return await _model(context, task, request.model_copy(update=onward))


async def _model(context: AgentContext, task: AgentInput, request: ModelRequest) -> ModelReply:
    return await context.model(await with_said(context, request), stage="write", shown=task.speaks)


def _result(call: ToolCall, content: str) -> Message:
    return Message(role=Role.TOOL, content=content, tool_call_id=call.id)
