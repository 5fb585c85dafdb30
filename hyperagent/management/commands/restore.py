"""`manage.py restore`: puts a backup in the place of all that this installation has.

Where `up` brings the database, this command starts it for as long as it works, and keeps `up` out meanwhile.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from hyperagent.backups import installation
from hyperagent.embedded import instance, postgres
from hyperagent.lib.child import command_of
from hyperagent.lib.conf import BASE_DIR, set_unless_given
from hyperagent.settings import CONFIG

START_S = 60.0


class Command(BaseCommand):
    help = "Puts a backup in the place of everything that is here. Runs that had not ended in it are stopped."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="as `manage.py backup` wrote it")
        parser.add_argument("--yes", action="store_true", help="do not ask whether what is here may go")
        parser.add_argument(
            "--move",
            action="store_true",
            help="the old installation was stopped before its backup was taken: its runs go on here",
        )
        parser.add_argument("--force", action="store_true", help="do not look whether runners work")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            manifest = installation.look(options["file"])
            if not options["yes"] and not _agreed(manifest.made_at):
                sys.exit("Nothing was changed.")
            if CONFIG.database_url.get_secret_value():
                self._restore(options)
            else:
                sys.exit(_restored_within(options))
        except installation.NotDone as refusal:
            sys.exit(str(refusal))

    def _restore(self, options: dict[str, Any]) -> None:
        done = installation.restore(options["file"], lets_runs_go_on=options["move"], is_forced=options["force"])
        self.stdout.write(f"Restored as it was at {done.manifest.made_at}.")
        if done.stopped:
            self.stdout.write(
                f"{done.stopped:,} runs had not ended then. They are stopped when workers start, for nobody knows what "
                "they have done since; their questions can be asked again."
            )
        if done.is_other_key:
            self.stdout.write(
                "SECRET_KEY is another one than the backup's: people sign in anew, and what was stored sealed "
                "(mailboxes, connected servers, webhooks) cannot be opened. Set SECRET_KEY to the old one, or add the "
                "old one to SECRET_KEY_FALLBACKS."
            )


def _agreed(made_at: str) -> bool:
    if not sys.stdin.isatty():
        sys.exit("Restoring replaces everything that is here. Add --yes to agree.")
    answer = input(f"Replace everything that is here by the backup of {made_at}? Type yes: ")
    return answer.strip().lower() == "yes"


def _restored_within(options: dict[str, Any]) -> int:
    """The same command once more, with the database that `up` would bring. Gives its exit status."""
    try:
        data_dir = instance.make_data_dir(CONFIG.data_path)
        held = instance.lock(data_dir)
    except (instance.BadDataDir, instance.AlreadyRunning) as refusal:
        raise installation.NotDone(f"{refusal} A restore needs it to stand still.") from None
    try:
        key = installation.key_in(options["file"])
        with _database(data_dir) as url:
            env = {**os.environ, "DATABASE_URL": url}
            set_unless_given(env, "SECRET_KEY", key or instance.secret_key(data_dir))
            flags = [f"--{name}" for name in ("move", "force") if options[name]]
            command = [sys.executable, str(BASE_DIR / "manage.py"), "restore", str(options["file"]), "--yes", *flags]
            status = subprocess.run(command, env=env, check=False).returncode
        # Not before: what a restore that was refused leaves here is sealed with the key that is here.
        if key and status == 0:
            instance.write_private(data_dir / instance.KEY_FILE, key)
        return status
    finally:
        os.close(held)


@contextmanager
def _database(data_dir: Path) -> Iterator[str]:
    """The Postgres of this folder, for as long as it is needed."""
    try:
        server = postgres.prepare(data_dir / "postgres", sockets=data_dir / "run" / "pg")
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        raise installation.NotDone(f"The database of {data_dir} cannot be prepared: {error}") from None
    log = (data_dir / "run" / "restore.log").open("wb")
    process = subprocess.Popen(
        command_of(server.command(), death_signal=signal.SIGINT, user=server.user),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        cwd="/",
    )
    try:
        deadline = time.monotonic() + START_S
        while not server.is_ready():
            if process.poll() is not None or time.monotonic() > deadline:
                raise installation.NotDone(f"The database of {data_dir} does not start; {log.name} says why.")
            time.sleep(0.05)
        postgres.make_database(server)
        yield server.url()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
        log.close()
