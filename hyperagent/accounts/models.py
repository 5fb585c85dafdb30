"""Who may do what: users (e-mail is the name), the tokens by which programs act for them, and counted tries."""

import uuid
from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Lower, Now
from django.utils import timezone

from hyperagent.accounts.limits import Door, SubjectKind
from hyperagent.accounts.scopes import Role, Scope, roles_of

EMAIL_TAKEN = "This e-mail address cannot be registered. If it is yours, sign in or reset its password."


def email_key(email: str) -> str:
    """What two spellings of one address have in common. Used to look up and to count, never to write to."""
    return email.strip().lower()


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        user = self.model(email=self.normalize_email(email).strip(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        return self.create_user(email, password, **{"is_staff": True, "is_superuser": True, **fields})

    def with_email(self, email: str) -> models.QuerySet["User"]:
        # `iexact` compares UPPER() and would miss the unique index, which is on LOWER().
        return self.alias(email_key=Lower("email")).filter(email_key=email_key(email))

    def get_by_natural_key(self, username: str | None) -> "User":
        return self.with_email(username or "").get()


class User(AbstractBaseUser, PermissionsMixin):
    """A person. The e-mail address is the login name, compared without regard to case."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    email = models.EmailField(max_length=254, unique=True, error_messages={"unique": EMAIL_TAKEN})
    display_name = models.CharField(max_length=120, blank=True)
    is_active = models.BooleanField(default=True, help_text="Without it, sessions and tokens stop at once.")
    is_staff = models.BooleanField(default=False, help_text="An administrator: may open the admin pages.")
    date_joined = models.DateTimeField(default=timezone.now)

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    objects: ClassVar[UserManager] = UserManager()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                Lower("email"), name="accounts_user_email_unique", violation_error_message=EMAIL_TAKEN
            ),
        )

    def __str__(self) -> str:
        return self.email

    def roles(self) -> list[Role]:
        """One query."""
        return roles_of(is_staff=self.is_staff, groups=self.groups.values_list("name", flat=True))


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
        indexes = (models.Index(fields=("user", "-created_at", "-id"), name="accounts_apitoken_of_user"),)

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
        return f"{self.door}: {self.subject_kind} {self.subject}"
