"""`manage.py invite EMAIL`: an invitation with roles and groups; the link where no mail takes it there."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from hyperagent.accounts import invitations, people
from hyperagent.accounts.scopes import GROUP_ROLES, Role
from hyperagent.lib.outgoing_mails import mails_leave
from hyperagent.lib.refusals import Refused


class Command(BaseCommand):
    help = "Invites somebody by e-mail. Without EMAIL_URL it prints the link, to be given to the person."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("email")
        roles = [role.value for role in (*GROUP_ROLES, Role.ADMINISTRATOR)]
        parser.add_argument("--role", action="append", default=[], choices=roles, help="May be given more than once.")
        parser.add_argument("--group", action="append", default=[], help="The name of a group; more than once.")

    def handle(self, *args: Any, **options: Any) -> None:
        groups = dict(people.plain_groups().values_list("name", "pk"))
        if unknown := [name for name in options["group"] if name not in groups]:
            known = ", ".join(sorted(groups)) or "none yet"
            raise CommandError(f"There is no group {unknown[0]!r}. There are: {known}.")
        try:
            made = invitations.invite(
                None, options["email"], roles=options["role"], group_ids=[groups[name] for name in options["group"]]
            )
        except Refused as refused:
            raise CommandError(refused.message) from None
        if mails_leave():
            self.stdout.write(f"The invitation to {made.email} is on its way by mail, until {made.ends_at:%Y-%m-%d}.")
        else:
            self.stdout.write(f"Give this link to {made.email}; it works once, until {made.ends_at:%Y-%m-%d}:")
            self.stdout.write(invitations.link_of(made))
