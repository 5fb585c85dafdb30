"""`manage.py changepassword EMAIL`: what the page does, for whoever cannot get in. It stands in for Django's own, which
leaves the API tokens to whoever knew the password."""

import getpass
from argparse import ArgumentParser
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from hyperagent.accounts import actions
from hyperagent.accounts.models import User
from hyperagent.accounts.scopes import UserKind

TRIES: Final = 3


class Command(BaseCommand):
    help = "Gives somebody another password. It ends their sessions, and revokes their API tokens."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("email")

    def handle(self, *args: Any, email: str, **options: Any) -> None:
        user = User.objects.with_email(email).filter(kind=UserKind.PERSON, deleted_at=None).first()
        if user is None:
            raise CommandError(f"nobody has the address {email}; see the list of people in the admin")
        for _ in range(TRIES):
            try:
                password = _typed(user)
                revoked = actions.change_password(user, password, by=None)
            except ValidationError as error:
                self.stderr.write("\n".join(error.messages))
                continue
            self.stdout.write(f"{user.email} has another password. API tokens revoked: {revoked}.")
            return
        raise CommandError(f"nothing was changed, after {TRIES} tries")


def _typed(user: User) -> str:
    """Raises ValidationError where it was not typed twice, and CommandError where nobody types."""
    try:
        password = getpass.getpass(f"Password for {user.email}: ")
        again = getpass.getpass("Password (again): ")
    except (EOFError, KeyboardInterrupt):
        raise CommandError("nothing was changed") from None
    if password != again:
        raise ValidationError("These are not the same.")
    return password
