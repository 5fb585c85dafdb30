"""The verbs of second factors: to set one up, to use its code, to remove it. Passkeys are made in `passkeys`.

Codes of an app are counted in the row of the factor, so that none opens twice, whatever became of the cache.
"""

import time
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from allauth.core.internal.cryptokit import compare_user_code
from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, generate_totp_secret, hotp_value
from django.db import transaction
from django.utils.translation import gettext as _

from hyperagent.accounts import attempts, letters
from hyperagent.accounts.attempts import Try
from hyperagent.accounts.letter_models import LetterKind
from hyperagent.accounts.limits import Door
from hyperagent.accounts.models import User
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import Target, actor_of, record
from hyperagent.lib.refusals import Conflict, Refused
from hyperagent.lib.secrets import Unreadable

Kind = Authenticator.Type
STEP_S: Final = 30
# Clocks of phones are a little off, and people type slowly.
STEPS_ASIDE: Final = 1


class WrongCode(Refused):
    status = 403

    def __init__(self) -> None:
        super().__init__("wrong_code", _("This code is not right, or was used before. Type the one that is shown now."))


class OnlyWayIn(Conflict):
    def __init__(self) -> None:
        super().__init__("last_way_in", _("This is your only way in. Have a password mailed to you first."))


@dataclass(frozen=True, slots=True)
class Factor:
    """As it is shown. `name`: of a passkey, given by its owner."""

    id: int
    kind: str
    name: str
    since: datetime
    used_at: datetime | None


def factors_of(user: User) -> list[Factor]:
    """Without the recovery codes, which are no factor of their own. One query."""
    rows = Authenticator.objects.filter(user=user).exclude(type=Kind.RECOVERY_CODES).order_by("created_at")
    return [Factor(row.pk, row.type, row.data.get("name", ""), row.created_at, row.last_used_at) for row in rows]


def has_factor(user: User) -> bool:
    return bool(Authenticator.objects.filter(user=user).exclude(type=Kind.RECOVERY_CODES).exists())


def opens_alone(user: User) -> bool:
    """Whether one of their factors opens the account with nothing else, as a passkey does: the digits of an app are
    asked for after a password only."""
    return bool(Authenticator.objects.filter(user=user, type=Kind.WEBAUTHN).exists())


def recovery_codes_left(user: User) -> int | None:
    """None where there never were any."""
    row = Authenticator.objects.filter(user=user, type=Kind.RECOVERY_CODES).first()
    return len(RecoveryCodes(row).get_unused_codes()) if row else None


# ── codes of an app ──


def new_secret() -> str:
    """Of an app that is being set up, sealed: it waits in the session until the first code was right."""
    sealed: str = get_adapter().encrypt(generate_totp_secret())
    return sealed


def setting_up(user: User, sealed: str) -> tuple[str, str]:
    """The secret in groups of four, to be typed, and as a picture (SVG). Raises Unreadable."""
    adapter = get_adapter()
    secret = adapter.decrypt(sealed)
    picture = adapter.build_totp_svg(adapter.build_totp_url(user, secret))
    return " ".join(secret[at : at + 4] for at in range(0, len(secret), 4)), picture


def add_app(user: User, sealed: str, code: str, *, address: str | None) -> list[str]:
    """Raises WrongCode, Conflict, TooManyTries. The recovery codes, if these are the first ones."""
    tried = _try(user, address)
    secret = get_adapter().decrypt(sealed)
    step = step_of(secret, code, after=-1, now_s=time.time())
    if step is None:
        raise WrongCode
    attempts.succeeded(tried)
    with transaction.atomic():
        User.objects.hold(user.pk)
        if Authenticator.objects.filter(user=user, type=Kind.TOTP).exists():
            raise Conflict("has_app", _("An app is set up already. Remove it first."))
        row = TOTP.activate(user, secret).instance
        row.data["last_step"] = step
        row.save(update_fields=["data"])
        return added(user, Kind.TOTP)


def step_of(secret: str, code: str, *, after: int, now_s: float) -> int | None:
    """The step of 30 s that this code is of, later than `after`; None if it is of none that counts now. Pure."""
    here = int(now_s) // STEP_S
    for step in range(here - STEPS_ASIDE, here + STEPS_ASIDE + 1):
        if step > after and compare_user_code(actual=code, expected=format_hotp_value(hotp_value(secret, step))):
            return step
    return None


# ── using and removing ──


def use_code(user: User, code: str, *, address: str | None) -> str:
    """The kind of factor that this code is of: an app's, or a recovery code, which is spent by it.

    Raises WrongCode, TooManyTries.
    """
    tried = _try(user, address)
    with transaction.atomic():
        kind = _used(user, code)
    if kind is None:
        failed(user, "wrong_code")
        raise WrongCode
    attempts.succeeded(tried)
    return kind


def failed(user: User | None, why: str) -> None:
    """Into the audit. `user`: whose account it was, where that is known."""
    target = Target("user", str(user.pk), user.email) if user else None
    record(AuditKind.SIGN_IN_FAILED, actor=None, target=target, details={"by": "second_factor", "why": why})


def _used(user: User, code: str) -> str | None:
    rows = Authenticator.objects.select_for_update().filter(user=user, type__in=(Kind.TOTP, Kind.RECOVERY_CODES))
    for row in sorted(rows, key=lambda row: row.type != Kind.TOTP):
        try:
            is_right = _is_apps(row, code) if row.type == Kind.TOTP else RecoveryCodes(row).validate_code(code)
        except Unreadable:
            # Sealed with a key that is gone: only an administrator helps, and the other factors may still open.
            continue
        if is_right:
            Authenticator.objects.get(pk=row.pk).record_usage()
            return str(row.type)
    return None


def _is_apps(row: Authenticator, code: str) -> bool:
    """Of two tries with one code the second is refused: the row is held."""
    secret = get_adapter().decrypt(row.data["secret"])
    step = step_of(secret, code, after=row.data.get("last_step", -1), now_s=time.time())
    if step is None:
        return False
    row.data["last_step"] = step
    row.save(update_fields=["data"])
    return True


def remove(user: User, factor_id: int) -> bool:
    """False if the user has no such factor. With the last one the recovery codes go. Raises OnlyWayIn."""
    with transaction.atomic():
        User.objects.hold(user.pk)
        row = Authenticator.objects.filter(user=user, pk=factor_id).exclude(type=Kind.RECOVERY_CODES).first()
        if row is None:
            return False
        row.delete()
        if row.type == Kind.WEBAUTHN and not _has_way_in(user):
            raise OnlyWayIn
        if not has_factor(user):
            Authenticator.objects.filter(user=user).delete()
        _tell(AuditKind.MFA_REMOVED, user, by=user, kind=row.type)
    return True


def _has_way_in(user: User) -> bool:
    return user.has_usable_password() or opens_alone(user) or bool(user.identities.exists())


def remove_all(user: User, *, by: User | None) -> int:
    """For somebody who has lost them. `by` None: at the console. How many there were."""
    with transaction.atomic():
        User.objects.hold(user.pk)
        kinds = list(Authenticator.objects.filter(user=user).values_list("type", flat=True))
        Authenticator.objects.filter(user=user).delete()
        if kinds:
            _tell(AuditKind.MFA_REMOVED, user, by=by, kind="all")
    return len(kinds)


def new_recovery_codes(user: User) -> list[str]:
    """Ten new ones; the former open nothing any more. Raises Conflict without a factor that they would stand in for."""
    with transaction.atomic():
        User.objects.hold(user.pk)
        if not has_factor(user):
            raise Conflict("no_factor", _("Set up an app or a passkey first: recovery codes stand in for it."))
        Authenticator.objects.filter(user=user, type=Kind.RECOVERY_CODES).delete()
        codes = _codes(user)
        _tell(AuditKind.MFA_ADDED, user, by=user, kind=Kind.RECOVERY_CODES)
    return codes


def added(user: User, kind: str) -> list[str]:
    """A factor was just added, in this transaction. Recovery codes, if there were none."""
    _tell(AuditKind.MFA_ADDED, user, by=user, kind=kind)
    return [] if Authenticator.objects.filter(user=user, type=Kind.RECOVERY_CODES).exists() else _codes(user)


def _codes(user: User) -> list[str]:
    codes: list[str] = RecoveryCodes.activate(user).generate_codes()
    return codes


def tidy(code: str) -> str:
    """In two halves, to be read and typed."""
    return f"{code[: len(code) // 2]} {code[len(code) // 2 :]}"


def _try(user: User, address: str | None) -> Try:
    tried = Try(Door.SECOND, user.email, address)
    attempts.take(tried)
    return tried


def _tell(what: AuditKind, user: User, *, by: User | None, kind: str) -> None:
    """Into the audit, and to the person by mail: whoever did it may not be them."""
    record(what, actor=actor_of(by), target=Target("user", str(user.pk), user.email), details={"factor": str(kind)})
    letters.write(LetterKind.SECURITY_NEWS, user, what=what.value, kind=str(kind))
