"""The readers by themselves: whatever the chunks, the same deltas; and what servers do that no standard allows."""

import json
from collections.abc import Callable
from itertools import groupby, pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperagent.lib.llm.types import FinishReason, Piece, TextDelta, ThinkingDelta
from hyperagent.lib.llm.wire.anthropic import AnthropicReader
from hyperagent.lib.llm.wire.faults import ErrorInStream, WireFault
from hyperagent.lib.llm.wire.gemini import GeminiReader
from hyperagent.lib.llm.wire.openai import OpenAIReader
from hyperagent.lib.llm.wire.reader import Answer, StreamReader
from hyperagent.lib.llm.wire.sse import EventSplitter
from tests.scripted.script import ScriptedCall
from tests.scripted.speak import AnthropicSpeaker, Ending, GeminiSpeaker, OpenAISpeaker, Speaker

SPEAKERS: dict[str, Callable[[], Speaker]] = {
    "openai": lambda: OpenAISpeaker("m", "r", include_usage=True),
    "anthropic": lambda: AnthropicSpeaker("m", "r"),
    "gemini": lambda: GeminiSpeaker("m", "r"),
}
READERS: dict[str, Callable[[], StreamReader]] = {
    "openai": lambda: OpenAIReader(call_prefix="p"),
    "anthropic": lambda: AnthropicReader(call_prefix="p"),
    "gemini": lambda: GeminiReader(call_prefix="p"),
}
words = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=12)
arguments = st.dictionaries(words, words, max_size=3)


def _stream(protocol: str, thoughts: list[str], said: list[str], calls: list[ScriptedCall]) -> bytes:
    speaker = SPEAKERS[protocol]()
    parts = [speaker.head(), *(speaker.thinking(word) for word in thoughts), *(speaker.text(word) for word in said)]
    ending = Ending("tool_calls" if calls else "stop", 10, 5, 2, None)
    return b"".join([*parts, speaker.calls(calls), speaker.tail(ending)])


def _read(reader: StreamReader, chunks: list[bytes]) -> tuple[list[Piece], Answer]:
    """What was said and thought in turns, whatever the pieces of each, and the answer."""
    pieces = [piece for chunk in chunks for piece in reader.feed(chunk)] + reader.finish()
    turns: list[Piece] = [
        kind("".join(piece.text for piece in together)) for kind, together in groupby(pieces, key=type)
    ]
    return turns, reader.answer()


def _cut(stream: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(stream) + 1) for place in places), len(stream)]
    return [stream[start:end] for start, end in pairwise(edges)]


@pytest.mark.slow
@pytest.mark.parametrize("protocol", SPEAKERS)
@settings(max_examples=60, deadline=None)
@given(
    thoughts=st.lists(words, max_size=3),
    said=st.lists(words, max_size=5),
    asked=st.lists(arguments, max_size=2),
    places=st.lists(st.integers(min_value=0, max_value=10_000), max_size=30),
    crlf=st.booleans(),
    comments=st.booleans(),
)
def test_any_split_of_the_bytes_gives_the_same_answer(
    protocol: str,
    thoughts: list[str],
    said: list[str],
    asked: list[dict[str, str]],
    places: list[int],
    crlf: bool,
    comments: bool,
) -> None:
    calls = [ScriptedCall(name="tool", id=f"c{number}", arguments=json.dumps(one)) for number, one in enumerate(asked)]
    stream = _stream(protocol, thoughts, said, calls)
    whole_pieces, whole = _read(READERS[protocol](), [stream])
    if comments:
        stream = b": keep-alive\n\n" + stream.replace(b"\n\n", b"\n\n: still here\n\n")
    if crlf:
        stream = stream.replace(b"\n", b"\r\n")

    pieces, answer = _read(READERS[protocol](), _cut(stream, places))

    assert (pieces, answer) == (whole_pieces, whole)
    assert answer.text == "".join(said)
    assert (answer.thinking or "") == "".join(thoughts)
    assert [json.loads(call.arguments) for call in answer.tool_calls] == asked
    assert answer.finish_reason is (FinishReason.TOOL_CALLS if calls else FinishReason.STOP)


@pytest.mark.slow
@given(
    text=st.lists(st.sampled_from(["<think>", "</think>", "<thi", "nk>", "<", "/", "a", "b c "]), max_size=12).map(
        "".join
    ),
    places=st.lists(st.integers(min_value=0, max_value=200), max_size=20),
)
@settings(max_examples=200, deadline=None)
def test_think_tags_are_told_from_text_whatever_the_pieces(text: str, places: list[int]) -> None:
    edges = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    tokens = [text[start:end] for start, end in pairwise(edges)]

    heard = []
    for pieces in ([text], tokens):
        speaker = OpenAISpeaker("m", "r", include_usage=False)
        stream = b"".join(speaker.text(piece) for piece in pieces) + speaker.tail(Ending("stop", 1, 1, 0, None))
        _, answer = _read(OpenAIReader(call_prefix="p", think_tags=True), [stream])
        heard.append((answer.text, answer.thinking))

    assert heard[0] == heard[1]
    assert len(heard[0][0]) + len(heard[0][1] or "") <= len(text)


def _event(payload: str) -> bytes:
    return f"data: {payload}\n\n".encode()


def test_thinking_in_tags_is_thinking_where_the_provider_says_so() -> None:
    reader = OpenAIReader(call_prefix="p", think_tags=True)

    pieces = reader.feed(_event('{"choices":[{"delta":{"content":"<think>hm</think>yes"}}]}'))

    assert pieces == [ThinkingDelta("hm"), TextDelta("yes")]


def test_an_emoji_cut_in_two_by_the_server_does_not_break_the_stream() -> None:
    reader = OpenAIReader(call_prefix="p")

    pieces = reader.feed(_event('{"choices":[{"delta":{"content":"a\\ud83d"}}]}'))

    assert pieces == [TextDelta("a\ufffd")]


def test_a_nul_from_the_model_is_replaced() -> None:
    reader = OpenAIReader(call_prefix="p")

    reader.feed(_event('{"choices":[{"delta":{"content":"a\\u0000b"},"finish_reason":"stop"}]}'))

    assert reader.answer().text == "a\ufffdb"


def test_a_broken_event_is_a_fault() -> None:
    with pytest.raises(WireFault):
        OpenAIReader(call_prefix="p").feed(_event('{"choices":[{"del'))


@pytest.mark.parametrize("payload", ["[1]", '"x"', '{"choices": 5}', '{"choices": [{"delta": {"tool_calls": [7]}}]}'])
def test_an_event_of_another_shape_is_a_fault(payload: str) -> None:
    with pytest.raises(WireFault):
        OpenAIReader(call_prefix="p").feed(_event(payload))


@pytest.mark.parametrize("depth", [1000, 100_000], ids=["deep", "bottomless"])
def test_an_event_that_is_nested_too_deeply_is_a_fault(depth: int) -> None:
    """As a model writes that repeats itself: Gemini sends the arguments of a call as an object."""
    value = "[" * depth + "]" * depth
    function = f'{{"name": "save", "args": {{"value": {value}}}}}'

    with pytest.raises(WireFault):
        GeminiReader(call_prefix="p").feed(
            _event(f'{{"candidates": [{{"content": {{"parts": [{{"functionCall": {function}}}]}}}}]}}')
        )


def test_an_error_within_the_stream_is_told_from_an_answer() -> None:
    with pytest.raises(ErrorInStream) as raised:
        AnthropicReader(call_prefix="p").feed(
            _event('{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}')
        )

    assert raised.value.fields.code == "overloaded_error"


def test_a_stream_without_end_has_no_finish_reason() -> None:
    reader = OpenAIReader(call_prefix="p")

    _read(reader, [_event('{"choices":[{"delta":{"content":"half"}}]}')])

    assert reader.answer().finish_reason is None


def test_what_was_said_before_a_call_that_came_to_nothing_is_no_answer() -> None:
    reader = GeminiReader(call_prefix="p")
    reader.feed(_event('{"candidates":[{"content":{"parts":[{"text":"Let me look it up."}]}}]}'))

    with pytest.raises(WireFault):
        reader.feed(_event('{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}'))


def _calls_event(*calls: dict[str, Any], **choice: Any) -> bytes:
    return _event(json.dumps({"choices": [{"delta": {"tool_calls": calls}} | choice]}))


def test_calls_without_an_id_or_with_the_same_one_get_their_own() -> None:
    reader = OpenAIReader(call_prefix="p")
    first = {"index": 0, "id": "x", "function": {"name": "a"}}
    same = {"index": 1, "id": "x", "function": {"name": "b"}}
    without = {"index": 2, "function": {"name": "c"}}

    reader.feed(_calls_event(first, same, without, finish_reason="tool_calls"))

    ids = [(call.id, call.name) for call in reader.answer().tool_calls]
    assert ids == [("x", "a"), ("call_p_1", "b"), ("call_p_2", "c")]


def test_two_calls_at_one_index_stay_two() -> None:
    reader = OpenAIReader(call_prefix="p")

    for name in ("a", "b"):
        reader.feed(_calls_event({"index": 0, "id": name, "function": {"name": name, "arguments": "{}"}}))

    assert [call.name for call in reader.answer().tool_calls] == ["a", "b"]


def test_a_call_whose_name_comes_with_every_piece_has_it_once() -> None:
    reader = OpenAIReader(call_prefix="p")

    for piece in ('{"query": ', '"pumps"}'):
        reader.feed(_calls_event({"index": 0, "id": "c", "function": {"name": "web_search", "arguments": piece}}))

    assert [(call.name, call.arguments) for call in reader.answer().tool_calls] == [
        ("web_search", '{"query": "pumps"}')
    ]


def test_arguments_that_come_as_an_object_are_not_lost() -> None:
    reader = OpenAIReader(call_prefix="p")

    reader.feed(_calls_event({"index": 0, "id": "c", "function": {"name": "a", "arguments": {"query": "pümps"}}}))

    assert [call.arguments for call in reader.answer().tool_calls] == ['{"query": "pümps"}']


def test_calls_whose_index_is_null_stay_apart() -> None:
    reader = OpenAIReader(call_prefix="p")
    calls = [{"index": None, "function": {"name": name, "arguments": "{}"}} for name in ("a", "b")]

    reader.feed(_calls_event(*calls))

    assert [(call.name, call.arguments) for call in reader.answer().tool_calls] == [("a", "{}"), ("b", "{}")]


def test_reasoning_under_either_name_is_thinking() -> None:
    reader = OpenAIReader(call_prefix="p")

    pieces = reader.feed(_event('{"choices":[{"delta":{"reasoning":"a"}}]}'))
    pieces += reader.feed(_event('{"choices":[{"delta":{"reasoning_content":"b"}}]}'))

    assert pieces == [ThinkingDelta("a"), ThinkingDelta("b")]


def test_mistrals_parts_are_text_and_thinking() -> None:
    reader = OpenAIReader(call_prefix="p")
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "yes"}]

    pieces = reader.feed(_event(json.dumps({"choices": [{"delta": {"content": parts}}]})))

    assert pieces == [ThinkingDelta("hm"), TextDelta("yes")]


def test_a_stream_without_end_is_stopped_at_its_limit() -> None:
    splitter = EventSplitter(limit_bytes=1000)

    splitter.feed(b"x" * 1000)

    with pytest.raises(WireFault):
        splitter.feed(b"x")


def test_an_event_of_several_lines_is_one() -> None:
    assert EventSplitter(limit_bytes=1000).feed(b"data: {\ndata: }\n\n") == [b"{\n}"]
