"""Who may do what: users (e-mail is the name), the tokens by which programs act for them, where they are signed in, and
counted tries; and what a person asked for with all of their data: to have it, or to be gone.
"""

import uuid
from enum import StrEnum
from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import Group, PermissionsMixin
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.functions import Lower, Now
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from hyperagent.accounts import (  # noqa: F401 (Django looks for tables here)
    budget_models,
    letter_models,
    people_models,
    sign_on_models,
)
from hyperagent.accounts.addresses import check_address, plain_name
from hyperagent.accounts.limits import Door, SubjectKind
from hyperagent.accounts.quotas import Quota, Work
from hyperagent.accounts.scopes import GROUP_ROLES, OF_ADMINISTRATORS, Role, Scope, UserKind, roles_of
from hyperagent.lib.languages import LANGUAGES
from hyperagent.lib.refusals import NotAllowed

EMAIL_TAKEN = _("This e-mail address cannot be registered. If it is yours, sign in or reset its password.")


class Theme(StrEnum):
    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


class ExportState(StrEnum):
    WAITING = "waiting"
    READY = "ready"
    FAILED = "failed"
    ENDED = "ended"


def email_key(email: str) -> str:
    """What two spellings of one address have in common. Used to look up and to count, never to write to."""
    return email.strip().lower()


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """Raises ValidationError for an address that would show as another one."""
        try:
            check_address(email)
        except ValidationError as error:
            raise ValidationError({"email": error.messages}) from None
        user = self.model(email=self.normalize_email(email).strip(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        return self.create_user(email, password, **{"is_staff": True, "is_superuser": True, **fields})

    def with_email(self, email: str) -> models.QuerySet["User"]:
        # `iexact` compares UPPER() and would miss the unique index, which is on LOWER().
        return self.alias(email_key=Lower("email")).filter(email_key=email_key(email))

    def hold(self, user_id: uuid.UUID) -> "User":
        """The row, locked until the caller's transaction ends: of two that look whether there is room for one more, the
        second sees what the first made. What refers to the row is written all the while.

        Raises NotAllowed where the account was deleted meanwhile: what came after its end would never be erased.
        """
        held = self.select_for_update(no_key=True).filter(pk=user_id, deleted_at=None).first()
        if held is None:
            raise NotAllowed("deleted", gettext("This account is deleted: nothing is stored for it any more."))
        return held

    def get_by_natural_key(self, username: str | None) -> "User":
        return self.with_email(username or "").get()


class User(AbstractBaseUser, PermissionsMixin):
    """A person, or a service account (`kind`). The e-mail address is the login name, whatever its case."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    email = models.EmailField(max_length=254, unique=True, error_messages={"unique": EMAIL_TAKEN})
    display_name = models.CharField(max_length=120, blank=True)
    kind = models.CharField(
        max_length=8,
        default=UserKind.PERSON,
        db_default=UserKind.PERSON,
        editable=False,
        choices=[(kind.value, kind.value) for kind in UserKind],
    )
    is_active = models.BooleanField(default=True, help_text="Without it, sessions and tokens stop at once.")
    is_staff = models.BooleanField(default=False, help_text="An administrator: may open the admin pages.")
    date_joined = models.DateTimeField(default=timezone.now)
    deleted_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="Nobody any more: the row stays for the audit, without a name."
    )

    theme = models.CharField(
        max_length=8,
        default=Theme.SYSTEM,
        db_default=Theme.SYSTEM,
        choices=[(kind.value, kind.value) for kind in Theme],
    )
    language = models.CharField(
        max_length=10, blank=True, default="", db_default="", choices=list(LANGUAGES.items()),
        help_text="Empty: as the browser asks.",
    )  # fmt: skip
    read_in = models.CharField(
        max_length=10, blank=True, default="", db_default="", editable=False,
        help_text="The language of the page by which they signed in last.",
    )  # fmt: skip
    time_zone = models.CharField(max_length=64, blank=True, default="", db_default="", help_text="Empty: UTC.")
    sessions_ended = models.PositiveIntegerField(
        default=0, db_default=0, editable=False, help_text="How often all sessions were ended; each knows the number."
    )

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    objects: ClassVar[UserManager] = UserManager()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                Lower("email"), name="accounts_user_email_unique", violation_error_message=EMAIL_TAKEN
            ),
            models.CheckConstraint(
                # Django's sign of a password that nothing fits.
                condition=models.Q(kind="person") | models.Q(kind="service", password__startswith="!"),  # noqa: S106
                name="accounts_user_programs_have_no_password",
            ),
        )

    def __str__(self) -> str:
        return self.email

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Whoever writes it: nobody's name turns the writing of a page around, or is made of nothing."""
        self.display_name = plain_name(self.display_name)
        super().save(*args, **kwargs)

    def has_perm(self, perm: str, obj: Any = None) -> bool:
        """What the role of an administrator brings, besides what Django keeps row by row."""
        brought = self.is_active and self.is_staff and perm in OF_ADMINISTRATORS
        return brought or super().has_perm(perm, obj)

    def has_module_perms(self, app_label: str) -> bool:
        is_brought = any(perm.partition(".")[0] == app_label for perm in OF_ADMINISTRATORS)
        return (self.is_active and self.is_staff and is_brought) or super().has_module_perms(app_label)

    def roles(self) -> list[Role]:
        """One query."""
        return roles_of(is_staff=self.is_staff, groups=self.groups.values_list("name", flat=True))

    def works_in_admin(self) -> bool:
        """Administrators, and those who review or audit: what each of them sees there, its pages say. For others than
        administrators one query."""
        return self.is_staff or self.groups.filter(name__in=GROUP_ROLES).exists()

    @property
    def spoken(self) -> str:
        """The language of what is written to them outside of a page: the one they chose, else that of their pages."""
        return self.language or self.read_in

    @property
    def is_service(self) -> bool:
        return self.kind == UserKind.SERVICE

    @property
    def initials(self) -> str:
        """One or two letters that stand for the person where there is no room for the name."""
        words = self.display_name.split() or [self.email]
        return "".join(word[0] for word in (words if len(words) == 1 else (words[0], words[-1]))).upper()

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """Django's own, and another one each time that all sessions are to end without a new password."""
        first: str = super()._get_session_auth_hash(secret=secret)  # type: ignore[misc]
        if not self.sessions_ended:
            return first
        return salted_hmac("hyperagent.accounts.sessions", f"{first}{self.sessions_ended}", secret=secret).hexdigest()


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    def owned_by(self, user: User) -> "ApiTokenQuerySet":
        return self.filter(user=user)

    def usable(self) -> "ApiTokenQuerySet":
        """Those that open a door at this moment, by the database's clock."""
        return self.filter(revoked_at=None, expires_at__gt=Now(), user__is_active=True)


class ApiToken(models.Model):
    """The right of a program to act for a person. The token itself is never stored, only its digest."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    digest = models.CharField(
        max_length=64, unique=True, editable=False, help_text="SHA-256 of the token, in hexadecimal."
    )
    scopes = ArrayField(models.CharField(max_length=20, choices=[(scope.value, scope.value) for scope in Scope]))
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField()
    was_to_end_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="Of one that was replaced: when it would have ended."
    )
    last_used_at = models.DateTimeField(null=True, blank=True, help_text="Kept to the minute.")
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        verbose_name = "API token"
        ordering = ("-created_at", "-id")
        constraints = (
            models.CheckConstraint(
                condition=models.Q(scopes__contained_by=[scope.value for scope in Scope]) & models.Q(scopes__len__gt=0),
                name="accounts_apitoken_scopes_known",
            ),
        )
        indexes = (
            models.Index(fields=("user", "-created_at", "-id"), name="accounts_apitoken_of_user"),
            models.Index(fields=("-created_at", "-id"), name="accounts_apitoken_newest"),
        )

    def __str__(self) -> str:
        return self.name


class LoginAttempt(models.Model):
    """How often an account or an address tried one door lately. The rule is in `limits`, the writing in `attempts`."""

    door = models.CharField(max_length=20, choices=[(door.value, door.value) for door in Door])
    subject_kind = models.CharField(max_length=20, choices=[(kind.value, kind.value) for kind in SubjectKind])
    subject = models.CharField(max_length=254, help_text="The e-mail address as typed, or where it came from.")
    level = models.FloatField(help_text="Tries, less those that have been forgotten since.")
    counted_at = models.DateTimeField()
    blocked_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("door", "subject_kind", "subject"), name="accounts_loginattempt_one_counter"
            ),
        )
        indexes = (models.Index(fields=("counted_at",), name="accounts_loginattempt_age"),)

    def __str__(self) -> str:
        return f"{self.get_door_display()}: {self.get_subject_kind_display()} {self.subject}"


class UserQuota(models.Model):
    """Another amount than the one that is set for everybody: for one person, or for those of a group."""

    user = models.ForeignKey(User, null=True, blank=True, on_delete=models.CASCADE, related_name="quotas")
    group = models.ForeignKey(Group, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    quota = models.CharField(max_length=32, choices=[(quota.value, quota.value) for quota in Quota])
    amount = models.PositiveBigIntegerField(help_text="0: no limit. Of several groups the highest holds.")

    class Meta:
        verbose_name = "quota"
        ordering = ("quota", "id")
        constraints = (
            models.CheckConstraint(
                condition=models.Q(user__isnull=False, group=None) | models.Q(user=None, group__isnull=False),
                name="accounts_userquota_of_one",
                violation_error_message=_("Name a person or a group, and not both."),
            ),
            models.UniqueConstraint(fields=("user", "quota"), name="accounts_userquota_user"),
            models.UniqueConstraint(fields=("group", "quota"), name="accounts_userquota_group"),
        )

    def __str__(self) -> str:
        return f"{self.get_quota_display()}: {self.amount}"


class UserMeter(models.Model):
    """How full a person's meters of one kind of work are: the times when they will be empty. See `quotas`."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False)
    work = models.CharField(max_length=16, choices=[(work.value, work.value) for work in Work])
    first_clears_at = models.DateTimeField()
    second_clears_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("user", "work"), name="accounts_usermeter_one"),)

    def __str__(self) -> str:
        return f"{self.work} of {self.user_id}"


class SignIn(models.Model):
    """Where somebody is signed in: what is known of a session without reading it. The row may outlive the session."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="sign_ins")
    session_key = models.CharField(max_length=40, unique=True, editable=False)
    browser = models.CharField(max_length=300, blank=True, help_text="What it said that it is.")
    address = models.CharField(max_length=64, blank=True, help_text="Where the request came from.")
    signed_in_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ("-signed_in_at", "-id")

    def __str__(self) -> str:
        return str(self.id)


class DataExport(models.Model):
    """All that is kept of a person, asked for by them as one file. Whoever makes it holds it until `lease_until`."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="exports")
    state = models.CharField(
        max_length=8, default=ExportState.WAITING, choices=[(state.value, state.value) for state in ExportState]
    )
    asked_at = models.DateTimeField(db_default=Now(), editable=False)
    lease_until = models.DateTimeField(null=True, blank=True)
    tries = models.PositiveSmallIntegerField(default=0)
    finished_at = models.DateTimeField(null=True, blank=True)
    told_at = models.DateTimeField(null=True, blank=True, help_text="When they were told by mail that it is ready.")
    ends_at = models.DateTimeField(null=True, blank=True, help_text="When its file goes.")
    stored_as = models.CharField(max_length=200, blank=True, help_text="Its name in the file storage.")
    size_bytes = models.BigIntegerField(default=0)
    files = models.JSONField(
        null=True, blank=True, help_text="Names and sizes of all of its files, where they are several."
    )
    place = models.JSONField(
        null=True, blank=True, help_text="What the files so far have, for the job that makes the next."
    )
    problem = models.TextField(blank=True, help_text="Why it failed, a sentence for people.")

    class Meta:
        ordering = ("-asked_at", "-id")
        constraints = (
            models.UniqueConstraint(
                fields=("user",), condition=models.Q(state="waiting"), name="accounts_dataexport_one_at_a_time"
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=list(ExportState)), name="accounts_dataexport_state_known"
            ),
        )

    def __str__(self) -> str:
        return str(self.id)


class Closing(models.Model):
    """An account that is being erased, and how far that is. Whoever does it holds it until `lease_until`."""

    user = models.OneToOneField(User, primary_key=True, on_delete=models.CASCADE, related_name="closing")
    asked_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    asked_at = models.DateTimeField(db_default=Now(), editable=False)
    lease_until = models.DateTimeField(null=True, blank=True)
    done_at = models.DateTimeField(null=True, blank=True)
    problem = models.TextField(blank=True, help_text="What stood in the way when it was tried last.")

    class Meta:
        ordering = ("-asked_at",)
        verbose_name = "closed account"

    def __str__(self) -> str:
        return str(self.user_id)
