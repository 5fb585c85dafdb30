"""The mailbox over IMAP: finding folders, searching, fetching, putting mails there. Blocking; for a thread.

One connection for each piece of work. What a server says is untrusted: it goes to the log, people get our own words.
"""

import binascii
import imaplib
import re
import ssl
from base64 import b64decode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import structlog

from agents.mail.kinds import AccountState
from agents.mail.lines import Imap
from agents.mail.queries import Term, search_line
from agents.mail.troubles import INSIDE, MailTrouble, clipped
from agents.tools.tool import ToolError
from agents.tools.values import Folder
from hyperagent.lib.mail_servers import MailServer, Security
from hyperagent.lib.outside.sockets import InsideServer

log = structlog.get_logger(__name__)

TIMEOUT_S: Final = 25
# Of the whole connection: below the time that a tool call may take.
LIFE_S: Final = 55
# Of one that puts a mail there, which may be large, over a slow line.
PUTTING_LIFE_S: Final = 150
# Enough of a mail for its head and its first words.
HEAD_BYTES: Final = 24_000
# More of a mail than this is not read.
MAIL_BYTES: Final = 30_000_000
# Of a large folder: an answer is one line, and the library reads none above a million bytes.
SEARCHED_AT_ONCE: Final = 50_000
# Of each mail of a thread.
THREAD_MAIL_BYTES: Final = 400_000
INBOX: Final = "INBOX"
SPECIAL_USE: Final = {"sent": rb"\sent", "drafts": rb"\drafts"}
# For servers that do not say which is which; compared without the names of folders above, in small letters.
USUAL_NAMES: Final = {
    "sent": (
        "sent", "sent items", "sent messages", "sent mail", "gesendet", "gesendete objekte", "gesendete elemente",
        "envoyés", "éléments envoyés", "messages envoyés", "enviados", "elementos enviados", "itens enviados",
        "posta inviata", "inviata", "inviati", "verzonden", "verzonden items", "skickat", "wysłane", "отправленные",
        "已发送", "已傳送", "送信済み",
    ),
    "drafts": (
        "drafts", "draft", "entwürfe", "brouillons", "borradores", "rascunhos", "bozze", "concepten", "utkast",
        "kopie robocze", "szkice", "черновики", "草稿", "草稿箱", "下書き",
    ),
}  # fmt: skip
NOT_SAID: Final = "The connection to the mailbox broke while it took the mail. Try again later."
NEW_NAMES: Final = {"sent": "Sent", "drafts": "Drafts"}
_LISTED: Final = re.compile(rb'^\((?P<flags>[^)]*)\) (?P<separator>"\\?.?"|NIL) (?P<name>.+)$', re.IGNORECASE)
_FETCHED: Final = re.compile(rb"\bUID (\d+)")
_SIZE: Final = re.compile(rb"\bRFC822\.SIZE (\d+)")
_DATE: Final = re.compile(rb'\bINTERNALDATE "([^"]+)"')
_OWN_PREFIX: Final = re.compile(rb'^\(\("([^"\\]*)"')
_SHIFTED: Final = re.compile(r"&([A-Za-z0-9+,]*)-")
_APPENDED: Final = re.compile(rb"^\d+ (\d+)$")


@dataclass(frozen=True, slots=True)
class Found:
    """A mail as the server gave it. `raw` may be its beginning only; `size` is that of the whole, in bytes."""

    uid: int
    raw: bytes
    size: int
    arrived: datetime | None


class Connection:
    """A signed-in connection. `folder` names are ours; the server's own are found once."""

    def __init__(self, imap: imaplib.IMAP4, server: MailServer) -> None:
        self._imap = imap
        self._server = server
        # Some servers say all that they can do only to those who signed in.
        self._abilities = b" ".join(self._do("begin", imap.capability)).upper().split()
        self._names: dict[str, str] = {"inbox": INBOX}
        self.uid_validity = 0
        self._held = 0

    def open(self, folder: Folder, *, make: bool = False) -> None:
        """For reading: nothing is marked as seen. `make`: a folder that is not there is made."""
        self._select(folder, make=make, read_only=True)

    def _select(self, folder: Folder, *, make: bool = False, read_only: bool) -> None:
        held = self._do("open the folder", self._imap.select, _quoted(self._name_of(folder, make=make)), read_only)
        self._held = int(held[-1]) if held and held[-1] else 0
        _, answer = self._imap.response("UIDVALIDITY")
        self.uid_validity = int(answer[0]) if answer and answer[0] else 0

    def search(self, terms: Sequence[Term], *, limit: int) -> list[int]:
        """The uids of the newest `limit` mails of the open folder that fit, newest first."""
        found: set[int] = set()
        for within in self._within():
            line = search_line([*within, *terms], literals=b"LITERAL+" in self._abilities)
            given = self._do("search", self._imap.uid, "SEARCH", line)
            found |= {int(word) for part in given for word in (part or b"").split() if word.isdigit()}
            if len(found) >= limit:
                break
        return sorted(found, reverse=True)[:limit]

    def heads(self, uids: Sequence[int]) -> list[Found]:
        """The beginnings of these mails, in this order; those that are gone by now are left out."""
        return self._fetched(uids, HEAD_BYTES)

    def whole(self, uid: int) -> Found | None:
        """As much of a mail as is ever read; None if it is gone."""
        return next(iter(self._fetched([uid], MAIL_BYTES)), None)

    def wholes(self, uids: Sequence[int]) -> list[Found]:
        """As much of each as is needed to know what it says; those that are gone by now are left out."""
        return self._fetched(uids, THREAD_MAIL_BYTES)

    def naming(self, message_id: str, *, limit: int) -> list[int]:
        """The newest mails of the open folder that have this Message-ID or answer the one that has it."""
        names = ("Message-ID", "References", "In-Reply-To")
        own, *others = [("HEADER", name, message_id) for name in names]
        return self.search([("OR", *own, "OR", *others[0], *others[1])], limit=limit)

    def remove(self, folder: Folder, uid: int, *, uid_validity: int) -> None:
        """That mail alone: where the server cannot tell it from others that are marked, it stays marked. Raises
        ToolError where the folder was made anew: its numbers are other mails' then."""
        self._select(folder, read_only=False)
        if self.uid_validity != uid_validity:
            raise ToolError(f"The folder for {folder} is another one by now: nothing was removed from it.")
        self._do("remove a mail", self._imap.uid, "STORE", str(uid), "+FLAGS", r"(\Deleted)")
        if b"UIDPLUS" in self._abilities:
            self._do("remove a mail", self._imap.uid, "EXPUNGE", str(uid))

    def holds(self, message_id: str) -> list[int]:
        """The uids of mails with this Message-ID in the open folder."""
        return self.search([("HEADER", "Message-ID", message_id)], limit=10)

    def put(self, folder: Folder, message: bytes, flags: str) -> str:
        """Adds a mail to a folder; its id there, or "" where the server does not tell. ToolError says whether it may be
        there all the same."""
        now = imaplib.Time2Internaldate(datetime.now(UTC))
        name = self._name_of(folder, make=True)
        try:
            self._do("keep a mail", self._imap.append, _quoted(name), flags, now, message)
        except (imaplib.IMAP4.abort, OSError) as error:
            log.warning("mail.imap_no_answer", server=self._server.shown, error=clipped(error))
            raise MailTrouble(NOT_SAID, may_have_happened=True) from error
        _, answer = self._imap.response("APPENDUID")
        match = _APPENDED.match(answer[0]) if answer and answer[0] else None
        if match is None:
            return ""
        validity = answer[0].split()[0].decode()
        return shown_id(folder, int(validity), int(match[1]))

    # --- inside

    def _within(self) -> Iterator[list[Term]]:
        """The mails of the open folder in parts, the newest first; what came since it was opened is among those."""
        first = max(1, self._held - SEARCHED_AT_ONCE + 1)
        yield [(f"{first}:*",)] if first > 1 else []
        while first > 1:
            last, first = first - 1, max(1, first - SEARCHED_AT_ONCE)
            yield [(f"{first}:{last}",)]

    def _fetched(self, uids: Sequence[int], at_most: int) -> list[Found]:
        if not uids:
            return []
        numbers = ",".join(map(str, uids))
        items = f"(UID RFC822.SIZE INTERNALDATE BODY.PEEK[]<0.{at_most}>)"
        given = self._do("read", self._imap.uid, "FETCH", numbers, items)
        found = {mail.uid: mail for mail in _mails(given)}
        return [found[uid] for uid in uids if uid in found]

    def _name_of(self, folder: Folder, *, make: bool = False) -> str:
        if folder not in self._names:
            listed = [entry for entry in map(_entry, self._do("list folders", self._imap.list)) if entry]
            name = _special(listed, folder)
            if name is None and not make:
                raise ToolError(f"The mailbox has no folder for {folder} yet: there is nothing in it.")
            self._names[folder] = name if name is not None else self._made(folder)
        return self._names[folder]

    def _made(self, folder: Folder) -> str:
        """A new folder. Some servers keep all folders of a user below INBOX, and say so."""
        said = self._do("begin", self._imap.namespace)[-1] if b"NAMESPACE" in self._abilities else b""
        prefix = _OWN_PREFIX.match(said or b"")
        name = (prefix[1].decode("ascii", "ignore") if prefix else "") + NEW_NAMES[folder]
        self._do("make a folder", self._imap.create, _quoted(name))
        return name

    def _do(self, what: str, call: Any, *arguments: Any) -> list[Any]:
        """Raises ToolError where the server says no."""
        status, answer = call(*arguments)
        if status != "OK":
            log.warning("mail.imap_refused", server=self._server.shown, what=what, said=clipped(answer))
            raise ToolError(f"The mailbox did not let me {what}. Try it in other words, or look into it yourself.")
        return list(answer)


@contextmanager
def connected(server: MailServer, *, timeout_s: float = TIMEOUT_S, life_s: float = LIFE_S) -> Iterator[Connection]:
    """Raises ToolError for whatever goes wrong with the connection, at any time."""
    imap: imaplib.IMAP4 | None = None
    try:
        imap = _connect(server, timeout_s, life_s)
        _sign_in(imap, server)
        yield Connection(imap, server)
    except (imaplib.IMAP4.error, OSError, UnicodeError) as error:
        raise _trouble(error, server, timeout_s) from error
    finally:
        if imap is not None:
            with suppress(imaplib.IMAP4.error, OSError):
                imap.logout()


def shown_id(folder: str, uid_validity: int, uid: int) -> str:
    return f"{folder}.{uid_validity}.{uid}"


class _SignInRefused(OSError):
    """The server does not know this user with this password."""


class _BusyNow(OSError):
    """The server could not look the password up just now."""


class _NoTls(OSError):
    """The server speaks plainly only, and TLS was asked for."""


def _connect(server: MailServer, timeout_s: float, life_s: float) -> imaplib.IMAP4:
    context = ssl.create_default_context()
    within = context if server.security is Security.SSL else None
    imap = Imap(server, timeout_s=timeout_s, life_s=life_s, context=within)
    if server.security is Security.TLS:
        try:
            imap.starttls(context)
        except imaplib.IMAP4.abort:
            raise
        except imaplib.IMAP4.error as error:
            with suppress(OSError):
                imap.shutdown()
            raise _NoTls from error
    return imap


def _sign_in(imap: imaplib.IMAP4, server: MailServer) -> None:
    try:
        if "AUTH=PLAIN" in imap.capabilities:
            # LOGIN knows ASCII only.
            imap.authenticate("PLAIN", lambda _: f"\0{server.user}\0{server.password}".encode())
        else:
            imap.login(server.user, server.password)
    except imaplib.IMAP4.abort:
        raise
    except imaplib.IMAP4.error as error:
        # RFC 5530: what a server says when its own part is at fault.
        busy = any(code in str(error).upper() for code in ("[UNAVAILABLE]", "[INUSE]", "[LIMIT]", "[SERVERBUG]"))
        raise (_BusyNow if busy else _SignInRefused) from error


def _trouble(error: Exception, server: MailServer, timeout_s: float) -> MailTrouble:
    log.warning("mail.imap_trouble", server=server.shown, error=f"{type(error).__name__} {clipped(error)}")
    mend, state = server.way_out, AccountState.TROUBLE
    match error:
        case _SignInRefused():
            why, state = f"did not accept user and password. {mend}", AccountState.RECONNECT
        case _BusyNow():
            why = "could not sign us in just now. Try again later."
        case _NoTls():
            why, state = f"offers no TLS. {mend}", AccountState.RECONNECT
        case ssl.SSLError():
            why = f"has no valid certificate, or speaks no TLS here. {mend}"
        case InsideServer():
            why, state = INSIDE, AccountState.RECONNECT
        case TimeoutError():
            why = f"gave no answer for {timeout_s:g} s. Try again later."
        case OSError() | imaplib.IMAP4.abort():
            why = f"cannot be reached, or hung up. Try again later. If it stays so: {mend}"
        case _:
            why = "gave an answer that makes no sense, or one too long. Search for less."
    return MailTrouble(f"The mailbox at {server.shown} {why}", state=state)


@dataclass(frozen=True, slots=True)
class _Entry:
    flags: tuple[bytes, ...]
    separator: str
    name: str


def _entry(line: Any) -> _Entry | None:
    """A folder of a LIST answer. Names stay as the server writes them (modified UTF-7); they are only given back."""
    head, literal = line if isinstance(line, tuple) else (line, None)
    match = _LISTED.match(head or b"")
    if match is None:
        return None
    name = literal if literal is not None else match["name"]
    if literal is None and name.startswith(b'"'):
        name = re.sub(rb"\\(.)", rb"\1", name.strip()[1:-1])
    separator = match["separator"].strip(b'"').replace(b"\\\\", b"\\")
    return _Entry(
        flags=tuple(flag.lower() for flag in match["flags"].split()),
        separator="" if separator.upper() == b"NIL" else separator.decode("ascii", "replace"),
        name=name.decode("utf-8", "surrogateescape"),
    )


def _special(listed: Sequence[_Entry], folder: Folder) -> str | None:
    """The server's own word first, then the usual names, in their order."""
    choosable = [entry for entry in listed if rb"\noselect" not in entry.flags]
    for entry in choosable:
        if SPECIAL_USE[folder] in entry.flags:
            return entry.name
    for usual in USUAL_NAMES[folder]:
        for entry in choosable:
            last = entry.name.rsplit(entry.separator, 1)[-1] if entry.separator else entry.name
            if in_letters(last).lower() == usual:
                return entry.name
    return None


def in_letters(name: str) -> str:
    """A folder's name as people read it; on the way it is in a UTF-7 of IMAP's own (RFC 3501, 5.1.3)."""

    def decoded(match: re.Match[str]) -> str:
        text = match[1].replace(",", "/")
        try:
            return b64decode(text + "=" * (-len(text) % 4)).decode("utf-16-be") if text else "&"
        except (binascii.Error, ValueError):
            return match[0]

    return _SHIFTED.sub(decoded, name)


def _quoted(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _mails(given: Sequence[Any]) -> Iterator[Found]:
    """What a FETCH gave: a pair of head and text for each mail, the rest of the head behind it in some servers."""
    for number, part in enumerate(given):
        if not isinstance(part, tuple):
            continue
        rest = given[number + 1] if number + 1 < len(given) and isinstance(given[number + 1], bytes) else b""
        head = part[0] + b" " + rest
        uid, size = _FETCHED.search(head), _SIZE.search(head)
        if uid is not None:
            yield Found(int(uid[1]), part[1], int(size[1]) if size else len(part[1]), _arrived(head))


def _arrived(head: bytes) -> datetime | None:
    match = _DATE.search(head)
    try:
        return datetime.strptime(match[1].decode().strip(), "%d-%b-%Y %H:%M:%S %z") if match else None
    except ValueError:
        return None
