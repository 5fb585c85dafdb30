"""Postgres, Redis and files, how many processes there are, and who watches them."""

from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import environ
import psycopg
from psycopg.conninfo import conninfo_to_dict
from pydantic import Field, SecretStr, field_validator

from hyperagent.lib.bucket_address import BUCKET_FORM, bucket_at
from hyperagent.lib.conf.choices import LogFormat, LogLevel
from hyperagent.lib.conf.environment import BASE_DIR
from hyperagent.lib.conf.values import FLAG, Topic, is_ended_by_its_host
from hyperagent.lib.fault_address import DSN_FORM, fault_address

COLLECTOR = "the address of a collector: http(s)://host[:port][/path]"
POSTGRES: Final = "postgresql://user:password@host:port/database, with % and / of the password written as %25 and %2F"


def _is_postgres(url: str) -> bool:
    """Raises ValueError for a port that is none."""
    if not url.startswith(("postgresql://", "postgres://")) or not environ.Env.db_url_config(url)["NAME"]:
        return False
    try:
        # Who takes it apart by itself, as Django does, lets through what Postgres' own library refuses.
        conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        return False
    # Else a sign of the password ended what is taken for the host.
    return "@" not in urlsplit(url).path


class Servers(Topic):
    database_url: SecretStr = Field(SecretStr(""), alias="DATABASE_URL", description=POSTGRES)
    database_direct_url: SecretStr = Field(
        SecretStr(""),
        alias="DATABASE_DIRECT_URL",
        description=f"{POSTGRES}, past the PgBouncer that DATABASE_URL leads to",
    )
    redis_url: SecretStr = Field(
        SecretStr(""), alias="REDIS_URL", description="redis://host:port/0, rediss://… or unix:///path/to/socket"
    )
    data_dir: Path = Field(Path("var"), alias="DATA_DIR", description="a directory that this user may write")
    storage_url: SecretStr = Field(SecretStr(""), alias="STORAGE_URL", description=BUCKET_FORM)
    runners: int = Field(1, alias="RUNNERS", ge=0, le=64, description="runner processes of one worker, 0 to 64")
    queue_workers: int = Field(2, alias="QUEUE_WORKERS", ge=1, le=16, description="background job processes, 1 to 16")
    db_pool_size: int = Field(
        16,
        alias="DB_POOL_SIZE",
        ge=1,
        le=200,
        description="database connections of one web or runner process, 1 to 200",
    )
    metrics_token: SecretStr = Field(SecretStr(""), alias="METRICS_TOKEN", description="a token for /metrics")
    metrics_port: int = Field(
        0, alias="METRICS_PORT", ge=0, le=65535, description="a port for a worker's /metrics, 1 to 65535; 0 for none"
    )
    otel_endpoint: str = Field("", alias="OTEL_EXPORTER_OTLP_ENDPOINT", description=COLLECTOR)
    otel_traces_endpoint: str = Field("", alias="OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", description=COLLECTOR)
    otel_capture_content: bool = Field(False, alias="OTEL_CAPTURE_CONTENT", description=FLAG)
    sentry_dsn: SecretStr = Field(SecretStr(""), alias="SENTRY_DSN", description=DSN_FORM)
    log_level: LogLevel = Field(LogLevel.INFO, alias="LOG_LEVEL", description="DEBUG, INFO, WARNING or ERROR")
    log_format: LogFormat = Field(LogFormat.TEXT, alias="LOG_FORMAT", description="text or json")

    @field_validator("database_url", "database_direct_url")
    @classmethod
    def _postgres(cls, value: SecretStr) -> SecretStr:
        url = value.get_secret_value()
        if url and not _is_postgres(url):
            raise ValueError("not a Postgres address")
        return value

    @field_validator("storage_url")
    @classmethod
    def _bucket(cls, value: SecretStr) -> SecretStr:
        if value.get_secret_value():
            bucket_at(value.get_secret_value())
        return value

    @field_validator("otel_endpoint", "otel_traces_endpoint")
    @classmethod
    def _takes_traces(cls, value: str) -> str:
        parts = urlsplit(value)
        # To look at a port that is no number raises.
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
            raise ValueError("not a web address")
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
        # To look at a port that is no number raises.
        is_reached = parts.scheme in ("redis", "rediss") and parts.port != 0 and is_ended_by_its_host(url)
        if url and not (named and (is_reached or parts.scheme == "unix")):
            raise ValueError("not a Redis address")
        return value

    @property
    def direct_database_url(self) -> str:
        """Whose sessions are Postgres' own: for listeners, locks that outlive a transaction, prepared statements."""
        return self.database_direct_url.get_secret_value() or self.database_url.get_secret_value()

    @property
    def data_path(self) -> Path:
        """DATA_DIR as an absolute path; a relative one counts from the project's folder."""
        return self.data_dir if self.data_dir.is_absolute() else BASE_DIR / self.data_dir
