"""How a question is worked on, and when people are asked."""

from typing import Annotated

from pydantic import Field

from hyperagent.lib.conf.choices import ExecutionMode, HitlPolicy, RoutingMode, Switch
from hyperagent.lib.conf.values import FLAG, MONTH_S, SECONDS, Lower, Topic


class Work(Topic):
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
