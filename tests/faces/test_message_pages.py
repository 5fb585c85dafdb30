"""A long conversation over the API, page by page."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext

from conversations import actions
from conversations.models import Conversation, Message, Role

BASE = "/api/v1/conversations"


def _said(conversation: Conversation, count: int) -> list[str]:
    """So many messages, each after the one before; their ids."""
    made: list[Message] = []
    for number in range(count):
        at = conversation.created_at + timedelta(seconds=number)
        parent = made[-1] if made else None
        made.append(Message(conversation=conversation, parent=parent, role=Role.USER, text=str(number), created_at=at))
    Message.objects.bulk_create(made)
    return [str(one.id) for one in made]


def test_the_pages_of_a_conversation_together_are_all_of_it(alice: Any, api_of: Callable[..., Any]) -> None:
    api, conversation = api_of(alice), actions.create(alice)
    ids = _said(conversation, 25)
    url = f"{BASE}/{conversation.id}/messages"

    pages = [api.get(f"{url}?limit=10").json()]
    while pages[-1]["has_earlier"]:
        pages.append(api.get(f"{url}?limit=10&before={pages[-1]['results'][0]['id']}").json())

    assert [[one["id"] for one in page["results"]] for page in pages] == [ids[15:], ids[5:15], ids[:5]]
    whole = api.get(url).json()
    assert ([one["id"] for one in whole["results"]], whole["has_earlier"]) == (ids, False)
    assert (whole["next"], whole["previous"]) == (None, None)


def test_each_page_of_a_conversation_has_the_address_of_the_one_before_it(
    alice: Any, api_of: Callable[..., Any]
) -> None:
    api, conversation = api_of(alice), actions.create(alice)
    ids = _said(conversation, 25)
    empty = api.get(f"{BASE}/{actions.create(alice).id}/messages").json()

    pages = [api.get(f"{BASE}/{conversation.id}/messages?limit=10").json()]
    while pages[-1]["next"]:
        pages.append(api.get(pages[-1]["next"]).json())

    assert [[one["id"] for one in page["results"]] for page in pages] == [ids[15:], ids[5:15], ids[:5]]
    assert (empty["results"], empty["next"]) == ([], None)


def test_a_list_that_is_never_cut_has_the_names_of_one_that_is(alice: Any, api_of: Callable[..., Any]) -> None:
    api, conversation = api_of(alice), actions.create(alice)

    for url in ("/api/v1/agents", "/api/v1/files", f"{BASE}/{conversation.id}/share"):
        told = api.get(url).json()
        assert (told["next"], told["previous"], type(told["results"])) == (None, None, list), url


def test_a_page_costs_the_same_queries_however_long_the_conversation_is(alice: Any, api_of: Callable[..., Any]) -> None:
    api, counts = api_of(alice), []
    for length in (5, 5, 200):  # the first notes that the token was used
        conversation = actions.create(alice)
        ids = _said(conversation, length)
        with CaptureQueriesContext(connection) as captured:
            page = api.get(f"{BASE}/{conversation.id}/messages?limit=3&before={ids[-1]}").json()
        counts.append(len(captured))
        assert [one["id"] for one in page["results"]] == ids[-4:-1]

    assert counts[1] == counts[2]


def test_a_place_in_another_conversation_is_none_and_charlie_sees_nothing(
    alice: Any, charlie: Any, api_of: Callable[..., Any]
) -> None:
    mine, theirs = actions.create(alice), actions.create(charlie)
    _said(mine, 3)
    [foreign] = _said(theirs, 1)
    url = f"{BASE}/{mine.id}/messages"

    assert api_of(alice).get(f"{url}?before={foreign}").status_code == 404
    assert api_of(charlie).get(f"{url}?limit=2").status_code == 404
    assert [api_of(alice).get(f"{url}?{wrong}").status_code for wrong in ("limit=0", "limit=x", "before=1")] == [
        400
    ] * 3
