"""`manage.py give_all_rights EMAIL…`: what the page about a person does, for when nobody who may is there any more."""

from functools import partial

from hyperagent.accounts import people
from hyperagent.accounts.management.commands.deactivate import Command as Deactivate


class Command(Deactivate):
    help = "Gives administrators all rights: to set passwords and remove second factors, and so to sign in as anybody."
    verb = staticmethod(partial(people.set_all_rights, has_them=True))
    done = "an administrator with all rights"
