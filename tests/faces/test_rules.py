"""The pure parts: what is sent when, how much, and what a run is told of before."""

import asyncio
import json
import random
from typing import Any

import pytest
from channels.layers import get_channel_layer
from hypothesis import given
from hypothesis import strategies as st

from agents.log.following import Follower
from agents.modes import DEFAULT_MODE, MODES, available_modes, resolve_mode
from conversations.history import CUT, MAX_CHARS, Said, window
from conversations.options import model_fault
from conversations.window import BURST, SILENT_BYTES, WINDOW_EVENTS, Allowance, Feed, Window
from hyperagent.lib.announcing import publish
from hyperagent.lib.listening import listening
from hyperagent.lib.llm import LLMSettings, Tier
from hyperagent.lib.llm.providers import BUNDLED, Protocol, Provider
from hyperagent.lib.refusals import Refused

texts = st.lists(
    st.builds(Said, role=st.sampled_from(["user", "assistant"]), content=st.text(max_size=300)), max_size=30
)


@pytest.mark.slow
@given(texts, st.integers(min_value=0, max_value=2000))
def test_the_window_is_the_end_of_what_was_said_and_fits(messages: list[Said], limit: int) -> None:
    chosen = window(messages, max_chars=limit)

    said = [message for message in messages if message["content"].strip()]
    assert sum(len(one["content"]) for one in chosen) <= limit
    whole = [one for one in chosen if CUT not in one["content"]]
    assert whole == (said[-len(whole) :] if whole else [])


def test_a_long_message_keeps_its_beginning_and_its_end() -> None:
    long = Said(role="user", content="begin" + "x" * 2 * MAX_CHARS + "end")

    (kept,) = window([long])

    assert len(kept["content"]) == MAX_CHARS
    assert kept["content"].startswith("begin")
    assert kept["content"].endswith("end")


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(1, 4)), max_size=40), st.integers(0, 6))
def test_a_follower_gives_every_number_once_and_in_order_or_says_that_something_is_missing(
    announced: list[tuple[int, int]], after: int
) -> None:
    follower, got = Follower(after), []

    for first, count in announced:
        had = follower.last
        fresh = follower.fresh(first, first + count - 1, [str(seq) for seq in range(first, first + count)])
        if fresh is None:
            assert first > had + 1 or first + count - 1 <= had
        else:
            got += [int(body) for body in fresh]

    assert got == list(range(after + 1, after + 1 + len(got)))


@pytest.mark.spec("B9", "B10")
@pytest.mark.parametrize(
    ("had", "first", "known", "epoch", "lost"),
    [
        (12, 10, 3, 4, True),  # the next driver gives 10 to 12 again: a crash of Postgres took them
        (12, 13, 3, 4, False),  # it goes on where the reader is
        (12, 10, 3, 3, False),  # the same driver, heard twice
        (12, 10, 4, 3, False),  # news of the driver before, come late
        (12, 10, 0, 4, False),  # the first that this reader hears: it came with numbers that it has
    ],
)
def test_a_reader_knows_by_the_drivers_number_that_the_log_lost_its_end(
    had: int, first: int, known: int, epoch: int, lost: bool
) -> None:
    follower, feed = Follower(had), Feed(sent=had, acked=had, known=had)
    if known:
        assert not follower.lost(had + 1, known, ["x"])
        assert not feed.lost(had + 1, known, ["x"])

    assert follower.lost(first, epoch, ["y"]) is lost
    assert feed.lost(first, epoch, ["y"]) is lost
    assert not follower.lost(first, epoch, ["y"]), "told once"


@pytest.mark.spec("B9", "B10")
@pytest.mark.parametrize(
    ("first", "bodies", "lost"),
    [
        (3, ["c", "d"], False),  # the table was read before the news came
        (3, ["c", "d", "e"], False),  # and a little more
        (2, ["b"], False),
        (3, ["c", "D"], True),
        (1, ["A"], True),
        (3, [], True),  # too long to be announced: only the table can tell
    ],
)
def test_a_new_drivers_events_that_came_by_the_table_first_are_not_lost_ones(
    first: int, bodies: list[str], lost: bool
) -> None:
    follower, feed, sockets_window = Follower(0), Feed(sent=0, acked=0, known=0), Window()
    for reader in (follower, feed):
        assert not reader.lost(1, 1, ["a"])
    for body in "abcd":
        follower.got(body)
        sockets_window.sent(feed, body)

    assert follower.lost(first, 2, bodies) is lost
    assert feed.lost(first, 2, bodies) is lost


def test_the_window_counts_what_is_under_way_in_all_runs() -> None:
    one, two = Feed(sent=0, acked=0, known=0), Feed(sent=0, acked=0, known=0)
    sockets_window = Window(feeds={"one": one, "two": two})
    for feed in (one, two):
        for _ in range(90):
            sockets_window.sent(feed, "x")

    sockets_window.acked("one", 50)

    assert sockets_window.room() == WINDOW_EVENTS - 40 - 90
    sockets_window.acked("two", 10_000)
    assert sockets_window.room() == WINDOW_EVENTS - 40


def test_who_is_silent_has_a_number_of_bytes_and_every_word_renews_it() -> None:
    feed = Feed(sent=0, acked=0, known=0)
    silent = Window(feeds={"one": feed})

    silent.sent(feed, "x" * (SILENT_BYTES + 1))
    assert silent.room() == 0

    silent.heard()
    assert silent.room() > 0


def test_the_allowance_bears_a_burst_and_not_a_flood() -> None:
    allowance = Allowance(at_s=0.0)

    assert all(allowance.take(0.0) for _ in range(int(BURST)))
    assert not allowance.take(0.0)
    assert allowance.take(1.0)


def test_every_mode_of_document_one_is_known_in_both_spellings() -> None:
    for name in ("task", "research", "data", "app", "image", "slide", "chat", "code", "writing"):
        assert name in MODES
        for spelling in (name, name.upper()):
            if name in available_modes():
                assert resolve_mode(spelling).name == name
            else:
                with pytest.raises(Refused, match="not available yet"):
                    resolve_mode(spelling)


@pytest.mark.parametrize("nothing", [None, "", "  "])
def test_no_mode_is_the_default(nothing: str | None) -> None:
    assert resolve_mode(nothing) is DEFAULT_MODE


@pytest.mark.parametrize(
    ("name", "provider", "is_known"),
    [
        ("some-model", None, True),
        ("mine/some-model", None, True),
        ("some-model", "mine", True),
        ("claude-sonnet-5-5", None, True),
        ("openai/gpt-9", None, False),
        ("some-model", "anthropic", False),
    ],
)
def test_a_model_is_known_if_a_provider_of_this_installation_may_know_it(
    name: str, provider: str | None, is_known: bool
) -> None:
    mine = {"name": "mine", "base_url": "http://127.0.0.1:9/v1", "api_key": "k", "tier_models": {"pro": "m"}}
    models = LLMSettings.from_env({"OPENAI_COMPATIBLE_PROVIDERS": json.dumps([mine])})

    assert (model_fault(models, name, provider=provider) == "") is is_known


def test_the_bundled_model_is_asked_by_no_other_name() -> None:
    bundled = Provider(name=BUNDLED, protocol=Protocol.OPENAI, tier_models={Tier.PRO: "smollm2"})
    models = LLMSettings(providers=(bundled,))

    assert model_fault(models, "smollm2", provider=None) == ""
    assert "only the small bundled model" in model_fault(models, "gpt-9", provider=None)


async def test_what_is_published_from_a_thread_reaches_the_channel_layer() -> None:
    layer = get_channel_layer()
    assert layer is not None
    channel = await layer.new_channel()
    await layer.group_add("conversation.test", channel)
    message = {"type": "conversation.said", "text": "Grüße 😀", "n": [1, None]}

    assert await asyncio.to_thread(publish, "conversation.test", message)

    assert await asyncio.wait_for(layer.receive(channel), 5) == message
    await layer.flush()


async def test_many_listeners_of_a_group_hear_all_and_none_after_they_left() -> None:
    heard: dict[int, list[int]] = {number: [] for number in range(5)}
    done = asyncio.Event()

    def ear(number: int) -> Any:
        async def hear(message: dict[str, Any]) -> None:
            if number == 0:
                raise RuntimeError("a listener that fails makes nobody else deaf")
            heard[number].append(message["n"])
            if len(heard[4]) == 20:
                done.set()

        return hear

    group = f"conversation.{random.random()}"
    async with listening(group, ear(4)):
        async with listening(group, ear(0)), listening(group, ear(1)):
            await asyncio.to_thread(publish, group, {"type": "x", "n": 0})
            async with asyncio.timeout(5):
                while not heard[4]:
                    await asyncio.sleep(0.01)
        for n in range(1, 20):
            await asyncio.to_thread(publish, group, {"type": "x", "n": n})
        await asyncio.wait_for(done.wait(), 5)
    await asyncio.to_thread(publish, group, {"type": "x", "n": 20})

    assert heard == {0: [], 1: [0], 2: [], 3: [], 4: list(range(20))}
    layer = get_channel_layer()
    assert layer is not None
    await layer.flush()
