"""Mail, sandboxes, search, and what else is asked outside."""

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator

from hyperagent.lib.conf.choices import SandboxProvider, SearchProvider
from hyperagent.lib.conf.values import FLAG, Lower, Topic, Words, is_ended_by_its_host, web_address
from hyperagent.lib.mail_servers import IMAP_FORM, SMTP_FORM, imap_server, smtp_server
from hyperagent.lib.outside.addresses import BadAddress, canonical


class Services(Topic):
    email_url: SecretStr = Field(
        SecretStr("consolemail://"),
        alias="EMAIL_URL",
        description="smtp://, smtp+tls:// or smtp+ssl://user:password@host:port, or consolemail:// for the log",
    )
    email_from: str = Field("hyperagent@localhost", alias="DEFAULT_FROM_EMAIL", description="an e-mail address")
    # The mailbox that the mail agent works in: both, or none.
    smtp_url: SecretStr = Field(SecretStr(""), alias="SMTP_URL", description=SMTP_FORM)
    imap_url: SecretStr = Field(SecretStr(""), alias="IMAP_URL", description=IMAP_FORM)
    # Mailboxes of people's own.
    gmail_client_id: str = Field("", alias="GMAIL_CLIENT_ID", description="the OAuth client's id")
    gmail_client_secret: SecretStr = Field(
        SecretStr(""), alias="GMAIL_CLIENT_SECRET", description="the OAuth client's secret"
    )
    gmail_base_url: str = Field(
        "", alias="GMAIL_BASE_URL", description="http(s)://host[:port] that stands for Google's servers; unset: Google"
    )
    mail_allow_private: bool = Field(False, alias="MAIL_ALLOW_PRIVATE", description=FLAG)
    webhook_allow_private: bool = Field(False, alias="WEBHOOK_ALLOW_PRIVATE", description=FLAG)
    watch_roots: Words = Field(
        (), alias="WATCH_ROOTS", description="absolute paths of folders that may be watched, with commas between"
    )
    connector_allow_private: bool = Field(False, alias="CONNECTOR_ALLOW_PRIVATE", description=FLAG)
    sandbox_provider: Annotated[SandboxProvider, Lower] = Field(
        SandboxProvider.LOCAL,
        alias="SANDBOX_PROVIDER",
        description="local, e2b, docker, none, or boxlite, for which this version has no provider",
    )
    sandbox_max_boxes: int = Field(
        20, alias="SANDBOX_MAX_BOXES", ge=1, le=1000, description="sandboxes that are open on one machine, 1 to 1000"
    )
    sandbox_max_boxes_per_user: int = Field(
        5, alias="SANDBOX_MAX_BOXES_PER_USER", ge=1, le=1000, description="open sandboxes of one user, 1 to 1000"
    )
    sandbox_seconds_per_day: int = Field(
        14_400,
        alias="SANDBOX_SECONDS_PER_DAY",
        ge=0,
        le=8_640_000,
        description="seconds that programs of one user may run within 24 hours, 0 for no limit",
    )
    sandbox_image: str = Field(
        "python:3.11-slim", alias="SANDBOX_IMAGE", description="the image that docker makes sandboxes of"
    )
    e2b_api_key: SecretStr = Field(SecretStr(""), alias="E2B_API_KEY", description="the key of an E2B account")
    e2b_template: str = Field("", alias="E2B_TEMPLATE", description="the name of an E2B template; unset: E2B's own")
    snapshot_retention_hours: int = Field(
        24, alias="SNAPSHOT_RETENTION_HOURS", ge=1, le=8_760, description="hours, 1 to 8760"
    )
    snapshot_max_size_bytes: int = Field(
        100_000_000,
        alias="SNAPSHOT_MAX_SIZE_BYTES",
        ge=1_000,
        le=10_000_000_000,
        description="bytes of one snapshot of a sandbox, 1000 to 10000000000",
    )
    search_provider: Annotated[SearchProvider | None, Lower] = Field(
        None, alias="SEARCH_PROVIDER", description="tavily, searxng or ddgs; unset: whichever is configured"
    )
    tavily_api_key: SecretStr = Field(SecretStr(""), alias="TAVILY_API_KEY", description="a key from tavily.com")
    tavily_base_url: str = Field(
        "",
        alias="TAVILY_BASE_URL",
        description="http(s)://host[:port][/path], without user and password, that stands for Tavily's; unset: Tavily",
    )
    searxng_url: str = Field(
        "",
        alias="SEARXNG_URL",
        description="the address of a SearXNG, without user and password: http(s)://host[:port][/path]",
    )

    @field_validator("gmail_base_url")
    @classmethod
    def _gmail_address(cls, value: str) -> str:
        return web_address(value)

    @field_validator("email_url")
    @classmethod
    def _mail(cls, value: SecretStr) -> SecretStr:
        url = value.get_secret_value()
        parts = urlsplit(url)
        # To look at a port that is no number raises.
        if parts.scheme in ("smtp", "smtp+tls", "smtp+ssl", "smtps"):
            is_whole = parts.hostname and parts.port != 0 and is_ended_by_its_host(url)
        else:
            is_whole = parts.scheme in ("consolemail", "memorymail")
        if not is_whole:
            raise ValueError("not a mail server's address")
        return value

    @field_validator("smtp_url")
    @classmethod
    def _sends_mail(cls, value: SecretStr) -> SecretStr:
        smtp_server(value.get_secret_value())
        return value

    @field_validator("imap_url")
    @classmethod
    def _keeps_mail(cls, value: SecretStr) -> SecretStr:
        imap_server(value.get_secret_value())
        return value

    @field_validator("tavily_base_url", "searxng_url")
    @classmethod
    def _service(cls, value: str) -> str:
        try:
            canonical(value, allow_private=True)
        except BadAddress:
            raise ValueError("not a web address") from None
        return value.rstrip("/")

    @field_validator("watch_roots")
    @classmethod
    def _absolute(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not all(Path(root).is_absolute() for root in value):
            raise ValueError("not an absolute path")
        return value
