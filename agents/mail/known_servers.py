"""Where the usual mail providers have their servers, by the end of the address, and what their people have to know.

A table and nothing else: no provider is asked. Who is not in it gets the names that most have, to be corrected.
"""

from dataclasses import dataclass
from typing import Final

from hyperagent.lib.mail_servers import Security

WANTS_ITS_OWN: Final = "This provider wants an app password here, not the one that you sign in with."


@dataclass(frozen=True, slots=True)
class Servers:
    """`hint`: what people of this provider have to do first; `is_sure`: false for a guess by the address."""

    imap_host: str
    imap_port: int
    imap_security: Security
    smtp_host: str
    smtp_port: int
    smtp_security: Security
    hint: str = ""
    is_sure: bool = True


def _usual(imap: str, smtp: str, hint: str = "", *, submission: bool = False) -> Servers:
    """TLS from the first byte on; `submission`: mails are handed over on port 587, with STARTTLS."""
    port, security = (587, Security.TLS) if submission else (465, Security.SSL)
    return Servers(imap, 993, Security.SSL, smtp, port, security, hint)


_GMAIL: Final = _usual(
    "imap.gmail.com",
    "smtp.gmail.com",
    "Gmail wants an app password here (myaccount.google.com/apppasswords; two-step verification has to be on).",
)
_OUTLOOK: Final = _usual(
    "outlook.office365.com",
    "smtp.office365.com",
    "Microsoft lets programs in by password only where an administrator allows it; personal accounts need an app "
    "password, and may be refused all the same.",
    submission=True,
)
_APPLE: Final = _usual("imap.mail.me.com", "smtp.mail.me.com", WANTS_ITS_OWN, submission=True)
_YAHOO: Final = _usual("imap.mail.yahoo.com", "smtp.mail.yahoo.com", WANTS_ITS_OWN)
_AOL: Final = _usual("imap.aol.com", "smtp.aol.com", WANTS_ITS_OWN)
_GMX: Final = _usual("imap.gmx.net", "mail.gmx.net", "Allow IMAP in the settings of GMX first.", submission=True)
_WEB_DE: Final = _usual("imap.web.de", "smtp.web.de", "Allow IMAP in the settings of WEB.DE first.", submission=True)
_FASTMAIL: Final = _usual("imap.fastmail.com", "smtp.fastmail.com", WANTS_ITS_OWN)
_ZOHO: Final = _usual("imap.zoho.com", "smtp.zoho.com", WANTS_ITS_OWN)
_YANDEX: Final = _usual("imap.yandex.com", "smtp.yandex.com", WANTS_ITS_OWN)
_POSTEO: Final = _usual("posteo.de", "posteo.de")
_MAILBOX_ORG: Final = _usual("imap.mailbox.org", "smtp.mailbox.org")
_T_ONLINE: Final = _usual("secureimap.t-online.de", "securesmtp.t-online.de", WANTS_ITS_OWN)
_ORANGE: Final = _usual("imap.orange.fr", "smtp.orange.fr")
_MAILRU: Final = _usual("imap.mail.ru", "smtp.mail.ru", WANTS_ITS_OWN)

_BY_DOMAIN: Final[dict[str, Servers]] = {
    **dict.fromkeys(("gmail.com", "googlemail.com"), _GMAIL),
    **dict.fromkeys(
        ("outlook.com", "hotmail.com", "live.com", "msn.com", "outlook.de", "hotmail.de", "hotmail.fr", "live.de"),
        _OUTLOOK,
    ),
    **dict.fromkeys(("icloud.com", "me.com", "mac.com"), _APPLE),
    **dict.fromkeys(("yahoo.com", "yahoo.de", "yahoo.fr", "yahoo.co.uk", "ymail.com"), _YAHOO),
    "aol.com": _AOL,
    **dict.fromkeys(("gmx.de", "gmx.net", "gmx.at", "gmx.ch", "gmx.com"), _GMX),
    "web.de": _WEB_DE,
    **dict.fromkeys(("fastmail.com", "fastmail.fm"), _FASTMAIL),
    **dict.fromkeys(("zoho.com", "zohomail.com"), _ZOHO),
    **dict.fromkeys(("yandex.com", "yandex.ru"), _YANDEX),
    **dict.fromkeys(("posteo.de", "posteo.net"), _POSTEO),
    "mailbox.org": _MAILBOX_ORG,
    **dict.fromkeys(("t-online.de", "magenta.de"), _T_ONLINE),
    **dict.fromkeys(("orange.fr", "wanadoo.fr"), _ORANGE),
    **dict.fromkeys(("mail.ru", "inbox.ru", "list.ru", "bk.ru"), _MAILRU),
}


def servers_of(address: str) -> Servers:
    """By what stands behind the @: known, or the names that most have."""
    domain = address.rpartition("@")[2].strip().lower().rstrip(".")
    known = _BY_DOMAIN.get(domain)
    if known is not None:
        return known
    return Servers(f"imap.{domain}", 993, Security.SSL, f"smtp.{domain}", 465, Security.SSL, is_sure=False)
