"""A question's reply and the run that answers it: made and started, in the transaction of the verb that asks."""

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from agents import actions as runs
from agents.models import Execution
from agents.tools.taint import joined, taint_from
from conversations import history
from conversations.models import Conversation, Message, Role
from conversations.options import ChosenOptions
from hyperagent.accounts.models import User
from hyperagent.lib.ids import new_id
from memory import projects

ON_FINISH = "conversations.tasks.turn_finished"
BROUGHT: Final = "brought"
"""In the metadata of a question that its person did not write, and in the input of each run that answers it: what of
others it is."""


def message_in(conversation: Conversation, role: Role, parent: uuid.UUID | None, mode: str, **fields: Any) -> Message:
    """`parent`: the message that it follows; not written."""
    return Message(conversation=conversation, role=role, parent_id=parent, mode=mode, **fields)


def later(moment: datetime, before: datetime) -> datetime:
    """Order by time is the order in which things were said, whatever the hosts' clocks say."""
    return max(moment, before + timedelta(microseconds=1))


def reply_to(conversation: Conversation, question: Message) -> Message:
    """The one of a run that is yet to be started; not written."""
    reply = message_in(conversation, Role.ASSISTANT, question.id, question.mode, execution_id=new_id())
    reply.created_at = later(reply.created_at, question.created_at)
    return reply


def start_answer(
    user: User,
    conversation: Conversation,
    question: Message,
    told: Sequence[history.Said],
    options: ChosenOptions,
    *,
    reply: Message,
    branch: Sequence[history.BranchMessage],
) -> Execution:
    """Starts the run of a reply that is written. `branch`: what is told was made of; empty where a program brought it
    along."""
    about: dict[str, Any] = {"message_id": str(question.id)}
    if conversation.is_temporary:
        about["is_temporary"] = True
    if brought := question.metadata.get(BROUGHT):
        about[BROUGHT] = brought
    if taint := joined([history.tainted_by(branch, told), taint_from(brought)]):
        about["tainted_by"] = taint.as_json()
    if attached := history.attached_before(branch):
        about["attached_before"] = attached
    if user.time_zone:
        about["time_zone"] = user.time_zone
    if quoted := history.quoted(told):
        about["quoted"] = quoted
    if others := history.others_said(branch, told):
        about["others_said"] = others
    reply.execution = runs.start(
        user=user,
        conversation_id=conversation.id,
        question=question.text,
        history=[{"role": said["role"], "content": said["content"]} for said in told],
        mode=question.mode,
        options={**options, **_of_the_project(user, conversation)},
        on_finish=ON_FINISH,
        execution_id=reply.execution_id,
        about=about,
    )
    return reply.execution


def _of_the_project(user: User, conversation: Conversation) -> dict[str, Any]:
    """What the run is told of the conversation's project, as it is now. Nothing if the user has left it."""
    brief = projects.brief_of(conversation.project_id, user.pk) if conversation.project_id else None
    if brief is None:
        return {}
    if not brief.instructions:
        return {"project_id": str(brief.id)}
    told = {"project": brief.name, "written_by": brief.written_by, "text": brief.instructions}
    return {
        "project_id": str(brief.id),
        "project_instructions": told,
        # They taint the run then (`agents.tools.taint`).
        "instructed_by_another": brief.author_id != user.pk,
    }
