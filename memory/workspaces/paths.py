"""What a file of a workspace may be called. Pure. A path is a key and is shown; no path of the host is made of it."""

import mimetypes
import re
import unicodedata
from typing import Final

from django.utils.translation import gettext as _

from hyperagent.lib.languages import grouped
from hyperagent.lib.refusals import Refused

LIMIT: Final = 500
PART_BYTES: Final = 255
MOST_PARTS: Final = 20
# They turn the writing around, so that `exe.fdp` is read as a PDF, or show nothing at all. Joiners stay: emoji are made
# with them.
_HIDING: Final = re.compile("[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
# Control characters, lone surrogates, line and paragraph separators.
_UNSEEN: Final = ("Cc", "Cs", "Zl", "Zp")
_TYPES: Final = {
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".py": "text/x-python",
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".ts": "text/x-typescript",
    ".json": "application/json",
    ".jsonl": "application/x-ndjson",
    ".yaml": "text/yaml",
    ".yml": "text/yaml",
    ".toml": "text/x-toml",
    ".sql": "text/x-sql",
    ".sh": "text/x-shellscript",
    ".log": "text/plain",
    ".parquet": "application/vnd.apache.parquet",
    ".webp": "image/webp",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
}
# Python's own list only: what the machine's files say differs from one to the next.
_KNOWN: Final = mimetypes.MimeTypes()
_TYPE: Final = re.compile(r"[a-z]+/[a-z0-9][a-z0-9.+-]{0,80}")
UNKNOWN: Final = "application/octet-stream"


class BadPath(Refused):
    def __init__(self, why: str) -> None:
        super().__init__("bad_path", why, fields={"path": [why]})


def clean_path(path: str) -> str:
    """The path as it is stored: relative, of plain parts, NFC. Raises BadPath, which names what is wrong."""
    path = unicodedata.normalize("NFC", path)
    shown = _shown(path)
    if not path:
        raise BadPath(_("The path is empty. Give a name such as 'report.md' or 'data/sales.csv'."))
    if any(unicodedata.category(sign) in _UNSEEN for sign in path) or _HIDING.search(path):
        raise BadPath(_("The path '{path}' has characters that cannot be seen. Leave them out.").format(path=shown))
    if "\\" in path:
        raise BadPath(_("The path '{path}' has a backslash. Part folders by '/'.").format(path=shown))
    if path.startswith("/"):
        message = _(
            "The path '{path}' begins with '/'. Write it from the workspace on, such as 'data/sales.csv'."
        ).format(path=shown)
        raise BadPath(message)
    if len(path) > LIMIT:
        message = _("The path '{path}' has {count} characters; at most {limit} are allowed.").format(
            path=shown, count=grouped(len(path)), limit=LIMIT
        )
        raise BadPath(message)
    parts = path.split("/")
    if len(parts) > MOST_PARTS:
        message = _("The path '{path}' has {count} parts; at most {limit} are allowed.").format(
            path=shown, count=grouped(len(parts)), limit=MOST_PARTS
        )
        raise BadPath(message)
    for part in parts:
        _check(part, shown)
    return path


def _check(part: str, shown: str) -> None:
    if part in ("", ".", ".."):
        message = _("The path '{path}' has a part that is '{part}'. Write each folder's name once.").format(
            path=shown, part=part
        )
        raise BadPath(message)
    if part != part.strip():
        message = _("The path '{path}' has a part that begins or ends with a space. Leave it out.").format(path=shown)
        raise BadPath(message)
    if len(part.encode()) > PART_BYTES:
        message = _("The path '{path}' has a part longer than {limit} bytes. Shorten it.").format(
            path=shown, limit=PART_BYTES
        )
        raise BadPath(message)


def _shown(path: str) -> str:
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in path[:80]) + ("…" if len(path) > 80 else "")


def media_type_of(path: str, otherwise: str = "") -> str:
    """By the ending of its name; `otherwise`: what it is said to be, where the ending does not tell."""
    ending = path[path.rfind(".") :].lower() if "." in path.rsplit("/", 1)[-1] else ""
    said = otherwise if _TYPE.fullmatch(otherwise) else UNKNOWN
    return _TYPES.get(ending) or _KNOWN.types_map[True].get(ending, said)
