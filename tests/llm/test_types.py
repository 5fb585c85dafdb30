"""What the journal stores comes back the same."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from hyperagent.lib.llm import FinishReason, Message, ModelReply, ModelRequest, Role, Tier, ToolCall, ToolSpec, Usage

text = st.text(st.characters(codec="utf-8"), max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
calls = st.builds(ToolCall, id=text, name=text, arguments=text)
messages = st.builds(
    Message,
    role=st.sampled_from(Role),
    content=text,
    tool_calls=st.lists(calls, max_size=2).map(tuple),
    tool_call_id=st.none() | text,
    thinking=st.none() | text,
    thinking_signature=st.none() | text,
)
requests = st.builds(
    ModelRequest,
    tier=st.sampled_from(Tier),
    messages=st.lists(messages, max_size=3).map(tuple),
    tools=st.lists(
        st.builds(ToolSpec, name=text, description=text, parameters=st.dictionaries(text, json_values, max_size=3)),
        max_size=2,
    ).map(tuple),
    temperature=st.none() | st.floats(0, 2),
    max_tokens=st.none() | st.integers(1, 10**6),
    may_call=st.booleans(),
    response_schema=st.none() | st.dictionaries(text, json_values, max_size=3),
    agent=st.none() | text,
)
replies = st.builds(
    ModelReply,
    text=text,
    thinking=st.none() | text,
    tool_calls=st.lists(calls, max_size=2).map(tuple),
    finish_reason=st.sampled_from(FinishReason),
    usage=st.builds(Usage, prompt_tokens=st.integers(0, 10**9), completion_tokens=st.integers(0, 10**9)),
    provider=text,
    model=text,
    cost_usd=st.none() | st.decimals(0, 100, places=10),
)


@pytest.mark.slow
@given(requests)
def test_a_request_round_trips_exactly(request: ModelRequest) -> None:
    stored = request.model_dump_json()

    back = ModelRequest.model_validate_json(stored)

    assert back == request
    assert back.model_dump_json() == stored


@given(replies)
def test_a_reply_round_trips_exactly(reply: ModelReply) -> None:
    stored = reply.model_dump_json()

    back = ModelReply.model_validate_json(stored)

    assert back == reply
    assert back.model_dump_json() == stored


def test_an_unknown_price_is_none_and_never_zero() -> None:
    reply = ModelReply(finish_reason=FinishReason.STOP, provider="p", model="m")

    assert reply.cost_usd is None
    assert ModelReply.model_validate_json(reply.model_dump_json()).cost_usd is None
    assert ModelReply.model_validate_json(
        '{"finish_reason":"stop","provider":"p","model":"m","cost_usd":"0.1"}'
    ).cost_usd == Decimal("0.1")


def test_values_are_frozen_and_closed() -> None:
    message = Message(role=Role.USER, content="a")

    with pytest.raises(ValidationError):
        message.content = "b"  # type: ignore[misc]
    with pytest.raises(ValidationError):
        Message(role=Role.USER, content="a", mood="good")  # type: ignore[call-arg]


def test_a_request_that_may_call_is_stored_as_it_was_before_there_were_others() -> None:
    """Its hash is in journals: another form would cut them."""
    request = ModelRequest(tier=Tier.PRO, messages=())

    assert "may_call" not in request.model_dump(mode="json")
    assert request.model_copy(update={"may_call": False}).model_dump(mode="json")["may_call"] is False
