"""Every setting that the environment gives: read once, typed, every bad value named at once. No Django here.

Django's own settings are made of it in `hyperagent.settings`; the models' part is read by `hyperagent.lib.llm.config`.
"""

import json
import os
import re
from collections.abc import Mapping, MutableMapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import unquote, urlsplit

import environ
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError, field_validator

from hyperagent.lib.bucket_address import BUCKET_FORM, bucket_at
from hyperagent.lib.fault_address import DSN_FORM, fault_address
from hyperagent.lib.llm.config import BadSettings, LLMSettings
from hyperagent.lib.llm.prices import FORM as PRICES_FORM
from hyperagent.lib.llm.prices import read as read_prices
from hyperagent.lib.mail_servers import IMAP_FORM, SMTP_FORM, imap_server, smtp_server
from hyperagent.lib.outside.addresses import BadAddress, canonical, pattern_fault
from hyperagent.lib.sign_on import UNNAMED, USUAL_SCOPES, RequiredFor, SignOn, roles_in

BASE_DIR = Path(__file__).resolve().parent.parent.parent
# What a running `manage.py up` leaves for the other commands: where its servers are, and its key. Mode 0600.
INSTANCE_FILE = Path("run") / "instance.json"
SECRET_NAMES = ("SECRET_KEY", "PASSWORD", "API_KEY", "TOKEN", "_SECRET", "OTLP_HEADERS", "OTLP_TRACES_HEADERS")
# A number of tokens, not one.
NO_SECRETS = (
    "CONTEXT_COMPRESSION_TOKEN_THRESHOLD",
    "RUN_BUDGET_TOKENS",
    "USER_BUDGET_TOKENS_PER_DAY",
    "USER_BUDGET_TOKENS_PER_MONTH",
    "INSTALLATION_BUDGET_TOKENS_PER_DAY",
    "INSTALLATION_BUDGET_TOKENS_PER_MONTH",
)
_SERVERS = ("DATABASE_URL", "DATABASE_DIRECT_URL", "REDIS_URL", "STORAGE_URL")
SECRET_URLS = (*_SERVERS, "EMAIL_URL", "IMAP_URL", "SMTP_URL", "SENTRY_DSN")
# Several secrets with commas between.
SECRET_LISTS = ("SECRET_KEY_FALLBACKS",)
LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")


class BadConfig(Exception):
    """The environment holds values that cannot be read; `problems` has one sentence for each."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)

    def text(self) -> str:
        lines = "\n".join(f"  - {problem}" for problem in self.problems)
        return f"HyperAgent cannot start, because of its settings (environment or .env; see .env.example):\n{lines}"


class LogFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


class LogLevel(StrEnum):
    DEBUG = "DEBUG"
    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"


class RoutingMode(StrEnum):
    """`auto` asks a model only where the patterns are unsure; `llm` always does, `deterministic` never."""

    AUTO = "auto"
    DETERMINISTIC = "deterministic"
    LLM = "llm"


class ExecutionMode(StrEnum):
    STANDARD = "standard"
    CODEACT = "codeact"


class Switch(StrEnum):
    ON = "on"
    OFF = "off"


class HitlPolicy(StrEnum):
    """`durable` waits for days and reminds; `interactive` gives up when the time for an answer is over."""

    DURABLE = "durable"
    INTERACTIVE = "interactive"


class ViolationAction(StrEnum):
    BLOCK = "block"
    WARN = "warn"
    LOG = "log"


class SandboxProvider(StrEnum):
    LOCAL = "local"
    E2B = "e2b"
    BOXLITE = "boxlite"
    DOCKER = "docker"
    NONE = "none"


class SearchProvider(StrEnum):
    TAVILY = "tavily"
    SEARXNG = "searxng"
    DDGS = "ddgs"


class BudgetEnd(StrEnum):
    """What a run does at the end of a budget that its person may not raise: finish with what there is, or wait."""

    FINISH = "finish"
    WAIT = "wait"


class UnpricedModels(StrEnum):
    """Calls of models without a known price, where a budget in money holds."""

    ALLOW = "allow"
    REFUSE = "refuse"


def _words(value: object) -> object:
    return tuple(word.strip() for word in value.split(",") if word.strip()) if isinstance(value, str) else value


def _words_or_none(value: object) -> object:
    return () if value == "none" else _words(value)


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


Words = Annotated[tuple[str, ...], BeforeValidator(_words)]
Percents = Annotated[tuple[Annotated[int, Field(ge=1, le=100)], ...], BeforeValidator(_words_or_none)]
Lower = BeforeValidator(_lower)
FLAG = "true or false"
DOLLARS = "dollars such as 2.50, 0 for no limit"
TOKENS = "tokens, 0 for no limit"
HOSTS = "hosts, with commas between them, such as example.com,*.example.com"
REDACTABLE = ("card", "iban", "ssn", "email", "phone", "ip", "secret")
MONTH_S = 2_592_000
SIGNING_SECRET = re.compile(r"whsec_(?:[A-Za-z0-9+/]{4}){8,}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
SECONDS = f"whole seconds, 1 to {MONTH_S} (30 days)"


class Config(BaseModel):
    """One process's settings. A field's alias is the variable's name, its description says what is allowed."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=False)

    secret_key: SecretStr = Field(
        SecretStr(""), alias="SECRET_KEY", min_length=32, description="at least 32 random characters"
    )
    secret_key_fallbacks: Words = Field(
        (), alias="SECRET_KEY_FALLBACKS", description="former values of SECRET_KEY, with commas between", repr=False
    )
    debug: bool = Field(False, alias="DEBUG", description=FLAG)
    site_url: str = Field(
        "http://127.0.0.1:8000", alias="SITE_URL", description="the address that people open: http(s)://host[:port]"
    )
    preview_host: str = Field(
        "",
        alias="PREVIEW_HOST",
        pattern=r"^([a-z0-9-]+\.)*[a-z0-9-]+$|^$",
        description="a name of which every subdomain leads here, such as previews.example.org; for previews of apps",
    )
    allowed_hosts: Words = Field((), alias="ALLOWED_HOSTS", description="host names, with commas between")
    csrf_trusted_origins: Words = Field(
        (), alias="CSRF_TRUSTED_ORIGINS", description="origins such as https://agents.example.org, with commas between"
    )
    trusted_proxies: int = Field(
        0, alias="TRUSTED_PROXIES", ge=0, le=10, description="how many reverse proxies stand in front, 0 to 10"
    )
    database_url: SecretStr = Field(
        SecretStr(""), alias="DATABASE_URL", description="postgresql://user:password@host:port/database"
    )
    database_direct_url: SecretStr = Field(
        SecretStr(""),
        alias="DATABASE_DIRECT_URL",
        description="postgresql://user:password@host:port/database, past the PgBouncer that DATABASE_URL leads to",
    )
    redis_url: SecretStr = Field(
        SecretStr(""), alias="REDIS_URL", description="redis://host:port/0, rediss://… or unix:///path/to/socket"
    )
    data_dir: Path = Field(Path("var"), alias="DATA_DIR", description="a directory that this user may write")
    storage_url: SecretStr = Field(SecretStr(""), alias="STORAGE_URL", description=BUCKET_FORM)
    port: int = Field(8000, alias="PORT", ge=1, le=65535, description="a port, 1 to 65535")
    admin_email: str = Field(
        "admin@localhost", alias="HYPERAGENT_ADMIN_EMAIL", pattern=r"^[^@\s]+@[^@\s]+$", description="an e-mail address"
    )
    admin_password: SecretStr = Field(
        SecretStr(""), alias="HYPERAGENT_ADMIN_PASSWORD", min_length=8, description="at least 8 characters"
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
        description="the issuer as the provider's discovery says it: https://host[:port][/path]",
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
    runners: int = Field(1, alias="RUNNERS", ge=0, le=64, description="runner processes of one worker, 0 to 64")
    agent_concurrency: int = Field(
        64, alias="AGENT_CONCURRENCY", ge=1, le=1000, description="runs that one runner drives at once, 1 to 1000"
    )
    lease_seconds: int = Field(
        15,
        alias="LEASE_SECONDS",
        ge=2,
        le=600,
        description="seconds until a silent runner's runs go to another, 2 to 600",
    )
    max_question_chars: int = Field(
        200_000, alias="MAX_QUESTION_CHARS", ge=1, le=10_000_000, description="characters, 1 to 10000000"
    )
    document_max_bytes: int = Field(
        100_000_000,
        alias="DOCUMENT_MAX_BYTES",
        ge=1_000,
        le=10_000_000_000,
        description="bytes of one document, 1000 to 10000000000",
    )
    workspace_file_max_bytes: int = Field(
        100_000_000,
        alias="WORKSPACE_FILE_MAX_BYTES",
        ge=1_000,
        le=10_000_000_000,
        description="bytes of one file in a workspace, 1000 to 10000000000",
    )
    workspace_quota_bytes: int = Field(
        1_000_000_000,
        alias="WORKSPACE_QUOTA_BYTES",
        ge=1_000,
        le=100_000_000_000_000,
        description="bytes of all files of one person or project, 1000 to 100000000000000",
    )
    runs_per_minute: int = Field(
        600, alias="RUNS_PER_MINUTE", ge=0, le=10**6, description="questions of one person in a minute, 0 for no limit"
    )
    runs_per_hour: int = Field(
        6_000, alias="RUNS_PER_HOUR", ge=0, le=10**6, description="questions of one person in an hour, 0 for no limit"
    )
    runs_at_once: int = Field(
        500,
        alias="RUNS_AT_ONCE",
        ge=0,
        le=10**6,
        description="questions of one person that are worked on or wait for a runner, 0 for no limit",
    )
    uploads_per_hour: int = Field(
        1_000, alias="UPLOADS_PER_HOUR", ge=0, le=10**6, description="files of one person in an hour, 0 for no limit"
    )
    upload_bytes_per_day: int = Field(
        20_000_000_000,
        alias="UPLOAD_BYTES_PER_DAY",
        ge=0,
        le=10**15,
        description="bytes of one person's files in a day, 0 for no limit",
    )
    searches_per_minute: int = Field(
        300, alias="SEARCHES_PER_MINUTE", ge=0, le=10**6, description="searches of one person in a minute, 0: no limit"
    )
    requests_per_minute: int = Field(
        1_200,
        alias="REQUESTS_PER_MINUTE",
        ge=0,
        le=10**6,
        description="requests of one person to the API in a minute, 0 for no limit",
    )
    sockets_at_once: int = Field(
        100,
        alias="SOCKETS_AT_ONCE",
        ge=0,
        le=10**6,
        description="open sockets of one person in one web process, 0 for no limit",
    )
    queue_workers: int = Field(1, alias="QUEUE_WORKERS", ge=1, le=16, description="background job processes, 1 to 16")
    db_pool_size: int = Field(
        16,
        alias="DB_POOL_SIZE",
        ge=1,
        le=200,
        description="database connections of one web or runner process, 1 to 200",
    )
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
    metrics_token: SecretStr = Field(SecretStr(""), alias="METRICS_TOKEN", description="a token for /metrics")
    metrics_port: int = Field(
        0, alias="METRICS_PORT", ge=0, le=65535, description="a port for a worker's /metrics, 1 to 65535; 0 for none"
    )
    otel_capture_content: bool = Field(False, alias="OTEL_CAPTURE_CONTENT", description=FLAG)
    sentry_dsn: SecretStr = Field(SecretStr(""), alias="SENTRY_DSN", description=DSN_FORM)
    log_level: LogLevel = Field(LogLevel.INFO, alias="LOG_LEVEL", description="DEBUG, INFO, WARNING or ERROR")
    log_format: LogFormat = Field(LogFormat.TEXT, alias="LOG_FORMAT", description="text or json")

    routing_mode: Annotated[RoutingMode, Lower] = Field(
        RoutingMode.AUTO, alias="ROUTING_MODE", description="auto, deterministic or llm"
    )
    max_handoffs: int = Field(3, alias="MAX_HANDOFFS", ge=0, le=10, description="handoffs of one run, 0 to 10")
    max_replans: int = Field(2, alias="MAX_REPLANS", ge=0, le=5, description="new plans of one run, 0 to 5")
    plan_asks_above_usd: float = Field(
        1,
        alias="PLAN_ASKS_ABOVE_USD",
        ge=0,
        le=1_000_000,
        description="dollars that a plan is reckoned to cost, such as 2.50; 0 for never",
    )
    run_budget_tokens: int = Field(
        0, alias="RUN_BUDGET_TOKENS", ge=0, le=10**12, description="tokens of one run, 0 for no limit"
    )
    run_budget_usd: float = Field(
        0, alias="RUN_BUDGET_USD", ge=0, le=1_000_000, description="dollars of one run such as 2.50, 0 for no limit"
    )
    # What each person, and all together, may use in a day or a month (of UTC); others are set in `/usage/budgets/`.
    user_budget_usd_per_day: float = Field(0, alias="USER_BUDGET_USD_PER_DAY", ge=0, le=1_000_000, description=DOLLARS)
    user_budget_tokens_per_day: int = Field(0, alias="USER_BUDGET_TOKENS_PER_DAY", ge=0, le=10**12, description=TOKENS)
    user_budget_usd_per_month: float = Field(
        0, alias="USER_BUDGET_USD_PER_MONTH", ge=0, le=1_000_000, description=DOLLARS
    )
    user_budget_tokens_per_month: int = Field(
        0, alias="USER_BUDGET_TOKENS_PER_MONTH", ge=0, le=10**12, description=TOKENS
    )
    installation_budget_usd_per_day: float = Field(
        0, alias="INSTALLATION_BUDGET_USD_PER_DAY", ge=0, le=1_000_000, description=DOLLARS
    )
    installation_budget_tokens_per_day: int = Field(
        0, alias="INSTALLATION_BUDGET_TOKENS_PER_DAY", ge=0, le=10**12, description=TOKENS
    )
    installation_budget_usd_per_month: float = Field(
        0, alias="INSTALLATION_BUDGET_USD_PER_MONTH", ge=0, le=1_000_000, description=DOLLARS
    )
    installation_budget_tokens_per_month: int = Field(
        0, alias="INSTALLATION_BUDGET_TOKENS_PER_MONTH", ge=0, le=10**12, description=TOKENS
    )
    budget_end: Annotated[BudgetEnd, Lower] = Field(BudgetEnd.FINISH, alias="BUDGET_END", description="finish or wait")
    budget_alerts: Percents = Field(
        (50, 80, 100), alias="BUDGET_ALERTS", description="percentages from 1 to 100, with commas between, or none"
    )
    unpriced_models: Annotated[UnpricedModels, Lower] = Field(
        UnpricedModels.ALLOW, alias="UNPRICED_MODELS", description="allow or refuse"
    )
    model_prices: str = Field("", alias="MODEL_PRICES", description=PRICES_FORM)
    context_compression_enabled: bool = Field(True, alias="CONTEXT_COMPRESSION_ENABLED", description=FLAG)
    context_compression_token_threshold: int = Field(
        60_000,
        alias="CONTEXT_COMPRESSION_TOKEN_THRESHOLD",
        ge=1_000,
        le=10_000_000,
        description="tokens, 1000 to 10000000",
    )
    context_compression_preserve_recent: int = Field(
        10, alias="CONTEXT_COMPRESSION_PRESERVE_RECENT", ge=1, le=1000, description="messages, 1 to 1000"
    )
    execution_mode: Annotated[ExecutionMode, Lower] = Field(
        ExecutionMode.STANDARD, alias="EXECUTION_MODE", description="standard or codeact"
    )
    follow_ups: Annotated[Switch, Lower] = Field(Switch.ON, alias="FOLLOW_UPS", description="on or off")
    hitl_policy: Annotated[HitlPolicy, Lower] = Field(
        HitlPolicy.DURABLE, alias="HITL_POLICY", description="durable or interactive"
    )
    hitl_timeout_seconds: int = Field(120, alias="HITL_TIMEOUT_SECONDS", ge=1, le=MONTH_S, description=SECONDS)
    hitl_decision_timeout_seconds: int = Field(
        300, alias="HITL_DECISION_TIMEOUT_SECONDS", ge=1, le=MONTH_S, description=SECONDS
    )
    hitl_input_timeout_seconds: int = Field(
        300, alias="HITL_INPUT_TIMEOUT_SECONDS", ge=1, le=MONTH_S, description=SECONDS
    )
    hitl_expires_seconds: int = Field(259_200, alias="HITL_EXPIRES_SECONDS", ge=1, le=MONTH_S, description=SECONDS)
    retention_days: int = Field(
        0,
        alias="RETENTION_DAYS",
        ge=0,
        le=36_500,
        description="days without a word after which a conversation is deleted, 0 for never",
    )
    retention_deleted_days: int = Field(
        30,
        alias="RETENTION_DELETED_DAYS",
        ge=0,
        le=36_500,
        description="days after which what was said in a deleted conversation is erased",
    )
    log_retention_days: int = Field(
        0,
        alias="LOG_RETENTION_DAYS",
        ge=0,
        le=36_500,
        description="days after its end that the event log and the journal of a run are kept, 0 for ever",
    )
    audit_retention_days: int = Field(
        0, alias="AUDIT_RETENTION_DAYS", ge=0, le=36_500, description="days that the audit log is kept, 0 for ever"
    )
    audit_log_stream: str = Field(
        "", alias="AUDIT_LOG_STREAM", description="stdout, or http(s)://host[:port][/path] that takes signed posts"
    )
    audit_log_stream_secret: SecretStr = Field(
        SecretStr(""),
        alias="AUDIT_LOG_STREAM_SECRET",
        description="whsec_ and at least 24 random bytes in Base64",
    )
    guardrails_enabled: bool = Field(True, alias="GUARDRAILS_ENABLED", description=FLAG)
    guardrails_input_enabled: bool = Field(True, alias="GUARDRAILS_INPUT_ENABLED", description=FLAG)
    guardrails_output_enabled: bool = Field(True, alias="GUARDRAILS_OUTPUT_ENABLED", description=FLAG)
    guardrails_tool_enabled: bool = Field(True, alias="GUARDRAILS_TOOL_ENABLED", description=FLAG)
    guardrails_violation_action: Annotated[ViolationAction, Lower] = Field(
        ViolationAction.BLOCK, alias="GUARDRAILS_VIOLATION_ACTION", description="block, warn or log"
    )
    guardrails_timeout_ms: int = Field(
        500, alias="GUARDRAILS_TIMEOUT_MS", ge=1, le=60_000, description="milliseconds, 1 to 60000"
    )
    guardrails_strict: bool = Field(False, alias="GUARDRAILS_STRICT", description=FLAG)
    guardrails_model: str = Field("", alias="GUARDRAILS_MODEL", description="a model's name; unset: no second look")
    guardrails_model_timeout_ms: int = Field(
        8_000, alias="GUARDRAILS_MODEL_TIMEOUT_MS", ge=1, le=120_000, description="milliseconds, 1 to 120000"
    )
    egress_allow: Words = Field((), alias="EGRESS_ALLOW", description=HOSTS)
    egress_trusted: Words = Field((), alias="EGRESS_TRUSTED", description=HOSTS)
    guardrails_redact: Words = Field(
        REDACTABLE,
        alias="GUARDRAILS_REDACT",
        description=f"kinds, with commas between them, of: {', '.join(REDACTABLE)}",
    )
    sandbox_provider: Annotated[SandboxProvider, Lower] = Field(
        SandboxProvider.LOCAL, alias="SANDBOX_PROVIDER", description="local, e2b, docker or none"
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
        "", alias="TAVILY_BASE_URL", description="http(s)://host[:port][/path] that stands for Tavily's; unset: Tavily"
    )
    searxng_url: str = Field(
        "", alias="SEARXNG_URL", description="the address of a SearXNG: http(s)://host[:port][/path]"
    )

    @field_validator("site_url", "gmail_base_url")
    @classmethod
    def _web_address(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
            raise ValueError("not a web address")
        return value.rstrip("/")

    @field_validator("database_url", "database_direct_url")
    @classmethod
    def _postgres(cls, value: SecretStr) -> SecretStr:
        url = value.get_secret_value()
        if url and (not url.startswith(("postgresql://", "postgres://")) or not environ.Env.db_url_config(url)["NAME"]):
            raise ValueError("not a Postgres address")
        return value

    @field_validator("storage_url")
    @classmethod
    def _bucket(cls, value: SecretStr) -> SecretStr:
        if value.get_secret_value():
            bucket_at(value.get_secret_value())
        return value

    @field_validator("sentry_dsn")
    @classmethod
    def _takes_faults(cls, value: SecretStr) -> SecretStr:
        if value.get_secret_value():
            fault_address(value.get_secret_value())
        return value

    @field_validator("redis_url")
    @classmethod
    def _redis(cls, value: SecretStr) -> SecretStr:
        url = value.get_secret_value()
        parts = urlsplit(url)
        named = parts.path.strip("/") if parts.scheme == "unix" else parts.hostname
        if url and (parts.scheme not in ("redis", "rediss", "unix") or not named):
            raise ValueError("not a Redis address")
        return value

    @field_validator("email_url")
    @classmethod
    def _mail(cls, value: SecretStr) -> SecretStr:
        scheme = urlsplit(value.get_secret_value()).scheme
        if scheme not in ("smtp", "smtp+tls", "smtp+ssl", "smtps", "submission", "consolemail", "memorymail"):
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

    @field_validator("audit_log_stream")
    @classmethod
    def _stream(cls, value: str) -> str:
        try:
            if value not in ("", "stdout"):
                canonical(value, allow_private=True)
        except BadAddress:
            raise ValueError("neither stdout nor a web address") from None
        return value

    @field_validator("audit_log_stream_secret")
    @classmethod
    def _signs(cls, value: SecretStr) -> SecretStr:
        if value.get_secret_value() and not SIGNING_SECRET.fullmatch(value.get_secret_value()):
            raise ValueError("not a secret for signatures")
        return value

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

    @field_validator("model_prices")
    @classmethod
    def _prices(cls, value: str) -> str:
        read_prices(value)
        return value

    @field_validator("watch_roots")
    @classmethod
    def _absolute(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not all(Path(root).is_absolute() for root in value):
            raise ValueError("not an absolute path")
        return value

    @field_validator("egress_allow", "egress_trusted")
    @classmethod
    def _hosts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if fault := next(filter(None, map(pattern_fault, value)), ""):
            raise ValueError(fault)
        return value

    @field_validator("guardrails_redact")
    @classmethod
    def _redactable(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if unknown := sorted(set(value) - set(REDACTABLE)):
            raise ValueError(f"there is no kind {unknown[0]}")
        return value

    @field_validator("csrf_trusted_origins")
    @classmethod
    def _origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if any(urlsplit(origin).scheme not in ("http", "https") for origin in value):
            raise ValueError("an origin needs its scheme")
        return value

    @property
    def is_https(self) -> bool:
        return self.site_url.startswith("https://")

    @property
    def preview_name(self) -> str:
        """Below it each app that is previewed has a name of its own. On the machine itself that is `localhost`, which
        every browser takes for this machine; empty where there is none."""
        here = urlsplit(self.site_url).hostname or ""
        return self.preview_host or ("localhost" if here in ("127.0.0.1", "localhost") else "")

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that are answered: those that are set, else this machine and the host of SITE_URL."""
        return self.allowed_hosts or tuple(dict.fromkeys((*LOCAL_HOSTS, urlsplit(self.site_url).hostname or "")))

    @property
    def origins(self) -> tuple[str, ...]:
        return self.csrf_trusted_origins or ((self.site_url,) if self.is_https else ())

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

    @property
    def direct_database_url(self) -> str:
        """Whose sessions are Postgres' own: for listeners, locks that outlive a transaction, prepared statements."""
        return self.database_direct_url.get_secret_value() or self.database_url.get_secret_value()

    @property
    def data_path(self) -> Path:
        """DATA_DIR as an absolute path; a relative one counts from the project's folder."""
        return self.data_dir if self.data_dir.is_absolute() else BASE_DIR / self.data_dir

    @classmethod
    def read(cls, env: Mapping[str, str]) -> Self:
        names = {field.alias for field in cls.model_fields.values()}
        return cls.model_validate({name: env[name].strip() for name in names if name and env.get(name, "").strip()})


def load(env: Mapping[str, str], *, needs_servers: bool = True) -> Config:
    """Reads all settings; `BadConfig` names every bad one, the models' included.

    Without `needs_servers`, the key and the addresses of Postgres and Redis may be missing.
    """
    problems: list[str] = []
    try:
        config = Config.read(env)
    except ValidationError as error:
        problems += [_sentence(fault) for fault in error.errors()]
        config = Config.model_construct()
    try:
        LLMSettings.from_env(env)
    except BadSettings as error:
        problems += [str(fault) for fault in error.faults]
    problems += _half(env, ("SMTP_URL", "IMAP_URL"), "the mailbox")
    problems += _half(env, ("GMAIL_CLIENT_ID", "GMAIL_CLIENT_SECRET"), "connecting Gmail")
    problems += _half(env, ("OIDC_ISSUER", "OIDC_CLIENT_ID"), "single sign-on")
    problems += _unsigned(env)
    problems += _alone(env)
    problems += _search_without_means(env)
    if needs_servers:
        problems += _missing(env)
    if problems:
        raise BadConfig(problems)
    return config


def _sentence(fault: Any) -> str:
    name = str(fault["loc"][0])
    allowed = next(field.description for field in Config.model_fields.values() if field.alias == name)
    return f"{name}={shown(name, str(fault['input']))} is not allowed; allowed: {allowed}"


def _missing(env: Mapping[str, str]) -> list[str]:
    ways = {
        "SECRET_KEY": "set it to at least 32 random characters, the same for every process",
        "DATABASE_URL": "set it to postgresql://user:password@host:port/database",
        "REDIS_URL": "set it to redis://host:port/0",
    }
    return [
        f"{name} is not set; {way}, or start everything with `manage.py up`, which brings its own"
        for name, way in ways.items()
        if not env.get(name, "").strip()
    ]


def _unsigned(env: Mapping[str, str]) -> list[str]:
    """Whoever takes the audit log has to be able to tell it from what others send."""
    goes_to, secret = (env.get(f"AUDIT_LOG_STREAM{part}", "").strip() for part in ("", "_SECRET"))
    if goes_to in ("", "stdout") or secret:
        return []
    return ["AUDIT_LOG_STREAM is set to an address, and AUDIT_LOG_STREAM_SECRET is not; what is posted there is signed"]


def _half(env: Mapping[str, str], names: tuple[str, str], what: str) -> list[str]:
    missing = [name for name in names if not env.get(name, "").strip()]
    if len(missing) != 1:
        return []
    return [f"{missing[0]} is not set, and {what} needs both {names[0]} and {names[1]}: set it, or none of them"]


def _alone(env: Mapping[str, str]) -> list[str]:
    """Settings of single sign-on that do nothing by themselves, and would be believed to."""
    needed = {"OIDC_REQUIRED": "OIDC_ISSUER", "OIDC_ALLOWED_DOMAINS": "OIDC_ISSUER", "OIDC_ROLES": "OIDC_ROLES_CLAIM"}
    off = ("", "false", "0", "no", "off", "{}")
    return [
        f"{other} is not set, and {name} needs it: set it, or take {name} out"
        for name, other in needed.items()
        if env.get(name, "").strip().lower() not in off and not env.get(other, "").strip()
    ]


def _search_without_means(env: Mapping[str, str]) -> list[str]:
    """The service that is named cannot be asked without its key or its address."""
    needed = {"tavily": "TAVILY_API_KEY", "searxng": "SEARXNG_URL"}
    chosen = env.get("SEARCH_PROVIDER", "").strip().lower()
    name = needed.get(chosen, "")
    if not name or env.get(name, "").strip():
        return []
    return [f"{name} is not set, and SEARCH_PROVIDER={chosen} needs it: set it, or take SEARCH_PROVIDER out"]


def is_secret(name: str) -> bool:
    return name not in NO_SECRETS and (name in SECRET_URLS or any(mark in name for mark in SECRET_NAMES))


def shown(name: str, value: str) -> str:
    """The value as a person may see it: secrets hidden, long ones cut."""
    return "(hidden)" if is_secret(name) else repr(value if len(value) <= 80 else value[:77] + "…")


def secrets_in(env: Mapping[str, str]) -> tuple[str, ...]:
    """The secret values of the environment (passwords within addresses too), longest first: what no log may show."""
    found = {secret for provider in LLMSettings.from_env(env).providers for secret in provider.secrets}
    for name, value in env.items():
        if name in SECRET_URLS:
            password = urlsplit(value).password or ""
            found |= {password, unquote(password)}
        elif is_secret(name):
            found |= {value, *(part.strip() for part in value.split(","))} if name in SECRET_LISTS else {value}
    # Shorter ones would blot out ordinary words.
    return tuple(sorted((value for value in found if len(value) >= 6), key=len, reverse=True))


def read_env_file(env: MutableMapping[str, str]) -> None:
    """Adds what `.env` says (or the file that ENV_FILE names); what the environment says already stays."""
    path = Path(env.get("ENV_FILE") or BASE_DIR / ".env")
    if path.is_file():
        values: dict[str, str] = {}

        class _File(environ.Env):  # type: ignore[misc]
            ENVIRON = values

        _File.read_env(str(path))
        for name, value in values.items():
            env.setdefault(name, value)


def join_instance(env: MutableMapping[str, str]) -> None:
    """Adds the addresses of the `manage.py up` that serves this DATA_DIR, so that other commands reach its servers."""
    data_dir = Path(env.get("DATA_DIR") or "var")
    path = (data_dir if data_dir.is_absolute() else BASE_DIR / data_dir) / INSTANCE_FILE
    try:
        values = json.loads(path.read_text())
    except (OSError, ValueError):
        return
    for name, value in values.items() if isinstance(values, dict) else ():
        env.setdefault(str(name), str(value))


def process_env() -> MutableMapping[str, str]:
    """This process's environment, completed by `.env` and by a running `manage.py up`."""
    read_env_file(os.environ)
    join_instance(os.environ)
    return os.environ
