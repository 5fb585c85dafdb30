"""Accounts, sessions, single sign-on, and what may be given to others."""

from typing import Annotated

from pydantic import Field, SecretStr, field_validator

from hyperagent.lib.conf.choices import Switch
from hyperagent.lib.conf.values import FLAG, Lower, Topic, Words
from hyperagent.lib.outside.addresses import BadAddress, canonical
from hyperagent.lib.sign_on import UNNAMED, USUAL_SCOPES, RequiredFor, SignOn, roles_in


class People(Topic):
    admin_email: str = Field(
        "admin@localhost", alias="HYPERAGENT_ADMIN_EMAIL", pattern=r"^[^@\s]+@[^@\s]+$", description="an e-mail address"
    )
    # Whether it is one that people may have is asked when it is given to somebody: later on nobody needs it.
    admin_password: SecretStr = Field(
        SecretStr(""),
        alias="HYPERAGENT_ADMIN_PASSWORD",
        min_length=8,
        description="at least 10 characters, and nothing that is easily guessed",
    )
    registration_open: bool = Field(True, alias="REGISTRATION_OPEN", description=FLAG)
    invitation_days: int = Field(
        7, alias="INVITATION_DAYS", ge=1, le=90, description="days until the link of an invitation ends, 1 to 90"
    )
    session_lifetime_hours: int = Field(
        336,
        alias="SESSION_LIFETIME_HOURS",
        ge=1,
        le=8_760,
        description="hours from a sign-in until the next one is needed, 1 to 8760",
    )
    session_idle_minutes: int = Field(
        10_080,
        alias="SESSION_IDLE_MINUTES",
        ge=0,
        le=525_600,
        description="minutes until a session that nobody uses ends, up to 525600; 0 for no such end",
    )
    # Single sign-on by OpenID Connect, and second factors.
    oidc_issuer: str = Field(
        "",
        alias="OIDC_ISSUER",
        description="the issuer as the provider's discovery says it, without user and password: https://host[:port][/path]",
    )
    oidc_client_id: str = Field("", alias="OIDC_CLIENT_ID", description="the client's id at the provider")
    oidc_client_secret: SecretStr = Field(
        SecretStr(""), alias="OIDC_CLIENT_SECRET", description="the client's secret; unset for a public client"
    )
    oidc_name: str = Field(
        UNNAMED, alias="OIDC_NAME", max_length=60, description="what people call the provider, up to 60 characters"
    )
    oidc_scopes: Words = Field(
        USUAL_SCOPES, alias="OIDC_SCOPES", description="scopes with spaces or commas between, openid among them"
    )
    oidc_roles_claim: str = Field(
        "", alias="OIDC_ROLES_CLAIM", description="the claim that holds roles, such as groups or realm_access.roles"
    )
    oidc_roles: str = Field(
        "{}",
        alias="OIDC_ROLES",
        description='JSON, a role or group of ours for each value of the claim: {"staff": "administrator"}',
    )
    oidc_create_users: bool = Field(True, alias="OIDC_CREATE_USERS", description=FLAG)
    oidc_required: bool = Field(False, alias="OIDC_REQUIRED", description=FLAG)
    oidc_allowed_domains: Words = Field(
        (), alias="OIDC_ALLOWED_DOMAINS", description="domains of e-mail addresses, with commas between"
    )
    mfa_required_for: Annotated[RequiredFor, Lower] = Field(
        RequiredFor.NONE, alias="MFA_REQUIRED_FOR", description="none, administrators or everybody"
    )
    sharing: Annotated[Switch, Lower] = Field(Switch.ON, alias="SHARING", description="on or off")
    a2a_enabled: bool = Field(False, alias="A2A_ENABLED", description=FLAG)

    @field_validator("oidc_issuer")
    @classmethod
    def _issuer(cls, value: str) -> str:
        try:
            where = canonical(value, allow_private=True) if value else None
        except BadAddress:
            raise ValueError("not a web address") from None
        if where is not None and "?" in where.path:
            raise ValueError("not an issuer")
        return value

    @field_validator("oidc_scopes", mode="before")
    @classmethod
    def _scopes(cls, value: object) -> object:
        return tuple(value.replace(",", " ").split()) if isinstance(value, str) else value

    @field_validator("oidc_scopes")
    @classmethod
    def _with_openid(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if "openid" not in value:
            raise ValueError("openid is missing")
        return value

    @field_validator("oidc_roles")
    @classmethod
    def _roles(cls, value: str) -> str:
        roles_in(value)
        return value

    @property
    def sign_on(self) -> SignOn | None:
        """None where no provider is set."""
        if not self.oidc_issuer or not self.oidc_client_id:
            return None
        return SignOn(
            issuer=self.oidc_issuer,
            client_id=self.oidc_client_id,
            client_secret=self.oidc_client_secret.get_secret_value(),
            name=self.oidc_name,
            scopes=self.oidc_scopes,
            roles_claim=self.oidc_roles_claim,
            roles=roles_in(self.oidc_roles),
            creates_users=self.oidc_create_users,
            is_required=self.oidc_required,
            allowed_domains=tuple(domain.lower().lstrip("@") for domain in self.oidc_allowed_domains),
        )
