"""Mailboxes of people's own, in the table as if they had connected them."""

from typing import Any

from pydantic import SecretStr

from agents.mail.credentials import Grant, Password, sealed
from agents.mail.models import MailAccount
from tests.mail.dovecot import PASSWORD, USER


def connected(user: Any, *, imap_port: int = 993, smtp_port: int = 465, **fields: Any) -> MailAccount:
    """By IMAP and SMTP, without TLS, on this machine. `password`: the right one, unless another is given."""
    password = fields.pop("password", PASSWORD)
    values = {
        "kind": "imap",
        "address": user.email,
        "imap_host": "127.0.0.1",
        "imap_port": imap_port,
        "imap_security": "plain",
        "smtp_host": "127.0.0.1",
        "smtp_port": smtp_port,
        "smtp_security": "plain",
        "user_name": USER,
        "sealed": sealed(Password(password=SecretStr(password))),
        "is_default": not MailAccount.objects.filter(user=user).exists(),
        **fields,
    }
    return MailAccount.objects.create(user=user, **values)


def at_google(user: Any, *, refresh_token: str, **fields: Any) -> MailAccount:
    """By Gmail's API; the access token has yet to be fetched."""
    grant = Grant(refresh_token=SecretStr(refresh_token))
    values = {
        "kind": "gmail",
        "address": "alice@gmail.example",
        "sealed": sealed(grant),
        "is_default": not MailAccount.objects.filter(user=user).exists(),
        **fields,
    }
    return MailAccount.objects.create(user=user, **values)
