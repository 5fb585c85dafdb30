"""How long things are kept, and where the audit log goes."""

from pydantic import Field, SecretStr, field_validator

from hyperagent.lib.conf.values import SIGNING_SECRET, Topic
from hyperagent.lib.outside.addresses import BadAddress, canonical


class Keeping(Topic):
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
        "",
        alias="AUDIT_LOG_STREAM",
        description="stdout, or http(s)://host[:port][/path], without user and password, that takes signed posts",
    )
    audit_log_stream_secret: SecretStr = Field(
        SecretStr(""),
        alias="AUDIT_LOG_STREAM_SECRET",
        description="whsec_ and at least 24 random bytes in Base64",
    )

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
