"""Paths that climb out of where they begin, and files in which machines and people keep their secrets."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote

from agents.guardrails.fields import is_opened
from agents.guardrails.scanner import Certainty, Finding, Place, Scanner, Subject

NAME: Final = "paths"
MAX_CHARS: Final = 4_000
SECRET_FILE: Final = re.compile(
    r"(?:^|[\s\"'=:(,`@<>|])(?:/private)?(?:"
    r"/etc/(?:g?shadow-?|sudoers(?:\.d)?|master\.passwd|krb5\.keytab|ssl/private/|ssh/ssh_host_\w{1,20}_key(?!\.pub))"
    r"|/proc/(?:self|\d{1,9}|thread-self)/(?:environ|mem)\b"
    r"|/dev/(?:k?mem|port)\b"
    r"|/var/run/(?:docker\.sock|secrets/)|/run/(?:docker\.sock|secrets/)"
    r"|/root/\.(?:ssh|aws|gnupg|kube|config/gcloud|bash_history|netrc|docker|pgpass)\b"
    r"|(?:~\w{0,32}|\$\{?HOME\}?|/home/[\w.-]{1,64}|/Users/[\w.-]{1,64})/\.(?:"
    r"ssh(?:/(?:id_\w{1,20}|identity|authorized_keys\w?|\*|[\w.-]{1,40}\.pem))?(?![\w./-])"
    r"|aws/credentials|gnupg\b|kube/config|config/gcloud|netrc\b|git-credentials|docker/config\.json|pgpass\b"
    r"|bash_history|zsh_history|npmrc\b|pypirc\b)"
    r")",
    re.IGNORECASE,
)
"""As it stands in a path, a command or a program; public keys and lists of hosts are no secrets."""
_ACCOUNTS: Final = re.compile(r"(?:/private)?/etc/(?:passwd|group|master\.passwd)-?", re.IGNORECASE)
_WINDOWS: Final = re.compile(r"[a-z]:/(?:windows/(?:system32|win\.ini|system\.ini|repair)|boot\.ini)", re.IGNORECASE)
_LEFT_OUT: Final = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")

_CLIMBS: Final = ("traversal", "This path leads out of the folder that it begins in.")
_SECRET: Final = ("secret_file", "This is a file in which a machine or a person keeps secrets.")


def scan(text: str, subject: Subject) -> Sequence[Finding]:
    if not is_opened(subject, text):
        return ()
    path = plain(text[:MAX_CHARS])
    fault = _fault(path)
    if fault is None:
        return ()
    kind, why = fault
    return (Finding(NAME, kind, 0, min(len(text), MAX_CHARS), Certainty.CERTAIN, why),)


def plain(path: str) -> str:
    """As a careless program reads it: percent signs decoded twice, wide characters narrow, and without
    what cannot be seen."""
    for _ in range(2):
        path = unquote(path)
    path = _LEFT_OUT.sub("", unicodedata.normalize("NFKC", path)).replace("\\", "/")
    # A slash in too many bytes is one to some.
    return path.replace("\ufffd\ufffd", "/").replace("\x00", "").strip().removeprefix("file://").strip("'\"")


def _fault(path: str) -> tuple[str, str] | None:
    full = _resolved(path)
    if SECRET_FILE.search(full) or _ACCOUNTS.fullmatch(full) or _WINDOWS.match(full):
        return _SECRET
    return _CLIMBS if climbs(path) else None


def climbs(path: str) -> bool:
    """Whether it leaves the folder that it begins in, be that the root. `....//` is what is left of it for those who
    take out `../` once; `..;/` is the same for some servers."""
    depth = 0
    for part in path.removeprefix("~").split("/"):
        name = part.strip().split(";")[0]
        if name in ("..", "...."):
            depth -= 1
        elif name not in ("", ".", "%"):
            depth += 1
        if depth < 0:
            return True
    return False


def _resolved(path: str) -> str:
    """The same path without detours."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return ("/" if path.startswith("/") or climbs(path) else "") + "/".join(parts)


SCANNER: Final = Scanner(NAME, frozenset({Place.TOOL}), scan, order=20)
