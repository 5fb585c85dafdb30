"""`manage.py backup`: the whole installation as one file, while it runs."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from hyperagent.backups import installation
from hyperagent.backups.archive import FILES, KEY


class Command(BaseCommand):
    help = "Writes database, stored files and the key that `up` made into one file. Guard it: everything is in it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", nargs="?", type=Path, help="default: hyperagent-<time>.tar in this folder")
        parser.add_argument("--check", action="store_true", help="only read FILE and say whether it is whole")

    def handle(self, *args: Any, **options: Any) -> None:
        path = options["file"] or Path(f"hyperagent-{datetime.now(UTC):%Y%m%d-%H%M%S}.tar")
        try:
            found = installation.look(path) if options["check"] else installation.take(path)
        except installation.NotDone as refusal:
            sys.exit(str(refusal))
        files = sum(name.startswith(FILES) for name in found.parts)
        key = "and the key" if KEY in found.parts else "without a key: keep SECRET_KEY"
        size = f"{path.stat().st_size / 1e6:,.1f} MB"
        self.stdout.write(f"{path}: whole, of {found.made_at}, {size}: the database, {files:,} files, {key}.")
