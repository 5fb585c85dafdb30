"""Everything that changes an account. Pages, endpoints, admin and commands call these verbs and decide nothing."""

import uuid
from collections.abc import Sequence
from datetime import datetime

from django.conf import settings
from django.contrib.auth import authenticate
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from hyperagent.accounts import attempts
from hyperagent.accounts.attempts import Try
from hyperagent.accounts.limits import Door
from hyperagent.accounts.models import EMAIL_TAKEN, ApiToken, User
from hyperagent.accounts.scopes import DEFAULT_SCOPES, Scope, scope_faults
from hyperagent.accounts.tokens import LONGEST_TOKEN_LIFETIME, TOKEN_LIFETIME, new_token, token_digest
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import Target, actor_of, record
from hyperagent.lib import queue
from hyperagent.lib.refusals import Refused

UNNAMED = "API token"


class RegistrationClosed(Refused):
    status = 403

    def __init__(self) -> None:
        super().__init__("registration_closed", _("Registration is closed here. Ask an administrator for an account."))


def check_credentials(email: str, password: str, *, address: str | None) -> User | None:
    """The active user with this e-mail address and password, or None. A stranger's address costs the same work.

    Raises `attempts.TooManyTries`.
    """
    attempt = Try(Door.LOGIN, email, address)
    attempts.take(attempt)
    user = authenticate(username=email, password=password)
    if not isinstance(user, User):
        _note_failure(email)
        return None
    attempts.succeeded(attempt)
    return user


def register(
    email: str, password: str, *, display_name: str = "", time_zone: str = "", address: str | None = None
) -> User:
    """Raises `RegistrationClosed`, `attempts.TooManyTries`, or a `ValidationError` by field."""
    if not settings.REGISTRATION_OPEN:
        raise RegistrationClosed
    _check_new_password(password, User(email=email, display_name=display_name))
    # Only now: whoever is still looking for a password that is long enough has tried no address yet.
    attempts.take(Try(Door.REGISTER, email, address))
    with transaction.atomic():
        user = new_person(email, password, display_name=display_name, time_zone=time_zone)
        record(AuditKind.USER_CREATED, actor=actor_of(user), target=_target(user), details={"by": "registration"})
    return user


def new_person(email: str, password: str, *, display_name: str = "", time_zone: str = "") -> User:
    """Whoever calls it knows that they may have an account. Raises a `ValidationError` by field."""
    _check_new_password(password, User(email=email, display_name=display_name))
    try:
        with transaction.atomic():
            return User.objects.create_user(email, password, display_name=display_name, time_zone=time_zone)
    except IntegrityError:
        raise ValidationError({"email": EMAIL_TAKEN}) from None


def change_password(user: User, new_password: str, *, by: User | None) -> int:
    """All sessions of the user end, because each carries a digest of the password; a caller that has one renews it. So
    do their API tokens: whoever knew the password may have made one. How many still opened a door.

    `by` None: at the console."""
    _check_new_password(new_password, user)
    user.set_password(new_password)
    with transaction.atomic():
        user.save(update_fields=["password"])
        revoked = revoke_all_tokens(user)
        record(AuditKind.PASSWORD_CHANGED, actor=actor_of(by), target=_target(user), details={"tokens": revoked})
    attempts.forgive_account(Door.LOGIN, user.email)
    return revoked


def ask_for_password_reset(email: str, *, address: str | None) -> None:
    """Has a link mailed if the account exists. Does the same for a stranger's address, mail excepted.

    Raises `attempts.TooManyTries`.
    """
    attempts.take(Try(Door.RESET, email, address))
    known = User.objects.with_email(email).filter(is_active=True).values_list("pk", flat=True).first()
    target = Target("user", str(known)) if known else None
    record(AuditKind.PASSWORD_RESET_ASKED, actor=None, target=target)
    # A task is queued in either case: rendering and sending a mail here would tell by its time who has an account.
    queue.enqueue("hyperagent.accounts.tasks.mail_password_reset", str(known or uuid.uuid4()))


def make_token(
    user: User, *, name: str = "", scopes: Sequence[str] = DEFAULT_SCOPES, expires_at: datetime | None = None
) -> tuple[ApiToken, str]:
    """The token's row, and the token itself, which cannot be had again. Raises a `ValidationError` by field."""
    now = timezone.now()
    ends = expires_at or now + TOKEN_LIFETIME
    faults: dict[str, list[str]] = {}
    if not scopes:
        faults["scopes"] = [_("A token needs at least one scope of {names}.").format(names=", ".join(Scope))]
    elif wrong := scope_faults(scopes, is_staff=user.is_staff):
        faults["scopes"] = wrong
    if ends <= now:
        faults["expires_at"] = [_("The end date is past. Choose a later one.")]
    elif ends > now + LONGEST_TOKEN_LIFETIME:
        faults["expires_at"] = [
            _("A token lives {days} days at most. Choose an earlier end date.").format(days=LONGEST_TOKEN_LIFETIME.days)
        ]
    if faults:
        raise ValidationError(faults)
    raw = new_token()
    held = [scope.value for scope in Scope if scope in set(scopes)]
    with transaction.atomic():
        _check_same_account(user)
        token = ApiToken.objects.create(
            user=user, name=name.strip() or UNNAMED, digest=token_digest(raw), scopes=held, expires_at=ends
        )
        details = {"scopes": held, "user": str(user.pk)}
        record(AuditKind.TOKEN_MADE, actor=actor_of(user), target=_token(token), details=details)
    return token, raw


def _check_same_account(user: User) -> None:
    """A password that is changed, or an account that is deactivated, while its token is made must not leave that token
    behind. Locks the person's row."""
    same = User.objects.select_for_update(no_key=True).filter(pk=user.pk, password=user.password, is_active=True)
    if not same.values_list("pk", flat=True):
        raise ValidationError({NON_FIELD_ERRORS: [_("The account was changed just now. Sign in again.")]})


def revoke_token(user: User, token_id: uuid.UUID, *, by: User | None = None) -> bool:
    """False if the user has no such token. Revoking twice changes nothing. `by`: an administrator; else the user."""
    with transaction.atomic():
        own = ApiToken.objects.owned_by(user).filter(pk=token_id)
        if own.filter(revoked_at=None).update(revoked_at=Now()):
            details = {"user": str(user.pk)}
            record(AuditKind.TOKEN_REVOKED, actor=actor_of(by or user), target=_token(own.get()), details=details)
        return own.exists()


def revoke_all_tokens(user: User, *, by: User | None = None) -> int:
    """With a new password: how many of the person's tokens still opened a door. Not those of service accounts, which
    are nobody's. `by`: an administrator; else the user. In the caller's transaction."""
    own = ApiToken.objects.owned_by(user).filter(revoked_at=None, expires_at__gt=Now())
    tokens = list(own.select_for_update(of=("self",)).order_by("pk"))
    ApiToken.objects.filter(pk__in=[token.pk for token in tokens]).update(revoked_at=Now())
    for token in tokens:
        details = {"user": str(user.pk), "why": "password"}
        record(AuditKind.TOKEN_REVOKED, actor=actor_of(by or user), target=_token(token), details=details)
    return len(tokens)


def _note_failure(email: str) -> None:
    """Whom it was about, not what was typed: people type passwords where their address belongs."""
    known = User.objects.with_email(email).first()
    record(
        AuditKind.SIGN_IN_FAILED,
        actor=None,
        target=_target(known) if known else None,
        details={
            "by": "password",
            "why": "unknown" if known is None else "password" if known.is_active else "inactive",
        },
    )


def _target(user: User) -> Target:
    return Target("user", str(user.pk), user.email)


def _token(token: ApiToken) -> Target:
    """Not its name, which somebody wrote."""
    return Target("api_token", str(token.pk))


def _check_new_password(password: str, user: User) -> None:
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise ValidationError({"password": error.messages}) from None
