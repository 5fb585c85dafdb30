"""`manage.py remove_second_factors EMAIL`: for an administrator who has lost theirs, when there is no other one."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from hyperagent.accounts.mfa import factors
from hyperagent.accounts.models import User


class Command(BaseCommand):
    help = "Removes all second factors of a person; they get a mail, and the audit log has it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")

    def handle(self, *args: Any, email: str, **options: Any) -> None:
        user = User.objects.with_email(email).first()
        if user is None:
            raise CommandError(f"nobody has the address {email}; see the list of people in the admin")
        count = factors.remove_all(user, by=None)
        self.stdout.write(f"{user.email}: {count} removed." if count else f"{user.email} has no second factor.")
