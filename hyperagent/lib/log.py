"""The log: one line an event, as text or JSON, with secrets blotted out. Decides how it looks, not what is said."""

import logging
import re
import sys
import threading
from collections.abc import Iterable
from types import TracebackType
from typing import Any

import structlog

from hyperagent.lib.conf import LogFormat
from hyperagent.lib.telemetry import tracing

HIDDEN = "[hidden]"
# Credentials by their shape, wherever they come from: bearer headers, our tokens, providers' keys, passwords in
# URLs, what people bring back from a sign-in elsewhere (OAuth), and the links by which they come in for the first time
# or get a new password.
_SHAPES = re.compile(
    r"(?i)(?<=bearer )[\w.~+/=-]{8,}|\b(?:sk|pk|ha|whsec|tvly|e2b)[-_][\w-]{12,}|\bAIza[\w-]{20,}|\bya29\.[\w.-]{20,}"
    r"|(?<=://)[^\s/:@]*:[^\s/@]+(?=@)|(?<=[?&]code=)[\w.~%/+-]{8,}|(?<=/password/reset/)[\w-]+/[\w-]{20,}"
    r"|(?<=/accounts/invited/)[\w:.%~-]{20,}"
)
_SECRET_KEYS = re.compile(
    r"(?i)password|passwd|secret|authorization|cookie|api_?key|(?<!prompt_)(?<!completion_)token$"
)


_OF_PROGRAM = ("exception", "stack")
_CONTROL = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))} | {10: "\\n", 13: "\\r", 9: "\t"}
_CONTROL |= {0x2028: "\\u2028", 0x2029: "\\u2029"}

# Asked every few seconds by those who watch us.
_WATCHERS = ("GET /healthz", "GET /readyz", "GET /metrics", "HEAD /healthz", "HEAD /readyz")


class RedactingFormatter(structlog.stdlib.ProcessorFormatter):
    """The last step before a line leaves: also what third parties log, and tracebacks, pass here."""

    def __init__(self, *args: Any, secrets: Iterable[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.secrets = tuple(secrets)

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record), self.secrets)


def redact(line: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        line = line.replace(secret, HIDDEN)
    return _SHAPES.sub(HIDDEN, line)


def hide_secret_keys(_logger: Any, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """A structlog processor: values under names such as `password` never reach a renderer."""
    return {key: HIDDEN if _SECRET_KEYS.search(key) else value for key, value in event.items()}


def on_one_line(_logger: Any, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Whatever people put into an address or a name begins no line of its own, and moves no terminal's cursor.
    Tracebacks are the program's."""
    return {
        key: value.rstrip("\n").translate(_CONTROL) if isinstance(value, str) and key not in _OF_PROGRAM else value
        for key, value in event.items()
    }


def drop_chatter(_logger: Any, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """One line for a request, its end; none for the requests of those who watch us."""
    name = str(event.get("event", ""))
    if name == "request_started" or (name == "request_finished" and str(event.get("request")).startswith(_WATCHERS)):
        raise structlog.DropEvent
    return event


class RedisAway(logging.Filter):
    """A Redis that is away is a line of the library that listens to it, and not a traceback a second: it comes back by
    itself."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, OSError) or type(error).__module__.startswith("redis."):
            record.msg, record.args, record.exc_info = f"cannot listen to Redis: {error}", (), None
            record.levelno, record.levelname = logging.WARNING, "WARNING"
        return True


_DATABASE_AWAY = (
    "psycopg.OperationalError",
    "psycopg.errors.AdminShutdown",
    "psycopg.errors.CannotConnectNow",
    "psycopg.errors.CrashShutdown",
    "django.db.utils.InterfaceError",
)
"""What is raised while nobody can be asked. Statements that the database refused have classes of their own."""


class DatabaseAway(logging.Filter):
    """A database that is restarted is a line of the queue, and not a traceback for each job: the queue looks again by
    itself, and what a job was for is found by its sweep."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        said, _, trace = record.getMessage().partition(" : Traceback (most recent call last)")
        raised = trace.splitlines() if error is None else [_named(error), _named(error.__cause__)]
        if any(line.startswith(_DATABASE_AWAY) for line in raised):
            why = "" if error is None else f": {error}"
            record.msg = f"{said}{why}".split("\n")[0] + " (the database is away; the queue looks again)"
            record.args, record.exc_info = (), None
            record.levelno, record.levelname = logging.WARNING, "WARNING"
        return True


def _named(error: BaseException | None) -> str:
    return f"{type(error).__module__}.{type(error).__qualname__}"


def logging_config(*, level: str, log_format: LogFormat, secrets: Iterable[str], faults_to: str = "") -> dict[str, Any]:
    """The value of Django's LOGGING; also sets structlog up, so that both take the same road. `faults_to`: a Sentry's
    address that is told of errors, too."""
    secrets = tuple(secrets)
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        hide_secret_keys,
        tracing.trace_ids,
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            drop_chatter,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": RedactingFormatter,
                "foreign_pre_chain": shared,
                "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_renderer(log_format)],
                "secrets": secrets,
            },
            "bare": {"format": "%(message)s"},
        },
        "filters": {"redis_away": {"()": RedisAway}, "database_away": {"()": DatabaseAway}},
        "handlers": {
            "console": {"class": "logging.StreamHandler", "stream": sys.stderr, "formatter": "line"},
            "stdout": {"class": "logging.StreamHandler", "stream": sys.stdout, "formatter": "bare"},
            **({"faults": {"()": _fault_handler, "dsn": faults_to, "secrets": secrets}} if faults_to else {}),
        },
        "root": {"handlers": ["console", *(["faults"] if faults_to else [])], "level": level},
        "loggers": {
            # Ours is the request log of django-structlog; these say the same again, or speak for every query.
            "django": {"handlers": [], "level": level, "propagate": True},
            "django.request": {"level": "CRITICAL"},
            # Whoever asks for a host that is not ours is told so, and is a line of the request log.
            "django.security.DisallowedHost": {"level": "CRITICAL"},
            "django.server": {"handlers": [], "level": "WARNING", "propagate": True},
            "django.db.backends": {"level": "INFO"},
            "django.channels.server": {"level": "WARNING"},
            "daphne": {"level": "WARNING"},
            "channels_redis.pubsub": {"filters": ["redis_away"]},
            "django-q": {"level": "WARNING", "filters": ["database_away"]},
            "httpx": {"level": "WARNING"},
            "asyncio": {"level": "WARNING"},
            # Events as JSON and nothing else, for whoever collects them (AUDIT_LOG_STREAM=stdout).
            "hyperagent.audit.stream": {"handlers": ["stdout"], "level": "INFO", "propagate": False},
            # A collector that is away is one line of ours (`hyperagent.lib.telemetry.exporting`), not one a batch.
            "opentelemetry.exporter": {"level": "CRITICAL"},
            "opentelemetry.sdk._shared_internal": {"level": "CRITICAL"},
        },
    }


def _fault_handler(dsn: str, secrets: tuple[str, ...]) -> logging.Handler:
    from hyperagent.lib.telemetry.faults import FaultHandler  # where nobody is told, nothing of it is needed

    return FaultHandler(dsn, lambda text: redact(text, secrets))


def take_what_python_prints() -> None:
    """Warnings, and exceptions that nobody caught, are lines of the log too: no secret is in them, a Sentry is told of
    them, and whoever reads JSON gets nothing else."""
    logging.captureWarnings(True)

    def uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
        else:
            logging.getLogger(__name__).critical("uncaught", exc_info=(kind, error, trace))

    def uncaught_in_thread(told: threading.ExceptHookArgs) -> None:
        if told.exc_value is not None and not isinstance(told.exc_value, SystemExit):
            uncaught(told.exc_type, told.exc_value, told.exc_traceback)

    sys.excepthook = uncaught
    threading.excepthook = uncaught_in_thread


def _renderer(log_format: LogFormat) -> list[structlog.typing.Processor]:
    if log_format is LogFormat.JSON:
        return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    return [
        on_one_line,
        structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback, pad_event_to=0),
    ]
