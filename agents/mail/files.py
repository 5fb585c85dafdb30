"""Files that travel with mails, as values, and their names made safe. Pure."""

import re
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Final

from hyperagent.lib.clipping import one_line
from hyperagent.lib.file_names import fitted
from hyperagent.lib.text import clean_text

MOST_BYTES: Final = 20_000_000
"""Of all files of one mail: what most servers take once it is written for its way."""
_NOT_IN_NAMES: Final = re.compile(r"[/\\:*?\"<>|]+")


@dataclass(frozen=True, slots=True)
class AttachedFile:
    name: str
    media_type: str
    content: bytes = field(repr=False)

    @property
    def sha256(self) -> str:
        return sha256(self.content).hexdigest()


def safe_name(name: str, *, otherwise: str = "attachment") -> str:
    """A file's name that leads nowhere and begins with no dot; strangers chose it."""
    last = PurePosixPath(clean_text(name).replace("\\", "/")).name
    plain = "".join(char if char.isprintable() else " " for char in last)
    return fitted(one_line(_NOT_IN_NAMES.sub(" ", plain)).strip(". ")) or otherwise
