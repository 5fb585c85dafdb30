"""What a client's message on the socket does: the same verbs as the API's, and what its sender alone is told of it.

Runs in a thread; knows no socket.
"""

import uuid
from collections.abc import Callable
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from agents import actions as runs
from agents.log import agent_reading
from agents.log import shapes as run_shapes
from conversations import actions, handshake, shapes
from conversations.frames import Cancel, Intervene, Respond, Say, Steer, Verb
from conversations.handshake import Caller, Credentials
from conversations.options import chosen
from hitl import actions as requests
from hitl.answers import response_from
from hitl.kinds import Via
from hitl.models import Request
from hitl.shapes import request_shape
from hyperagent.accounts.scopes import Scope
from hyperagent.lib.refusals import NotThere, Refused

Frame = dict[str, Any]
# Gives the frame that its sender is told, or an empty one.
_Act = Callable[[Caller, uuid.UUID | None, Any], Frame]


def act_as(credentials: Credentials, conversation_id: uuid.UUID | None, said: Verb) -> Frame | None:
    """None if the session or token has ended. Who it is and what is theirs is asked anew for every message.

    `conversation_id`: what it may be about is in this conversation; None on the inbox, which has none of its own.
    Raises Refused.
    """
    caller = handshake.identify(credentials)
    if caller is None:
        return None
    act, scope = _VERBS[type(said)]
    if scope not in caller.scopes:
        raise Refused(
            "scope_missing", _("This needs the scope '{scope}'. Make a token that has it.").format(scope=scope)
        )
    done = act(caller, conversation_id, said)
    client_id = getattr(said, "client_id", None)
    return {**done, "client_id": client_id} if done and client_id else done


def _say(caller: Caller, conversation_id: uuid.UUID | None, said: Say) -> Frame:
    if conversation_id is None:
        raise Refused("not_here", "The inbox has no conversation. Say it on a conversation's socket.")
    given = said.options.model_dump(mode="json") if said.options else {}
    options = chosen({**given, "attachment_ids": said.attachment_ids or None})
    question = actions.Question(said.text, mode=said.mode, options=options, client_id=said.client_id)
    done = actions.say(caller.user, conversation_id, question, edits=said.edits, after=said.after)
    told = shapes.said(done.message, done.reply)
    # What was said before is announced to nobody again: only who says it again is answered, each time.
    return {**told, "type": "said"} if done.repeated else told


def _cancel(caller: Caller, conversation_id: uuid.UUID | None, said: Cancel) -> Frame:
    actions.cancel(caller.user, conversation_id, said.execution_id)
    return {}


def _steer(caller: Caller, conversation_id: uuid.UUID | None, said: Steer) -> Frame:
    actions.check_run(caller.user, conversation_id, said.execution_id)
    runs.steer(said.execution_id, by=caller.user, text=said.text, client_id=said.client_id)
    return {"type": "steered", "execution_id": str(said.execution_id)}


def _intervene(caller: Caller, conversation_id: uuid.UUID | None, said: Intervene) -> Frame:
    here = agent_reading.agents_of(caller.user).filter(id=said.agent_id)
    if conversation_id is not None:
        here = here.filter(execution__conversation_id=conversation_id)
    if not here.exists():
        raise NotThere
    runs.intervene(
        said.agent_id,
        by=caller.user,
        user_comment=said.user_comment,
        user_content=said.user_content,
        status=said.status,
    )
    (agent,) = agent_reading.with_usage([here.get()])
    node = run_shapes.node(agent, agent_reading.subagents_of(agent))
    return {"type": "intervened", "success": True, "agent": node}


def _respond(caller: Caller, conversation_id: uuid.UUID | None, said: Respond) -> Frame:
    asked = Request.objects.visible_to(caller.user).filter(request_id=said.request_id)
    if conversation_id is not None:
        asked = asked.filter(conversation_id=conversation_id)
    if not asked.exists():
        raise NotThere
    response = response_from(said.model_dump(), now=timezone.now())
    decided = requests.respond(caller.user, said.request_id, response, via=Via.SOCKET)
    return {"type": "responded", "request": request_shape(decided)}


_VERBS: dict[type[Verb], tuple[_Act, Scope]] = {
    Say: (_say, Scope.RUN),
    Cancel: (_cancel, Scope.RUN),
    Steer: (_steer, Scope.RUN),
    Intervene: (_intervene, Scope.RUN),
    Respond: (_respond, Scope.APPROVE),
}
