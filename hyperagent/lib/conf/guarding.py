"""What scanners look for, and where agents may go."""

from typing import Annotated

from pydantic import Field, field_validator

from hyperagent.lib.conf.choices import ViolationAction
from hyperagent.lib.conf.values import FLAG, HOSTS, REDACTABLE, Lower, Topic, Words
from hyperagent.lib.outside.addresses import pattern_fault


class Guarding(Topic):
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
    guardrails_redact: Words = Field(
        REDACTABLE,
        alias="GUARDRAILS_REDACT",
        description=f"kinds, with commas between them, of: {', '.join(REDACTABLE)}",
    )
    egress_allow: Words = Field((), alias="EGRESS_ALLOW", description=HOSTS)
    egress_trusted: Words = Field((), alias="EGRESS_TRUSTED", description=HOSTS)

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
