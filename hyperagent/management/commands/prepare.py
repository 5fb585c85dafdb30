"""`manage.py prepare`: a database that the processes can work with. May run on several machines at once, and again."""

import json
import sys
import time
from typing import Any

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connection
from django.utils import timezone

from agents.log import partitions
from conversations.samples import make_samples
from hyperagent.accounts.models import User
from hyperagent.embedded import instance
from hyperagent.lib.database import NO_VECTORS, has_vectors, shown_address
from memory.samples import make_sample_documents

# Any number, the same for all who prepare.
LOCK = 0x68617067
AGAIN_AFTER_S = 1.0
TAKEN = (
    "{email} has an account here already, which is no administrator's. Set another HYPERAGENT_ADMIN_EMAIL for the"
    " first one."
)


class Command(BaseCommand):
    help = "Migrates, makes the first administrator and the samples. The last line says in JSON what was made."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--wait", type=int, default=0, metavar="SECONDS", help="for a database that is starting")
        parser.add_argument(
            "--keep-password",
            action="store_true",
            help="keep the first administrator's in DATA_DIR, for whoever made it up and has to tell it",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if problem := _unanswered(options["wait"]):
            sys.exit(f"The database at {shown_address()} does not answer: {problem}")
        if not has_vectors(make=True):
            sys.exit(NO_VECTORS.format(address=shown_address()))
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [LOCK])
            try:
                call_command("migrate", interactive=False, verbosity=0)
                partitions.make_months(timezone.now())
                made = _make_administrator(keeps_password=options["keep_password"])
            finally:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
        self.stdout.write(json.dumps({"administrator": made}))


def _unanswered(wait_s: int) -> str:
    """Empty once it answers; what it says instead after so long."""
    ends = time.monotonic() + wait_s
    while True:
        try:
            connection.ensure_connection()
        except DatabaseError as error:
            if time.monotonic() >= ends:
                return str(error)
            time.sleep(AGAIN_AFTER_S)
        else:
            return ""


def _make_administrator(*, keeps_password: bool) -> str | None:
    """The first one, with the samples; the address, or `None` if there is one already or no password was given."""
    email, password = settings.CONFIG.admin_email, settings.CONFIG.admin_password.get_secret_value()
    if not password or User.objects.filter(is_superuser=True).exists():
        return None
    if User.objects.with_email(email).exists():
        # Whoever registered with it may be a stranger, who gets no rights.
        raise CommandError(TAKEN.format(email=email))
    try:
        validate_password(password, User(email=email))
    except ValidationError as error:
        raise CommandError(f"HYPERAGENT_ADMIN_PASSWORD is not allowed: {' '.join(error.messages)}") from None
    if keeps_password:
        instance.keep_first_password(settings.CONFIG.data_path, password)
    try:
        user = User.objects.create_superuser(email, password)
    except ValidationError as error:
        raise CommandError(f"HYPERAGENT_ADMIN_EMAIL={email!r} is not allowed: {' '.join(error.messages)}") from None
    make_samples(user)
    make_sample_documents(user)
    return user.email
