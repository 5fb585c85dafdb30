"""What django-allauth's second factors ask of the house: how secrets are stored, and what we are called."""

from typing import Any, Final

from allauth.mfa.adapter import DefaultMFAAdapter

from hyperagent.lib.secrets import Purpose, seal, unseal

OUR_NAME: Final = "HyperAgent"


class Adapter(DefaultMFAAdapter):  # type: ignore[misc]
    def encrypt(self, text: str) -> str:
        return seal(text, Purpose.SECOND_FACTOR)

    def decrypt(self, encrypted_text: str) -> str:
        """Raises `hyperagent.lib.secrets.Unreadable`."""
        return unseal(encrypted_text, Purpose.SECOND_FACTOR)

    def get_totp_issuer(self) -> str:
        return OUR_NAME

    def _get_site_name(self) -> str:
        return OUR_NAME

    def send_notification_mail(self, *args: Any, **kwargs: Any) -> None:
        """By `factors`, in the person's language."""
