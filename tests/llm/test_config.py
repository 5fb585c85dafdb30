"""What the environment says about models."""

import json
from typing import Any

import pytest

from hyperagent.lib.llm import BadSettings, LLMSettings, NoModelConfigured, Tier, Usage, adapter, resolve
from hyperagent.lib.llm.providers import LITELLM_PROVIDERS
from tests.llm.asking import KEY, ask, providers

MINE = {"name": "mine", "base_url": "http://localhost:9/v1", "api_key": KEY, "tier_models": {"pro": "m"}}


def _chosen(env: dict[str, str], **fields: Any) -> list[tuple[str, str]]:
    settings = LLMSettings.from_env(env)
    return [(target.provider.name, target.model) for target in resolve.targets(settings, ask(**fields))]


def test_without_any_provider_the_error_names_the_ways_out() -> None:
    with pytest.raises(NoModelConfigured) as raised:
        resolve.targets(LLMSettings.from_env({}), ask())

    assert "OPENAI_API_KEY" in raised.value.user_message


@pytest.mark.spec("S188")
def test_the_tier_chooses_the_providers_model() -> None:
    env = {"OPENAI_API_KEY": KEY}

    names = {tier: _chosen(env, tier=tier)[0] for tier in Tier}

    assert len(set(names.values())) == 3
    assert {provider for provider, _ in names.values()} == {"openai"}


@pytest.mark.spec("S188")
def test_each_tier_may_have_its_own_provider() -> None:
    env = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY, "GEMINI_API_KEY": KEY}
    env |= {"MAX_MODEL_PROVIDER": "anthropic", "PRO_MODEL_PROVIDER": "gemini", "LITE_MODEL_PROVIDER": "openai"}

    assert [_chosen(env, tier=tier)[0][0] for tier in (Tier.MAX, Tier.PRO, Tier.FLASH)] == [
        "anthropic",
        "gemini",
        "openai",
    ]


def test_lite_is_flash() -> None:
    assert Tier("lite") is Tier("LITE") is Tier.FLASH
    assert _chosen(providers(MINE | {"tier_models": {"lite": "small"}}), tier=Tier.FLASH) == [("mine", "small")]


def test_a_missing_tier_falls_to_the_nearest() -> None:
    models = {"pro": "p", "flash": "f"}

    assert _chosen(providers(MINE | {"tier_models": models}), tier=Tier.MAX) == [("mine", "p")]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("anthropic/claude-x", ("anthropic", "claude-x")),
        ("claude-x", ("anthropic", "claude-x")),
        ("mine/org/model-7b", ("mine", "org/model-7b")),
        ("groq/llama", ("groq", "llama")),
        ("gpt-9", ("openai", "gpt-9")),
    ],
)
def test_a_models_name_tells_its_provider(name: str, expected: tuple[str, str]) -> None:
    env = providers(MINE) | {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY, "PRO_MODEL": name}

    assert _chosen(env) == [expected]


def test_a_name_with_slashes_belongs_to_a_compatible_default_provider() -> None:
    assert _chosen(providers(MINE) | {"PRO_MODEL": "org/model-7b"}) == [("mine", "org/model-7b")]


@pytest.mark.spec("S184")
def test_an_agent_has_its_own_model_and_temperature() -> None:
    env = providers(MINE) | {"MAIL_MODEL": "mine/careful", "MAIL_TEMPERATURE": "0.1"}
    settings = LLMSettings.from_env(env)
    request = ask(agent="mail")

    assert _chosen(env, agent="mail") == [("mine", "careful")]
    assert _chosen(env, agent="research") == [("mine", "m")]
    assert resolve.temperature(settings, request) == 0.1
    assert resolve.temperature(settings, request.model_copy(update={"temperature": 0.7})) == 0.1
    assert resolve.temperature(settings, ask(agent="research", temperature=0.7)) == 0.7
    assert resolve.temperature(settings, ask(agent="mail", temperature=0, keeps_temperature=True)) == 0
    assert "keeps_temperature" not in ask(keeps_temperature=True).model_dump(mode="json")


def test_what_the_request_names_wins_and_has_no_fallback() -> None:
    env = providers(MINE) | {"OPENAI_API_KEY": KEY, "PRO_FALLBACKS": "mine/b", "MAIL_MODEL": "mine/careful"}

    assert _chosen(env, agent="mail", provider="openai", model="gpt-9") == [("openai", "gpt-9")]


def test_fallbacks_follow_the_choice_in_order_and_once() -> None:
    env = providers(MINE) | {
        "OPENAI_API_KEY": KEY,
        "DEFAULT_PROVIDER": "mine",
        "PRO_FALLBACKS": "mine/b, mine/m, gpt-9",
    }

    assert _chosen(env) == [("mine", "m"), ("mine", "b"), ("openai", "gpt-9")]


def test_work_that_nobody_asked_for_has_a_model_where_a_cheaper_one_than_the_answering_one_is_there() -> None:
    def has_cheaper(env: dict[str, str]) -> bool:
        return LLMSettings.from_env(env).has_cheaper

    def own(**models: str) -> dict[str, str]:
        return {
            "OPENAI_COMPATIBLE_PROVIDERS": json.dumps(
                [{"name": "mine", "base_url": "http://x/v1", "tier_models": models}]
            )
        }

    assert has_cheaper({"OPENAI_API_KEY": KEY})
    assert has_cheaper(own(pro="large", flash="small"))
    assert not has_cheaper(own(pro="one", flash="one"))
    assert not has_cheaper({"BUNDLED_MODEL_URL": "http://127.0.0.1:7/v1"})
    assert not has_cheaper({})


def test_the_bundled_model_serves_only_when_nothing_else_does() -> None:
    bundled = {"BUNDLED_MODEL_URL": "http://127.0.0.1:7/v1"}

    alone = LLMSettings.from_env(bundled)
    beside = LLMSettings.from_env(bundled | {"OPENAI_API_KEY": KEY})

    assert alone.bundled_only
    assert not alone.needs_litellm
    assert [provider.capable for provider in alone.providers] == [False]
    assert not beside.bundled_only
    assert [provider.name for provider in beside.providers] == ["openai"]


def test_only_an_agents_temperature_has_to_be_one() -> None:
    others = {"ROOM_TEMPERATURE": "21.5", "CPU_TEMPERATURE": "warm"}
    settings = LLMSettings.from_env(providers(MINE) | others | {"MAIL_TEMPERATURE": "21.5", "CHAT_TEMPERATURE": "hot"})

    faults = settings.faults_of_agents(("chat", "mail"))

    assert sorted(map(str, faults)) == [
        "CHAT_TEMPERATURE='hot': a number from 0 to 2",
        "MAIL_TEMPERATURE='21.5': a number from 0 to 2",
    ]
    assert resolve.temperature(settings, ask(agent="chat", temperature=0.7)) == 0.7


def test_all_bad_values_are_reported_at_once_without_secrets() -> None:
    broken = json.dumps([{"name": "Mine!", "base_url": "nowhere", "api_key": KEY, "tier_models": {"huge": "x"}}])
    env = {
        "OPENAI_COMPATIBLE_PROVIDERS": broken,
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": "ftp://user:geheim@host",
        "DEFAULT_PROVIDER": "opnai",
        "MAX_MODEL_PROVIDER": "nobody",
        "PRO_MODEL": "nobody/model",
        "FLASH_FALLBACKS": "gemini/x",
        "LLM_TOKEN_TIMEOUT_SECONDS": "soon",
        "LLM_ATTEMPTS": "0",
    }

    with pytest.raises(BadSettings) as raised:
        LLMSettings.from_env(env)

    assert {fault.variable for fault in raised.value.faults} == set(env) - {"OPENAI_API_KEY"}
    assert KEY not in str(raised.value)
    assert "geheim" not in str(raised.value)


def test_two_providers_of_one_name_are_refused() -> None:
    with pytest.raises(BadSettings, match="mine"):
        LLMSettings.from_env(providers(MINE, MINE))


def test_keys_are_hidden_wherever_settings_are_printed() -> None:
    settings = LLMSettings.from_env(providers(MINE) | {"OPENAI_API_KEY": KEY})

    assert KEY not in repr(settings)
    assert KEY not in settings.model_dump_json()


def test_an_agents_unknown_provider_is_found_by_whoever_knows_the_agents() -> None:
    env = providers(MINE) | {"MAIL_MODEL_PROVIDER": "nobody", "WHISPER_MODEL": "org/base", "OTHER_MODEL_PROVIDER": "x"}
    settings = LLMSettings.from_env(env)

    assert [fault.variable for fault in settings.faults_of_agents(["mail", "research"])] == ["MAIL_MODEL_PROVIDER"]


@pytest.mark.parametrize("name", ["local", "mine/some-embedder", "some-embedder", "mistral/mistral-embed"])
def test_an_embedding_model_that_leads_somewhere_is_taken(name: str) -> None:
    assert LLMSettings.from_env(providers(MINE) | {"EMBEDDING_MODEL": name}).embedding_model == name


@pytest.mark.parametrize("env", [{}, providers(MINE)], ids=["no provider", "another provider"])
def test_an_embedding_model_of_a_provider_that_nobody_configured_stops_the_start(env: dict[str, str]) -> None:
    """No vector was ever made, and a search went by words alone without anybody being told."""
    with pytest.raises(BadSettings, match=r"^EMBEDDING_MODEL='openai/embedder': local, or a model of one of those"):
        LLMSettings.from_env(env | {"EMBEDDING_MODEL": "openai/embedder"})


def test_the_classifier_of_instructions_has_variables_of_its_own() -> None:
    env = providers(MINE) | {"HITL_CLASSIFIER_PROVIDER": "mine", "HITL_CLASSIFIER_MODEL": "small"}

    choice = LLMSettings.from_env(env).agents["hitl_classifier"]

    assert (choice.provider, choice.model) == ("mine", "small")
    with pytest.raises(BadSettings, match="HITL_CLASSIFIER_PROVIDER"):
        LLMSettings.from_env(env | {"HITL_CLASSIFIER_PROVIDER": "nobody"})


@pytest.mark.slow
def test_every_name_of_a_litellm_provider_is_one() -> None:
    known = {provider.value for provider in adapter.litellm_library().litellm.LlmProviders}

    assert known >= LITELLM_PROVIDERS


def test_every_default_model_is_known_and_has_a_price() -> None:
    settings = LLMSettings.from_env({"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY, "GEMINI_API_KEY": KEY})

    for provider in settings.providers:
        for tier in Tier:
            target = resolve.Target(provider, provider.model_of(tier) or "")
            cost = adapter.cost_usd(target, Usage(prompt_tokens=1000, completion_tokens=1000))
            assert (cost or 0) > 0, target.model


@pytest.mark.parametrize(
    ("agent_model", "chosen"),
    [
        (None, [("mine", "named"), ("mine", "next")]),
        ("mine/chosen", [("mine", "chosen"), ("mine", "next")]),
        ("chosen", [("mine", "chosen"), ("mine", "next")]),
        ("", [("mine", "m"), ("mine", "next")]),
    ],
)
def test_what_a_request_says_of_its_agents_model_goes_before_the_agents_variables(
    agent_model: str | None, chosen: list[tuple[str, str]]
) -> None:
    env = providers(MINE) | {"CHAT_MODEL": "named", "CHAT_MODEL_PROVIDER": "mine", "PRO_FALLBACKS": "mine/next"}

    assert _chosen(env, agent="chat", agent_model=agent_model) == chosen


def test_a_model_that_the_request_itself_names_goes_before_the_agents_and_has_no_fallback() -> None:
    env = providers(MINE) | {"PRO_FALLBACKS": "mine/next"}

    assert _chosen(env, agent="chat", agent_model="mine/chosen", model="asked") == [("mine", "asked")]


def test_an_agents_model_of_a_provider_that_is_not_configured_is_told_with_the_way_out() -> None:
    with pytest.raises(NoModelConfigured, match="'openai' is no configured model provider"):
        _chosen(providers(MINE), agent="chat", agent_model="openai/x")
