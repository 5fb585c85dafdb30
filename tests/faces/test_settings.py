"""The settings of the pipeline, of people in the loop and of the guardrails, as the environment gives them."""

from typing import Any

import pytest

from hyperagent.lib import conf
from hyperagent.lib.llm.config import LLMSettings

GOOD = {
    "SECRET_KEY": "k" * 40,
    "DATABASE_URL": "postgresql://u:p@localhost/db",
    "REDIS_URL": "redis://localhost:6379/0",
}


def test_without_any_the_documented_defaults_hold() -> None:
    config = conf.load(GOOD)

    assert (config.routing_mode, config.max_handoffs, config.max_replans) == ("auto", 3, 2)
    assert config.plan_asks_above_usd == 1
    assert (
        config.context_compression_enabled,
        config.context_compression_token_threshold,
        config.context_compression_preserve_recent,
    ) == (True, 60_000, 10)
    assert (config.hitl_policy, config.hitl_timeout_seconds, config.hitl_expires_seconds) == ("durable", 120, 259_200)
    assert (config.hitl_decision_timeout_seconds, config.hitl_input_timeout_seconds) == (300, 300)
    assert (config.guardrails_enabled, config.guardrails_violation_action, config.guardrails_timeout_ms) == (
        True,
        "block",
        500,
    )
    assert (config.execution_mode, config.sandbox_provider, config.search_provider) == ("standard", "local", None)


@pytest.mark.spec("S42", "S85", "S208")
def test_each_can_be_set_in_any_case_of_letters() -> None:
    config = conf.load(
        {
            **GOOD,
            "ROUTING_MODE": "Deterministic",
            "MAX_HANDOFFS": "0",
            "MAX_REPLANS": "5",
            "PLAN_ASKS_ABOVE_USD": "2.50",
            "CONTEXT_COMPRESSION_ENABLED": "false",
            "EXECUTION_MODE": "CODEACT",
            "HITL_POLICY": "interactive",
            "GUARDRAILS_TOOL_ENABLED": "0",
            "GUARDRAILS_VIOLATION_ACTION": "warn",
            "SEARCH_PROVIDER": "searxng",
            "SEARXNG_URL": "http://search:8888",
            "SANDBOX_PROVIDER": "none",
        }
    )

    assert (config.routing_mode, config.max_handoffs, config.max_replans) == ("deterministic", 0, 5)
    assert config.plan_asks_above_usd == 2.5
    assert (config.context_compression_enabled, config.execution_mode) == (False, "codeact")
    assert (config.hitl_policy, config.guardrails_tool_enabled, config.guardrails_violation_action) == (
        "interactive",
        False,
        "warn",
    )
    assert (config.search_provider, config.sandbox_provider) == ("searxng", "none")


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("ROUTING_MODE", "guess", "auto, deterministic or llm"),
        ("MAX_HANDOFFS", "11", "0 to 10"),
        ("MAX_HANDOFFS", "-1", "0 to 10"),
        ("MAX_REPLANS", "many", "0 to 5"),
        ("PLAN_ASKS_ABOVE_USD", "cheap", "dollars"),
        ("PLAN_ASKS_ABOVE_USD", "nan", "0 for never"),
        ("CONTEXT_COMPRESSION_ENABLED", "perhaps", "true or false"),
        ("CONTEXT_COMPRESSION_TOKEN_THRESHOLD", "10", "1000"),
        ("CONTEXT_COMPRESSION_PRESERVE_RECENT", "0", "1 to 1000"),
        ("EXECUTION_MODE", "yolo", "standard or codeact"),
        ("HITL_POLICY", "never", "durable or interactive"),
        ("HITL_TIMEOUT_SECONDS", "0", "seconds"),
        ("HITL_DECISION_TIMEOUT_SECONDS", "5m", "seconds"),
        ("HITL_INPUT_TIMEOUT_SECONDS", "1.5", "seconds"),
        ("HITL_EXPIRES_SECONDS", "99999999", "30 days"),
        ("GUARDRAILS_ENABLED", "maybe", "true or false"),
        ("GUARDRAILS_STRICT", "2", "true or false"),
        ("GUARDRAILS_VIOLATION_ACTION", "explode", "block, warn or log"),
        ("GUARDRAILS_TIMEOUT_MS", "0", "1 to 60000"),
        ("SANDBOX_PROVIDER", "host", "local, e2b, docker, none, or boxlite, for which this version has no provider"),
        ("SEARCH_PROVIDER", "bing", "tavily, searxng or ddgs"),
    ],
)
def test_a_value_that_cannot_be_read_is_named_with_what_is_allowed(name: str, value: str, allowed: str) -> None:
    with pytest.raises(conf.BadConfig) as caught:
        conf.load({**GOOD, name: value})

    (problem,) = caught.value.problems
    assert problem.startswith(f"{name}={value!r} is not allowed")
    assert allowed in problem


def test_the_example_file_lists_every_setting() -> None:
    example = (conf.BASE_DIR / ".env.example").read_text()

    missing = [field.alias for field in conf.Config.model_fields.values() if f"{field.alias}=" not in example]

    assert missing == []


class Asked(dict[str, str]):
    """An environment that says nothing, and remembers what it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return super().get(name, default)


@pytest.mark.spec("S188", "S189")
def test_the_example_file_lists_every_setting_of_models() -> None:
    example, env = (conf.BASE_DIR / ".env.example").read_text(), Asked()

    LLMSettings.from_env(env)

    # `manage.py up` says this one to the processes that it starts.
    named = env.names - {"BUNDLED_MODEL_URL"}
    assert named > {"OPENAI_API_KEY", "PRO_FALLBACKS", "LLM_ATTEMPTS"}
    assert sorted(name for name in named if name not in example) == []
