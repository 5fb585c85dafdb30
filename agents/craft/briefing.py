"""What every agent is told of its task, in one form and order. Pure: the same input gives the same text.

What other agents, documents, pages and tools wrote is quoted as untrusted. Knows no agent and asks no model.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from agents.craft.earlier_turns import as_quotation
from agents.craft.exchange import AgentInput, DependencyOutput, Options
from agents.craft.project_rules import project_rules, short_rules
from agents.craft.prompts import read_prompt
from agents.pipeline.blackboard import render
from agents.pipeline.handoffs import handoff_context
from agents.pipeline.recall import format_user_profile
from agents.tools.untrusted import marked_untrusted, whole_quotations
from hyperagent.lib.clipping import beginning, ending

DEPENDENCY_CHARS: Final = 500
ENTITY_CHARS: Final = 300
SHORT_MEMORIES: Final = 3
SHORT_PROFILE_CHARS: Final = 400


def house_rules() -> str:
    """What holds for every agent; fills `{{rules}}` of their prompts."""
    return read_prompt(Path(__file__).parent / "house_rules.md")


def briefing(task: AgentInput, *, history: bool = True, plan: bool = True) -> str:
    """The task and all that belongs to it, as the user's message to a model; just the task if that is all there is.

    `history`: whether the conversation so far is told; whoever sends it as messages leaves it out here. `plan`: the
    same for the plan, which the loop tells by itself.
    """
    more = [
        ("What the result shall be", task.expected_outcome),
        ("The project's instructions", project_rules(task.options)),
        ("The person's whole question", _question(task)),
        ("Handed over to you", _handoff(task)),
        ("Known details", entities_of(task.entities)),
        ("Files that belong to it", files_of(task.options)),
        ("Results of the agents before you", _dependencies(task.dependency_outputs)),
        ("About the person", format_user_profile(task.long_term_memory)),
        ("Notes of this run so far", _notes(task.shared_memory)),
        ("Plan", task.active_context if plan else ""),
        ("Conversation so far", as_quotation(task.conversation_history) if history else ""),
    ]
    told = [(heading, text) for heading, text in more if text]
    if not told:
        return task.task
    return "\n\n".join(f"## {heading}\n{text}" for heading, text in [("Task", task.task), *told])


def short_briefing(task: AgentInput, *, limit: int = 1_200) -> str:
    """For a model that reads slowly and little: the task, what the agents before it found, and what the project wants,
    the start of each."""
    found = "\n".join(beginning(output.result, 400) for output in task.dependency_outputs.values() if output.result)
    quotation = quoted("the agents before you", found) if found else ""
    before = "\n\n".join(part for part in (quotation, short_rules(task.options), _short_profile(task)) if part)
    asked = ending(task.task, limit) if before else beginning(task.task, limit)
    room = limit - len(asked) - len("\n\n")
    if not before or room <= 0:
        return asked
    kept = whole_quotations(ending(before, room))
    return f"{kept}\n\n{asked}" if kept else asked


def _short_profile(task: AgentInput) -> str:
    """The profile and the first memories, in few words."""
    known = task.long_term_memory
    profile = format_user_profile({name: known.get(name) for name in ("critical", "preferences")})
    profile = beginning(profile, SHORT_PROFILE_CHARS)
    memories = "\n".join(
        f"- {beginning(str(one['text']), 120)}" for one in (known.get("memories") or ())[:SHORT_MEMORIES]
    )
    room = SHORT_PROFILE_CHARS - len(profile)
    quotation = quoted("memories", memories, limit=room) if memories and room > 0 else ""
    told = "\n".join(filter(None, [profile, quotation]))
    return f"What is known of the person who asks:\n{told}" if told else ""


def quoted(source: str, text: str, *, limit: int | None = None) -> str:
    """Text that others wrote, marked so that it cannot end its own quotation. `limit` is for the text."""
    return marked_untrusted(text if limit is None else beginning(text, limit), source=source)


def entities_of(entities: Mapping[str, Any]) -> str:
    """Names, dates, figures and the like that the plan found in the question, a line each."""
    known = {key: _told(value) for key, value in sorted(entities.items()) if value not in (None, "", [], {})}
    return "\n".join(f"- {key}: {beginning(value, ENTITY_CHARS)}" for key, value in known.items())


def _question(task: AgentInput) -> str:
    return "" if task.original_question in ("", task.task) else task.original_question


def _handoff(task: AgentInput) -> str:
    return quoted("the agents before you", handoff_context(task.handoffs)) if task.handoffs else ""


def files_of(options: Options) -> str:
    """What belongs to the question, a line each: by name, kind and id, as far as that is known."""
    known = {one.id: one.told for one in options.attached or ()}
    attached = [f"- attached {known.get(one, f'file {one}')}" for one in options.attachment_ids]
    chosen = [f"- {known.get(one, f'document {one}')}" for one in options.document_ids]
    before = [f"- attached to an earlier question: {one.told}" for one in options.attached_before]
    return "\n".join([*attached, *chosen, *before])


def _dependencies(outputs: Mapping[str, DependencyOutput]) -> str:
    return "\n".join(
        quoted(f"{output.agent_name} agent, {step_id}", _of_dependency(output), limit=DEPENDENCY_CHARS)
        for step_id, output in sorted(outputs.items())
    )


def _of_dependency(output: DependencyOutput) -> str:
    """What it found in words, where it did; else its data, or why there is nothing."""
    asked = f"Task: {beginning(output.task_description, 120)}\n" if output.task_description else ""
    if not output.task_done:
        return f"{asked}Not done: {output.error or 'no reason given'}. {_told(output.data) if output.data else ''}"
    return asked + (output.result or _told(output.data))


def _notes(shared: Mapping[str, Any]) -> str:
    notes = render(shared)
    return quoted("the working memory of this run", notes) if notes else ""


def _told(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
