"""Writing to people about their accounts. A letter is a row of the caller's transaction, and leaves after that."""

from typing import Final

from hyperagent.accounts.letter_models import Letter, LetterKind
from hyperagent.accounts.models import User
from hyperagent.accounts.people_models import Invitation
from hyperagent.lib import queue
from hyperagent.lib.outgoing_mails import WAITING

SEND: Final = "hyperagent.accounts.tasks.send_letter"


def write(kind: LetterKind, user: User, /, **facts: str) -> Letter:
    """To a person."""
    letter = Letter.objects.create(kind=kind, user=user, facts=facts)
    queue.enqueue(SEND, letter.pk)
    return letter


def invite(invitation: Invitation) -> Letter:
    """In the place of the one before, if that has not left yet."""
    Letter.objects.filter(WAITING, invitation=invitation).delete()
    letter = Letter.objects.create(kind=LetterKind.INVITATION, invitation=invitation)
    queue.enqueue(SEND, letter.pk)
    return letter
