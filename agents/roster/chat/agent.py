"""The chat agent: talks, uses a few tools, and hands over what others do better."""

import json
from pathlib import Path
from typing import Final

from agents.craft.briefing import briefing, house_rules, short_briefing
from agents.craft.exchange import AgentInput, Work
from agents.craft.loop import react
from agents.craft.prompts import filled_for_all, read_prompt
from agents.craft.small import SMALL_CHARS, ask_small
from agents.pipeline.citations import number
from agents.roster.chat.window import recent_turns
from agents.runtime.context import AgentContext
from agents.runtime.tool_door import ToolReply
from agents.skills.registry import skills
from agents.spec import AgentSpec
from agents.tools.untrusted import unmarked
from hyperagent.lib.llm.types import Message, Role, ToolCall

SPEC = AgentSpec(
    name="chat",
    description="Talks with the user: answers, explains, drafts and translates from the conversation itself.",
    capabilities=("conversation", "explanation", "drafting", "translation", "summaries of given text", "images"),
    typical_use_cases=(
        "What is a Kahn sort?",
        "Make this paragraph shorter",
        "Bonjour, how do I say this in German?",
        "Which of these two offers would you take, and why?",
        "Draw a red bicycle",
    ),
    tools=(
        "web_search",
        "fetch_url",
        "generate_image",
        "analyze_image",
        "list_files",
        "read_file",
        "write_file",
        "edit_file",
        "delete_file",
        "use_file",
        "browser_navigate",
        "browser_screenshot",
        "browser_scroll",
        "browser_click",
        "browser_type",
        "browser_press_key",
        "browser_get_stream_url",
        "ask_user",
        "fork",
        "wait",
        "invoke_skill",
        "list_skills",
        "delegate_to_research",
    ),
    max_iterations=5,
)

HERE = Path(__file__).parent
BUDGET_CHARS: Final = 60_000
SKILL_CALL = "skill-1"


async def run(context: AgentContext, task: AgentInput) -> Work:
    skill = await _skill(context, task) if task.skill else None
    question = briefing(task, history=False, plan=False)
    messages = (
        *recent_turns(task.conversation_history, budget_chars=BUDGET_CHARS - len(question)),
        Message(role=Role.USER, content=question),
        *(_as_messages(task, skill) if skill else ()),
    )
    system = filled_for_all(read_prompt(HERE / "prompt.md"), rules=house_rules())
    looped = await react(context, task, SPEC, system=system, messages=messages)
    failed = looped.came_to_nothing
    return Work(
        result=looped.text,
        data={"stopped": looped.stopped, "notice": looped.notice} if looped.stopped and not failed else {},
        done=not failed,
        error="errors" if failed else None,
        partial_data={"reason": looped.notice} if failed else {},
        confidence=0.2 if failed else 0.5 if looped.stopped else 0.9,
        sources=number([skill.sources if skill else (), looped.sources]).sources,
        shared=dict(looped.shared),
        handoff=looped.handoff,
        model_used=looped.model_used,
    )


async def run_small(context: AgentContext, task: AgentInput) -> Work:
    """A short prompt, no tools. What a skill gave is the answer as it stands."""
    if task.skill:
        skill = await _skill(context, task)
        error = "skill_failed" if skill.is_error else None
        return Work(result=unmarked(skill.content), done=not error, error=error, sources=skill.sources, confidence=0.5)
    question = short_briefing(task, limit=SMALL_CHARS)
    reply = await ask_small(
        context,
        task,
        SPEC,
        system=read_prompt(HERE / "prompt_small.md"),
        user=question,
        stage="agent",
        before=recent_turns(task.conversation_history, budget_chars=SMALL_CHARS - len(question)),
    )
    return Work(result=reply.text, confidence=0.5, model_used=reply.model)


async def _skill(context: AgentContext, task: AgentInput) -> ToolReply:
    """A dedicated mode begins with its skill, without asking a model whether it should (S10)."""
    return await context.tool("invoke_skill", _skill_arguments(task), call_id=SKILL_CALL)


def _skill_arguments(task: AgentInput) -> dict[str, object]:
    """The task is the text that the skill cannot do without, whatever it calls it."""
    skill = skills().get(task.skill or "")
    schema = skill.metadata.parameters if skill else {}
    texts = [name for name in schema.get("required", []) if schema["properties"][name].get("type") == "string"]
    return {"skill_id": task.skill, "params": {texts[0] if texts else "task": task.task}}


def _as_messages(task: AgentInput, reply: ToolReply) -> tuple[Message, Message]:
    """The skill's call and result as if the model had asked for it: it goes on from there."""
    arguments = json.dumps(_skill_arguments(task), ensure_ascii=False)
    call = ToolCall(id=SKILL_CALL, name="invoke_skill", arguments=arguments)
    return (
        Message(role=Role.ASSISTANT, tool_calls=(call,)),
        Message(role=Role.TOOL, content=reply.content, tool_call_id=SKILL_CALL),
    )
