"""Google as this installation knows it: the client that an administrator registered there, and the addresses."""

from dataclasses import dataclass, field
from typing import Final

from django.conf import settings

# What we ask for: reading, and writing drafts and mails. Not deleting mails, nor settings.
SCOPES: Final = (
    "https://www.googleapis.com/auth/gmail.readonly",
    "https://www.googleapis.com/auth/gmail.compose",
)


@dataclass(frozen=True, slots=True)
class Google:
    client_id: str
    client_secret: str = field(repr=False)
    consent_url: str = "https://accounts.google.com/o/oauth2/v2/auth"
    token_url: str = "https://oauth2.googleapis.com/token"  # noqa: S105
    revoke_url: str = "https://oauth2.googleapis.com/revoke"
    api_url: str = "https://gmail.googleapis.com"


def google() -> Google | None:
    """None where no client is registered."""
    if not settings.GMAIL_CLIENT_ID:
        return None
    base = settings.GMAIL_BASE_URL
    if not base:
        return Google(settings.GMAIL_CLIENT_ID, settings.GMAIL_CLIENT_SECRET)
    return Google(
        settings.GMAIL_CLIENT_ID,
        settings.GMAIL_CLIENT_SECRET,
        consent_url=f"{base}/o/oauth2/v2/auth",
        token_url=f"{base}/token",
        revoke_url=f"{base}/revoke",
        api_url=base,
    )
