"""`manage.py activate EMAIL…`: they may sign in again."""

from hyperagent.accounts import people
from hyperagent.accounts.management.commands.deactivate import Command as Deactivate


class Command(Deactivate):
    help = "Lets people or service accounts in again. Tokens are gone; what was paused stays so until they resume it."
    verb = staticmethod(people.activate)
    done = "active"
