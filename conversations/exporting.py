"""A conversation as a file: Markdown for people, in the reader's language, the branch that is shown; JSON for programs,
everything. Writes nothing.
"""

import re
import uuid
from collections.abc import Mapping
from typing import Any, Final

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from agents.log.shapes import model_of, plan_shape
from conversations import branches
from conversations.headings import deeper
from conversations.models import Conversation, Message, Role
from conversations.reading import with_runs
from conversations.shapes import message_shape
from hyperagent.lib.clipping import one_line
from hyperagent.lib.times import iso

Json = dict[str, Any]
VERSION: Final = 1


def as_json(conversation: Conversation, shown: Mapping[str, Any]) -> Json:
    """Every message of every branch, oldest first, replies with the plan and the route of their run. `shown`: the
    conversation as the API has it. One query."""
    messages = _all(conversation)
    return {
        "version": VERSION,
        "exported_at": iso(timezone.now()),
        "conversation": dict(shown),
        "shown_branch": [str(message.id) for message in branches.shown(messages)],
        "results": [{**message_shape(message), **_of_the_run(message)} for message in messages],
    }


def _of_the_run(message: Message) -> Json:
    result = (message.execution.result or {}) if message.execution else {}
    plan = result.get("plan")
    return {"plan": plan_shape(plan) if plan else None, "routing": result.get("routing")}


def as_markdown(conversation: Conversation) -> str:
    """The branch that is shown: under each message its newest answer. One query."""
    messages = _all(conversation)
    places = branches.places(messages)
    parts = [f"# {one_line(conversation.title) or _('Conversation')}", f"*{_when(conversation.created_at)}*"]
    for message in branches.shown(messages):
        parts += _message(message, *places[message.id])
    return "\n\n".join(parts) + "\n"


def _message(message: Message, number: int, among: int) -> list[str]:
    shape = message_shape(message)
    facts = [_when(message.created_at), model_of(message.execution) if message.execution else None]
    parts = [f"## {_speaker(message.role)}", f"*{' · '.join(fact for fact in facts if fact)}*"]
    if among > 1:
        parts.append(f"*{_place(message.role, number, among)}*")
    if attached := [one_line(one.get("name", "")) for one in shape["attachments"]]:
        parts.append(_("Attached: {names}").format(names=", ".join(f"`{name}`" for name in attached)))
    if plan := _of_the_run(message)["plan"]:
        parts += _plan(plan)
    parts.append(deeper(shape["text"]) if shape["text"].strip() else _no_answer(shape))
    if shape["sources"]:
        parts += [
            f"**{_('Sources')}**",
            "\n".join(f"{at}. {_source(one)}" for at, one in enumerate(shape["sources"], 1)),
        ]
    return parts


def _speaker(role: str) -> str:
    if role == Role.ASSISTANT:
        return "HyperAgent"
    return pgettext("who speaks", "You") if role == Role.USER else pgettext("who speaks", "System")


def _place(role: str, number: int, among: int) -> str:
    if role == Role.USER:
        return _("This is question {number} of {count} at this place; the others are in the JSON export.").format(
            number=number, count=among
        )
    return _("This is answer {number} of {count} at this place; the others are in the JSON export.").format(
        number=number, count=among
    )


def _no_answer(shape: Json) -> str:
    error = (shape["execution"] or {}).get("error")
    why = _("no answer: {reason}").format(reason=one_line(error["message"])) if error else _("no answer")
    return f"*({why})*"


def _plan(plan: Json) -> list[str]:
    tasks = [task for task in plan["tasks"] if task.get("task")]
    # One task alone is the question itself.
    if len(tasks) < 2:
        return []
    rows = [_task(number, task, plan["tasks"]) for number, task in enumerate(tasks, 1)]
    return [f"**{_('Plan')}**", "\n".join(rows)]


def _task(number: int, task: Json, tasks: list[Json]) -> str:
    numbers = {one["id"]: place for place, one in enumerate(tasks, 1)}
    before = [str(numbers[id_]) for id_ in task.get("depends_on") or () if id_ in numbers]
    after = _("after {numbers}").format(numbers=", ".join(before)) if before else ""
    return f"{number}. {one_line(task['task'])} ({', '.join(filter(None, (task.get('agent', ''), after)))})"


def _source(source: Json) -> str:
    page = _("page {number}").format(number=source["page"]) if source.get("page") else ""
    details = [one_line(str(source[name])) for name in ("source", "section") if source.get(name)]
    return ", ".join([*details, *([page] if page else []), *([str(source["url"])] if source.get("url") else [])])


def _when(moment: Any) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _all(conversation: Conversation) -> list[Message]:
    return list(with_runs(Message.objects.filter(conversation=conversation)).order_by("created_at", "id"))


def name_of(conversation: Conversation, ending: str) -> str:
    """Of the file: its title in letters that every system takes, and something of its id."""
    words = re.sub(r"[^a-z0-9]+", "-", conversation.title.lower()).strip("-")[:60].strip("-")
    return f"{words or 'conversation'}-{_short(conversation.id)}.{ending}"


def _short(id_: uuid.UUID) -> str:
    return id_.hex[:8]
