"""Django's settings, made of what `hyperagent.lib.conf` read from the environment. No value is decided twice."""

import os
import sys
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import environ
from csp.constants import NONCE, NONE, SELF

from hyperagent.lib import bare_imports

bare_imports.import_bare(bare_imports.EVERYWHERE)

from hyperagent.lib import conf, languages, patience
from hyperagent.lib.bucket_address import bucket_at
from hyperagent.lib.lanes import Lane
from hyperagent.lib.log import logging_config, take_what_python_prints

BASE_DIR = conf.BASE_DIR

# `up` and `restore` bring the servers themselves, `doctor` says what is missing; the others are of no use without them.
_COMMAND = sys.argv[1] if Path(sys.argv[0]).name == "manage.py" and len(sys.argv) > 1 else ""
_WITHOUT_SERVERS = {
    "up",
    "restore",
    "app_install",
    "mcp_install",
    "doctor",
    "check",
    "makemigrations",
    "spectacular",
    "collectstatic",
    "help",
    "version",
    "--help",
    "-h",
    "--version",
}
try:
    conf.read_env_file(os.environ)
    # These two hold the folder themselves: what serves it is none of theirs, and the note may be of one that was
    # killed.
    if _COMMAND not in ("up", "restore"):
        conf.join_instance(os.environ)
    CONFIG = conf.load(os.environ, needs_servers=_COMMAND not in _WITHOUT_SERVERS)
except conf.BadConfig as error:
    sys.stderr.write(f"{error.text()}\n")
    raise SystemExit(2) from None

# Set by `hyperagent.asgi` before anything is read. The queue forks, so it may not pool connections.
IS_WEB = os.environ.get("HYPERAGENT_PROCESS") == "web"
IS_RUNNER = os.environ.get("HYPERAGENT_PROCESS") == "runner"
IS_QUEUE = os.environ.get("HYPERAGENT_PROCESS") == "queue"

SECRET_KEY = CONFIG.secret_key.get_secret_value()
SECRET_KEY_FALLBACKS = list(CONFIG.secret_key_fallbacks)
DEBUG = CONFIG.debug
ALLOWED_HOSTS = list(CONFIG.hosts)

INSTALLED_APPS = [
    "hyperagent.accounts.site.AdminConfig",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "channels",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "django_prometheus",
    "django_q",
    "csp",
    # Before ours, which takes their pages out of the admin. Of both the tables and the arithmetic are used, no address.
    "hyperagent.accounts.mfa.allauth_apps.AccountConfig",
    "hyperagent.accounts.mfa.allauth_apps.FactorsConfig",
    "hyperagent.audit",
    "hyperagent.accounts",
    # After ours, whose command to change a password stands in for its own.
    "django.contrib.auth",
    "hyperagent.notices",
    "hitl",
    "memory",
    "agents",
    "conversations",
    "hyperagent.apps.HyperAgentConfig",
]
AUTH_USER_MODEL = "accounts.User"
ROOT_URLCONF = "hyperagent.urls"
ASGI_APPLICATION = "hyperagent.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

MIDDLEWARE = [
    "hyperagent.lib.telemetry.requests.WatchedRequests",
    "hyperagent.lib.telemetry.requests.LoggedRequests",
    "hyperagent.accounts.middleware.KnownOrigin",
    "django.middleware.security.SecurityMiddleware",
    "hyperagent.headers.Headers",
    # Above all that may refuse a request: its answers have the header as well.
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "hyperagent.static_files.StaticFiles",
    "csp.middleware.CSPMiddleware",
    "hyperagent.accounts.sessions.Sessions",
    "django.middleware.locale.LocaleMiddleware",
    "hyperagent.headers.KnownHosts",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "hyperagent.accounts.middleware.BackToTheForm",
    "hyperagent.accounts.mfa.middleware.SecondFactorFirst",
    "hyperagent.accounts.middleware.PersonalTime",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "csp.context_processors.nonce",
                "hitl.waiting.for_me",
            ]
        },
    }
]

# ── Postgres, the only truth ──────────────────────────────────────────────────────────────────────────────────────────


def _database(url: str, *, is_pooled: bool) -> dict[str, Any]:
    """In threads each piece of work would connect anew (9 ms), so the processes that serve many at once pool: the
    web's and the runners. The queue's few processes keep the one connection they have; they fork, and a pool that is
    forked corrupts the protocol."""
    if not url:
        return {}
    options: dict[str, Any] = {"application_name": os.environ.get("HYPERAGENT_NAME", "hyperagent")}
    if IS_WEB or IS_RUNNER:
        # Without `reconnect_timeout` the pool waits ever longer between its tries: 10 s and more after a short outage.
        options["pool"] = {"min_size": 1, "max_size": CONFIG.db_pool_size, "timeout": 5, "reconnect_timeout": 1}
    if not is_pooled:
        # What `hyperagent.lib.rows` executes is prepared when it comes again; Django's own statements never are.
        options["prepare_threshold"] = 2
    parsed = environ.Env.db_url_config(url)
    return {
        **parsed,
        "ENGINE": "hyperagent.lib.pooled" if "pool" in options else "django.db.backends.postgresql",
        "OPTIONS": {**patience.POSTGRES, **parsed.get("OPTIONS", {}), **options},
        # Of a pooler that lends a connection for a transaction only nothing may outlive that.
        "DISABLE_SERVER_SIDE_CURSORS": is_pooled,
        "CONN_MAX_AGE": None if IS_QUEUE else 0,
        "CONN_HEALTH_CHECKS": True,
    }


# The web process alone may stand behind PgBouncer: it keeps nothing in a session. All others do.
_BEHIND_POOLER = IS_WEB and bool(CONFIG.database_direct_url.get_secret_value())
DATABASES: dict[str, Any] = {
    "default": _database(
        CONFIG.database_url.get_secret_value() if IS_WEB else CONFIG.direct_database_url, is_pooled=_BEHIND_POOLER
    )
}

# ── Redis: news between processes, and what may be forgotten ──────────────────────────────────────────────────────────

_REDIS_URL = CONFIG.redis_url.get_secret_value() or "redis://127.0.0.1:6379/0"
CHANNEL_LAYERS = {
    "default": {
        # The default layer keeps 100 messages and drops the rest in silence.
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        # redis-py 8 would drop every silent socket after five seconds.
        "CONFIG": {
            "hosts": [{"address": _REDIS_URL, "socket_timeout": None, **patience.redis_options(_REDIS_URL)}],
            "prefix": "hyperagent",
        },
    }
}
CACHES: dict[str, Any] = {
    "default": {
        "BACKEND": "hyperagent.lib.cache.Cache",
        "LOCATION": _REDIS_URL,
        "KEY_PREFIX": "hyperagent",
        "OPTIONS": {
            "serializer": "hyperagent.lib.cache.JsonSerializer",
            "socket_connect_timeout": 1,
            "socket_timeout": 1,
        },
    },
    # What the queue's library would keep; nobody reads it.
    "nowhere": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"},
}

# ── The queue of background jobs. Its rules are in `hyperagent.lib.queue` ─────────────────────────────────────────────

Q_CLUSTER = {
    "name": Lane.SOON.value,
    "broker_class": "hyperagent.lib.queue.NotifiedBroker",
    "orm": "default",
    "workers": CONFIG.queue_workers,
    # One task at a time waits in a process's memory: more would age there and be run twice.
    "queue_limit": 1,
    "bulk": 1,
    "timeout": 300,
    "retry": 1000,
    "max_attempts": 1,
    "ack_failures": True,
    "save_limit": -1,
    # Ours goes by the database's clock.
    "scheduler": False,
    "recycle": 500,
    "guard_cycle": 2,
    "cache": "nowhere",
    "log_level": "WARNING",
}

# ── People ────────────────────────────────────────────────────────────────────────────────────────────────────────────

SILENCED_SYSTEM_CHECKS = [
    # The address is unique without regard to case, by a constraint that these checks do not see.
    "auth.E003",
    "auth.W004",
    # Whether a domain goes into the browsers' preload lists, for good, is its owner's to decide.
    "security.W021",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "hyperagent.accounts.passwords.Guessable"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "accounts:login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "accounts:login"
# A link that lies in a mailbox.
PASSWORD_RESET_TIMEOUT = 3600
SIGN_ON = CONFIG.sign_on
# Where everybody signs in at the provider, accounts begin there.
REGISTRATION_OPEN = CONFIG.registration_open and not CONFIG.oidc_required
# Second factors, by the parts of django-allauth that know no page: see `hyperagent.accounts.mfa`.
MFA_REQUIRED_FOR = CONFIG.mfa_required_for
MFA_ADAPTER = "hyperagent.accounts.mfa.adapter.Adapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_RECOVERY_CODE_DIGITS = 10
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
EMAIL_CONFIG = environ.Env.email_url_config(CONFIG.email_url.get_secret_value())
if EMAIL_CONFIG["EMAIL_BACKEND"] == "django.core.mail.backends.smtp.EmailBackend":
    EMAIL_CONFIG["EMAIL_BACKEND"] = "hyperagent.lib.smtp_backend.EmailBackend"
vars().update(EMAIL_CONFIG)
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = CONFIG.email_from
SITE_URL = CONFIG.site_url
WEBHOOK_ALLOW_PRIVATE = CONFIG.webhook_allow_private
MAIL_ALLOW_PRIVATE = CONFIG.mail_allow_private
GMAIL_CLIENT_ID = CONFIG.gmail_client_id
GMAIL_CLIENT_SECRET = CONFIG.gmail_client_secret.get_secret_value()
GMAIL_BASE_URL = CONFIG.gmail_base_url

# ── Browsers: strict by default, and stricter over https ──────────────────────────────────────────────────────────────

SESSION_ENGINE = "hyperagent.accounts.sessions"
SESSION_COOKIE_AGE = 3600 * CONFIG.session_lifetime_hours
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_TRUSTED_ORIGINS = list(CONFIG.origins)
CSRF_FAILURE_VIEW = "hyperagent.errors.csrf_failure"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
if CONFIG.is_https:
    SESSION_COOKIE_NAME = "__Host-sessionid"
    CSRF_COOKIE_NAME = "__Host-csrftoken"
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
    SECURE_HSTS_SECONDS = 31_536_000
    # Previews of apps stand below it.
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    SECURE_SSL_REDIRECT = True
    # Asked from inside, past the proxy.
    SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
if CONFIG.trusted_proxies:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
TRUSTED_PROXIES = CONFIG.trusted_proxies
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF, NONCE],
        "style-src": [SELF],
        "img-src": [SELF, "data:", "blob:"],
        "connect-src": [SELF],
        # Previews of apps, each on an origin of its own.
        "frame-src": [SELF, *([f"*.{CONFIG.preview_name}:*"] if CONFIG.preview_name else [])],
        "object-src": [NONE],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
    }
}
# A question, with room for its JSON; what is longer is refused before it is read.
DATA_UPLOAD_MAX_MEMORY_SIZE = 6 * CONFIG.max_question_chars + 100_000
# What is larger than that is not heard to its end (`hyperagent.paced_answers`). What is just larger than a file may be
# is refused by whoever would take it, by its name.
REQUEST_MAX_BYTES = 2 * max(DATA_UPLOAD_MAX_MEMORY_SIZE, CONFIG.document_max_bytes, CONFIG.workspace_file_max_bytes)

# ── Files ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = BASE_DIR / "staticfiles"
# Served from where they lie: no collectstatic on a fresh machine.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG


def _files(url: str) -> dict[str, Any]:
    """A bucket, or the folder MEDIA_ROOT. Its client is imported with the first file."""
    if not url:
        return {"BACKEND": "django.core.files.storage.FileSystemStorage"}
    return {"BACKEND": "hyperagent.lib.bucket.Bucket", "OPTIONS": asdict(bucket_at(url))}


STORAGES = {
    "default": _files(CONFIG.storage_url.get_secret_value()),
    "staticfiles": {"BACKEND": "hyperagent.static_files.VersionedFiles"},
}
warnings.filterwarnings("ignore", message="No directory at", category=UserWarning)
MEDIA_ROOT = CONFIG.data_path / "media"

# ── Programs ──────────────────────────────────────────────────────────────────────────────────────────────────────────

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "hyperagent.accounts.authentication.TokenAuthentication",
        "hyperagent.accounts.authentication.PageAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["hyperagent.lib.api.CleanJSONParser"],
    "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.CursorPagination",
    "PAGE_SIZE": 50,
    "DEFAULT_FILTER_BACKENDS": ["django_filters.rest_framework.DjangoFilterBackend"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_THROTTLE_CLASSES": ["hyperagent.accounts.throttles.ApiThrottle"],
    "DEFAULT_THROTTLE_RATES": {
        "user": "1200/min",
        "anon": "60/min",
        "login": "10/min",
        "token": "10/min",
        "shared": "60/min",
    },
    "NUM_PROXIES": CONFIG.trusted_proxies,
    "EXCEPTION_HANDLER": "hyperagent.lib.api.exception_handler",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
    # With it `?format=csv` would be a page that is not there; who takes a form has a parameter for it.
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "HyperAgent",
    "VERSION": "0.1.0",
    "DESCRIPTION": "Durable agent runs, human approval, sources.",
    "SERVE_INCLUDE_SCHEMA": False,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "hyperagent.lib.openapi.describe_errors",
    ],
    "ENUM_NAME_OVERRIDES": {
        "ExecutionStatus": "agents.engine.states.ExecutionStatus",
        "AgentStatus": "agents.engine.states.AgentStatus",
        "RequestStatus": "hitl.kinds.RequestStatus",
        "RequestKind": "hitl.kinds.RequestKind",
        "RuleScope": "hitl.kinds.RuleScope",
        "RememberScope": "hitl.api.rule_serializers.REMEMBER_SCOPES",
        "SwitchScope": "hitl.api.rule_serializers.SWITCH_SCOPES",
        "Via": "hitl.kinds.Via",
        "AccountKind": "hyperagent.accounts.scopes.UserKind",
        "BudgetOf": "hyperagent.accounts.budgets.Whose",
        "ScheduleKind": "conversations.schedules.api.KINDS",
        "ScheduleApprovalRule": "conversations.schedules.api.APPROVAL_RULES",
    },
}

# ── Words, time, log ──────────────────────────────────────────────────────────────────────────────────────────────────

LANGUAGE_CODE = languages.ENGLISH
LANGUAGES = list(languages.LANGUAGES.items())
LOCALE_PATHS = [BASE_DIR / "locale"]
FORMAT_MODULE_PATH = "hyperagent.formats"
# A person's own choice lives here while they are signed in; without it the browser's languages decide.
LANGUAGE_COOKIE_AGE = 31_536_000
LANGUAGE_COOKIE_SECURE = CONFIG.is_https
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

# At a terminal somebody tries things out, and reads what Python says of them.
if CONFIG.log_format is conf.LogFormat.JSON or not sys.stderr.isatty():
    take_what_python_prints()
LOGGING = logging_config(
    level=CONFIG.log_level,
    log_format=CONFIG.log_format,
    secrets=conf.secrets_in(os.environ),
    faults_to=CONFIG.sentry_dsn.get_secret_value(),
)
DJANGO_STRUCTLOG_CELERY_ENABLED = False
# The address is logged by `hyperagent.apps`.
DJANGO_STRUCTLOG_IP_LOGGING_ENABLED = False
DJANGO_STRUCTLOG_USER_ID_FIELD = "pk"
