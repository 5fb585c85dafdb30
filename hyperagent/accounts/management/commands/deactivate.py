"""`manage.py deactivate EMAIL…`: what the page about a person does, for when nobody can sign in."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from hyperagent.accounts import people
from hyperagent.accounts.models import User
from hyperagent.lib.refusals import Refused


class Command(BaseCommand):
    help = "Deactivates people or service accounts: no way in, nothing goes on. `activate` is the way back."
    verb = staticmethod(people.deactivate)
    done = "deactivated"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("email", nargs="+")

    def handle(self, *args: Any, **options: Any) -> None:
        found = {email: User.objects.with_email(email).first() for email in options["email"]}
        if unknown := [email for email, user in found.items() if user is None]:
            raise CommandError(f"Nobody here has the address {unknown[0]}. Nothing was changed.")
        for user in found.values():
            assert user is not None
            try:
                self.verb(None, user.pk)
            except Refused as refused:
                raise CommandError(f"{user}: {refused.message}") from None
            self.stdout.write(f"{user} is {self.done}.")
