"""Answers as values: by the provider's schema mode, in words, and mended."""

from typing import Literal

import pytest
from pydantic import BaseModel, Field

from hyperagent.lib.llm import LLMSettings, ModelGarbled, ModelGateway, ModelRefused, plain, structured
from tests.llm.asking import KEY, ask
from tests.llm.conftest import MakeGateway
from tests.scripted import Script, ScriptedServer


class Route(BaseModel):
    kind: Literal["chat", "research"]
    confidence: float = Field(ge=0, le=1)
    reason: str = ""


FITTING = '{"kind": "chat", "confidence": 0.5, "reason": "short"}'


async def test_the_providers_own_schema_mode_is_used(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    scripted_server.say(FITTING)

    answer = await gateway_with().structured(ask(), Route)

    assert answer.value == Route(kind="chat", confidence=0.5, reason="short")
    assert answer.repairs == 0
    wanted = scripted_server.calls[0].body["response_format"]["json_schema"]
    assert wanted["strict"] is True
    assert wanted["schema"]["required"] == ["kind", "confidence", "reason"]


async def test_a_server_without_schemas_is_asked_in_words_from_then_on(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    gateway = gateway_with()
    scripted_server.script(
        Script(status=400, error_message="response_format is not supported"), Script(text=FITTING, times=2)
    )

    await gateway.structured(ask(), Route)
    await gateway.structured(ask(), Route)

    assert ["response_format" in call.body for call in scripted_server.calls] == [True, False, False]
    assert "JSON schema" in scripted_server.calls[1].messages[0]["content"]


async def test_a_question_that_is_refused_in_words_too_says_nothing_of_schemas(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    gateway = gateway_with()
    scripted_server.script(Script(match="bad", status=400, error_message="held back", times=2), Script(text=FITTING))

    with pytest.raises(ModelRefused):
        await gateway.structured(ask("bad"), Route)
    await gateway.structured(ask("good"), Route)

    assert ["response_format" in call.body for call in scripted_server.calls] == [True, False, True]


@pytest.mark.parametrize(
    "text",
    [f"```json\n{FITTING}\n```", f"Here it is: {FITTING} I hope it helps.", f"\n {FITTING}\n"],
)
async def test_words_around_the_object_are_forgiven(
    scripted_server: ScriptedServer, gateway_with: MakeGateway, text: str
) -> None:
    scripted_server.say(text)

    answer = await gateway_with().structured(ask(), Route)

    assert (answer.value.kind, answer.repairs) == ("chat", 0)


async def test_the_model_is_told_what_was_wrong(scripted_server: ScriptedServer, gateway_with: MakeGateway) -> None:
    scripted_server.script(
        Script(text='{"kind": "chitchat", "confidence": 0.5}'),
        Script(text='{"kind": "chat", "confid'),
        Script(text=FITTING),
    )

    answer = await gateway_with().structured(ask(), Route)

    assert (answer.value.kind, answer.repairs) == ("chat", 2)
    first, second = scripted_server.calls[1].last_user, scripted_server.calls[2].last_user
    assert "kind" in first
    assert "'chat' or 'research'" in first
    assert "JSON" in second
    assert scripted_server.calls[1].messages[1]["content"] == '{"kind": "chitchat", "confidence": 0.5}'


async def test_an_answer_nested_without_end_is_repaired_as_any_other(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    """A model that repeats itself."""
    scripted_server.script(Script(text='So: {"kind": ' + "[" * 100_000), Script(text=FITTING))

    answer = await gateway_with().structured(ask(), Route)

    assert (answer.value.kind, answer.repairs) == ("chat", 1)


async def test_after_two_repairs_it_is_given_up(scripted_server: ScriptedServer, gateway_with: MakeGateway) -> None:
    scripted_server.script(Script(text="I would rather not.", times=3))

    with pytest.raises(ModelGarbled) as raised:
        await gateway_with().structured(ask(), Route)

    assert len(scripted_server.calls) == 3
    assert [reply.usage.prompt_tokens for reply in raised.value.paid] == [11, 11, 11]


async def test_what_was_paid_for_before_a_refusal_is_told_with_it(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    scripted_server.script(Script(text="I would rather not."), Script(status=401))

    with pytest.raises(ModelRefused) as raised:
        await gateway_with().structured(ask(), Route)

    assert [reply.text for reply in raised.value.paid] == ["I would rather not."]


async def test_another_refusal_is_not_taken_for_a_missing_schema_mode(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    scripted_server.script(Script(status=401))

    with pytest.raises(ModelRefused):
        await gateway_with().structured(ask(), Route)

    assert len(scripted_server.calls) == 1


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["anthropic", "gemini", "openai"])
async def test_each_provider_is_held_to_the_schema_in_its_own_way(
    scripted_server: ScriptedServer, protocol: str
) -> None:
    env = {"ANTHROPIC_API_KEY": KEY, "GEMINI_API_KEY": KEY, "OPENAI_API_KEY": KEY}
    env |= {"ANTHROPIC_BASE_URL": scripted_server.url, "GEMINI_BASE_URL": f"{scripted_server.url}/v1beta"}
    env |= {"OPENAI_BASE_URL": f"{scripted_server.url}/v1", "PRO_MODEL_PROVIDER": protocol}
    gateway = ModelGateway(LLMSettings.from_env(env))
    scripted_server.say(FITTING)

    answer = await gateway.structured(ask(), Route)

    assert answer.value.kind == "chat"
    body = scripted_server.calls[0].body
    schema_places = [body.get("response_format"), body.get("output_format"), body.get("generationConfig")]
    assert "confidence" in str(schema_places)
    await gateway.aclose()


def test_a_schema_with_free_keys_is_not_made_strict() -> None:
    class Free(BaseModel):
        counts: dict[str, int]

    assert plain.strict_schema(Free.model_json_schema()) is None
    assert plain.response_format(Free.model_json_schema())["json_schema"]["strict"] is False


def test_the_prompts_have_no_placeholder_left() -> None:
    request = structured.ask_in_words(ask(), Route)

    assert "{{" not in request.messages[0].content
    assert '"confidence"' in request.messages[0].content
