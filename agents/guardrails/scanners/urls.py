"""Addresses that are to be fetched: files of the machine, other schemes, private networks, passwords. Resolves no name:
what a name means is looked at by the door, at each connection.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote

from agents.guardrails.fields import is_fetched
from agents.guardrails.scanner import Certainty, Finding, Place, Scanner, Subject
from hyperagent.lib.outside.addresses import HAS_USER, ODD_NUMBER, BadAddress, InsideBadAddress, canonical

NAME: Final = "urls"
MAX_CHARS: Final = 4_000
HOST_CHARS: Final = 300
_SCHEME: Final = re.compile(r"([a-z][a-z0-9+.-]{0,24}):", re.IGNORECASE)
_WEB: Final = frozenset(("http", "https", "ws", "wss"))
_HARMFUL: Final = frozenset(
    (
        "file", "gopher", "dict", "ldap", "ldaps", "ldapi", "jar", "netdoc", "tftp", "sftp", "ftp", "ftps", "smb",
        "php", "phar", "expect", "zip", "compress.zlib", "glob", "rar", "ogg", "data", "javascript", "vbscript",
        "view-source", "chrome", "about", "blob", "filesystem", "ssh", "telnet", "rmi", "redis", "mysql", "postgres",
        "postgresql", "mongodb", "unix", "http+unix", "rtsp", "nfs", "imap", "imaps", "pop3", "smtp", "smtps", "git",
    )
)  # fmt: skip
_FILE: Final = ("file", "It would read a file of the machine: only http and https are fetched.", "")
_OTHER: Final = ("scheme", "It is no address of the web: only http and https are fetched.", "")
_INSIDE: Final = ("private_address", "It leads to this machine or into a private network.", "")
_NUMBER: Final = ("odd_address", "Its host is a number in an unusual form.", "")
_USER: Final = ("credentials", "It has a user name or a password in it.", "[credentials removed]")
Fault = tuple[str, str, str]
_PICTURE: Final = re.compile(r"data:image/(?:png|jpeg|gif|webp)[;,]", re.IGNORECASE)
"""Is not fetched: it brings its bytes along."""
_NUMERIC: Final = re.compile(r"[0-9.]{1,40}(?::|$)|\[|0x|localhost(?::|$)", re.IGNORECASE)
# What programs leave out when they read an address, and so may hide what it is.
_LEFT_OUT: Final = re.compile("[\x00-\x20\x7f\u00ad\u200b-\u200f\u2060\ufeff]")


def scan(text: str, subject: Subject) -> Sequence[Finding]:
    if not is_fetched(subject, text):
        return ()
    url = _LEFT_OUT.sub("", text[:MAX_CHARS])
    scheme = _SCHEME.match(url)
    name = scheme[1].lower() if scheme else ""
    if name not in _WEB and url[len(name) + 1 :][:1].isdigit():
        name = ""  # localhost:8000
    if name and name not in _WEB:
        harmful = name in _HARMFUL and not _PICTURE.match(url)
        fault = (_FILE if name == "file" else _OTHER) if harmful else None
    else:
        fault = _fault(url[len(name) + 1 :] if name else url, has_scheme=bool(name))
    if fault is None:
        return ()
    kind, why, replacement = fault
    return (Finding(NAME, kind, 0, min(len(text), MAX_CHARS), Certainty.CERTAIN, why, replacement),)


def _fault(rest: str, *, has_scheme: bool) -> Fault | None:
    """Of what follows the scheme. Each host that some program may take out of it is looked at."""
    folded = rest.replace("\\", "/")
    if not has_scheme and not folded.startswith("//") and not _begins_with_host(folded):
        return None
    strict = re.split(r"[/?#]", folded.lstrip("/"), maxsplit=1)[0]
    fault = _of_host(strict.rpartition("@")[2])
    if "@" not in folded or fault == _INSIDE:
        return fault
    # Some programs look behind the first @, some behind the last. A name there may be anybody's: medium.com/@name.
    others = (strict.partition("@")[0], re.split(r"[/?#]", folded.rpartition("@")[2], maxsplit=1)[0])
    if any(_NUMERIC.match(host) and _of_host(host) for host in others):
        return _INSIDE
    return _USER if "@" in strict else fault


def _begins_with_host(url: str) -> bool:
    """Without a scheme only what can be nothing else than a host of one's own: everything else may be a path."""
    host = re.split(r"[/?#]", url, maxsplit=1)[0]
    return host.partition(":")[0].lower() == "localhost" or bool(
        re.fullmatch(r"[0-9.]{7,15}(:\d+)?|\[.*\](:\d+)?", host)
    )


def _of_host(host: str) -> Fault | None:
    folded = unicodedata.normalize("NFKC", unquote(host[:HOST_CHARS])).replace("\u3002", ".")
    folded = _LEFT_OUT.sub("", folded.split("\x00")[0])
    if folded.startswith("["):
        folded = folded.split("%")[0].rstrip("]") + "]" if "%" in folded else folded
    try:
        canonical(f"http://{folded}", allow_private=False, any_port=True)
    except InsideBadAddress:
        return _INSIDE
    except BadAddress as fault:
        return {HAS_USER: _USER, ODD_NUMBER: _NUMBER}.get(str(fault))
    return None


SCANNER: Final = Scanner(NAME, frozenset({Place.TOOL}), scan, order=10)
