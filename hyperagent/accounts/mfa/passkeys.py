"""Passkeys (WebAuthn): what a browser is asked, and whether what it answers is right. Each is kept on its device with
the person's name and opened there by a finger, a face or a PIN, so it stands for the password as well.

What a browser sends is a stranger's: whatever is wrong with it is one refusal.
"""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from allauth.core.context import request_context
from allauth.mfa.models import Authenticator
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import gettext as _

from hyperagent.accounts.mfa import factors
from hyperagent.accounts.mfa.forms import NAME_CHARS
from hyperagent.accounts.models import User
from hyperagent.lib.refusals import Refused
from hyperagent.lib.text import clean_text

MOST: Final = 20


class WrongPasskey(Refused):
    status = 403

    def __init__(self) -> None:
        super().__init__("wrong_passkey", _("This passkey opens no account here. Try another one, or another way."))


def ask_for_new(request: HttpRequest, user: User) -> dict[str, Any]:
    """What `navigator.credentials.create` is given, as JSON. Its challenge waits in the session."""
    with request_context(request):
        asked: dict[str, Any] = _auth().begin_registration(user, passwordless=True)
    return asked


def add(request: HttpRequest, user: User, *, name: str, answer: Any) -> list[str]:
    """Raises WrongPasskey. The recovery codes, if these are the first ones."""
    with _only_right(), request_context(request):
        _auth().parse_registration_response(answer)
        made = _auth().complete_registration(answer)
        if made.credential_data is None or not made.is_user_verified():
            raise WrongPasskey
    with transaction.atomic():
        User.objects.hold(user.pk)
        held = Authenticator.objects.filter(user=user, type=factors.Kind.WEBAUTHN).count()
        if held >= MOST:
            raise Refused("too_many", _("These are {count} passkeys already. Remove one first.").format(count=held))
        called = clean_text(name).strip()[:NAME_CHARS] or _("Passkey")
        row = _auth().WebAuthn.add(user, called, answer).instance
        row.data["sign_count"] = made.counter
        row.save(update_fields=["data"])
        return factors.added(user, factors.Kind.WEBAUTHN)


def ask(request: HttpRequest, user: User | None) -> dict[str, Any]:
    """What `navigator.credentials.get` is given. `user` None: for whoever the passkey says that it is."""
    with request_context(request):
        asked: dict[str, Any] = _auth().begin_authentication(user)
    return asked


def check(request: HttpRequest, user: User | None, answer: Any) -> User:
    """Whose passkey it is that answered. Raises WrongPasskey."""
    with _only_right(), request_context(request):
        given = _auth().parse_authentication_response(answer)
        found = user or _auth().extract_user_from_response(answer)
        if not isinstance(found, User):
            raise WrongPasskey
        row = _auth().complete_authentication(found, answer)
        counter = given.response.authenticator_data.counter
        if not given.response.authenticator_data.is_user_verified():
            raise WrongPasskey
    _count(row.pk, counter)
    return found


@transaction.atomic
def _count(row_id: int, counter: int) -> None:
    """Devices that count their signatures count up: a number that was there before is a copy's. Many do not count."""
    row = Authenticator.objects.select_for_update().filter(pk=row_id).first()
    if row is None or (counter and counter <= row.data.get("sign_count", 0)):
        raise WrongPasskey
    row.data["sign_count"] = counter
    row.save(update_fields=["data"])
    row.record_usage()


def _auth() -> Any:
    from allauth.mfa.webauthn.internal import auth  # fido2 and its lists: only who uses a passkey opens this door

    return auth


@contextmanager
def _only_right() -> Iterator[None]:
    """django-allauth and fido2 raise what they happen to raise at what is malformed."""
    from cryptography.exceptions import InvalidSignature  # behind the same door

    try:
        yield
    except (
        ValidationError,
        InvalidSignature,
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        AttributeError,
        struct.error,
    ):
        raise WrongPasskey from None
