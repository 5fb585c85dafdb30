"""The addresses of mail servers, SMTP_URL and IMAP_URL, as values. Pure: connects to nothing."""

import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

SMTP_FORM: Final = "smtp://, smtp+tls:// or smtp+ssl://user:password@host:port, and ?from=address if the user is none"
IMAP_FORM: Final = "imap://, imap+tls:// or imaps://user:password@host:port"
_ADDRESS: Final = re.compile(r"^[^\s@<>,;:\"]+@[^\s@<>,;:\"]+$")


class Security(StrEnum):
    """`plain` sends passwords in the clear: only for servers on this machine. `tls`: STARTTLS on a plain port."""

    PLAIN = "plain"
    TLS = "tls"
    SSL = "ssl"


_SCHEMES: Final[dict[str, tuple[Security, int]]] = {
    "smtp": (Security.PLAIN, 25),
    "smtp+tls": (Security.TLS, 587),
    "smtp+ssl": (Security.SSL, 465),
    "imap": (Security.PLAIN, 143),
    "imap+tls": (Security.TLS, 143),
    "imaps": (Security.SSL, 993),
}


@dataclass(frozen=True, slots=True)
class MailServer:
    """`sender`: the address that mails come from, and the name before it; only of an SMTP server. `setting`: which of
    the installation's settings says all this; empty for a server that a person named, which is reached with care.
    """

    host: str
    port: int
    security: Security
    user: str
    password: str = field(repr=False)
    sender: str = ""
    sender_name: str = ""
    setting: str = ""

    @property
    def shown(self) -> str:
        """For people: without the password."""
        return f"{self.host}:{self.port}"

    @property
    def way_out(self) -> str:
        """What a person can do where the server does not let us in."""
        if self.setting:
            return f"An administrator has to correct {self.setting}."
        return "Connect the mailbox again at /mail/."


def smtp_server(url: str) -> MailServer:
    """Raises ValueError for what is no SMTP_URL."""
    server, query = _server(url, "smtp")
    sender = query.get("from", [server.user])[-1]
    if not _ADDRESS.match(sender):
        raise ValueError("no address that mails come from")
    return replace(server, sender=sender, setting="SMTP_URL")


def imap_server(url: str) -> MailServer:
    """Raises ValueError for what is no IMAP_URL."""
    server, _ = _server(url, "imap")
    if not server.user:
        raise ValueError("no user")
    return replace(server, setting="IMAP_URL")


def _server(url: str, protocol: str) -> tuple[MailServer, dict[str, list[str]]]:
    parts = urlsplit(url)
    if not parts.scheme.startswith(protocol) or parts.scheme not in _SCHEMES:
        raise ValueError("not a mail server's address")
    if not parts.hostname or parts.path.strip("/") or parts.fragment:
        raise ValueError("no host, or more than a host")
    security, port = _SCHEMES[parts.scheme]
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if bool(user) != bool(password) or not (user + password).isprintable():
        raise ValueError("user and password belong together")
    # `port` raises ValueError by itself for one that is none.
    return MailServer(parts.hostname, parts.port or port, security, user, password), parse_qs(parts.query)
