"""The conversation that a new person finds: a turn that is over, with a run and an event log like any other's."""

from datetime import timedelta

from django.db import transaction

from agents.samples import finished_run
from conversations.models import Conversation, Message, Origin, Role, TitledBy
from hyperagent.accounts.models import User

TITLE = "Start here: what HyperAgent does"
QUESTION = "What can you do, and what happens to my question?"
ANSWER = """\
I answer questions and show my work as I go. This conversation is a **sample**: delete it whenever you like.

1. **Your question is stored first.** Closing the tab, or losing the server, loses nothing.
2. **A runner picks it up** and writes down each step. If it dies, another goes on from the last step.
3. **The answer streams** to every tab that looks at this conversation, the same text in each.

Things to try:

- Ask something, then reload the page in the middle of the answer.
- Press *Stop*: what was written until then is kept.
- Ask from a terminal: `manage.py ask "What is a Kahn sort?"`

Everything you see here is also in the API, which is described at [/api/docs/](/api/docs/).
"""


def make_samples(user: User) -> Conversation | None:
    """Once for each person: None if they have, or had, their sample already."""
    with transaction.atomic():
        User.objects.hold(user.pk)
        if Conversation.objects.filter(user=user, origin=Origin.SAMPLE).exists():
            return None
        conversation = Conversation.objects.create(
            user=user, title=TITLE, titled_by=TitledBy.PERSON, origin=Origin.SAMPLE
        )
        execution = finished_run(user, conversation.id, QUESTION, ANSWER)
        question = Message(conversation=conversation, role=Role.USER, text=QUESTION, created_at=execution.created_at)
        reply = Message(
            conversation=conversation,
            parent=question,
            role=Role.ASSISTANT,
            execution=execution,
            created_at=execution.created_at + timedelta(microseconds=1),
        )
        Message.objects.bulk_create([question, reply])
    return conversation
