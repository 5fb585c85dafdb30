"""`GET /api/v1/search/all` and the page `/search/`: what a person finds in all that is theirs."""

import io
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents.engine.events import Complete
from conversations import actions
from conversations.models import Conversation, Message, MessageWords
from conversations.searching import indexing, words
from conversations.tasks import index_messages
from memory import projects
from memory.models import Memory
from memory.workspaces import files
from memory.workspaces.places import Place, Scope
from tests.faces.runs import append
from tests.memory.giving import given

URL = "/api/v1/search/all"
pytestmark = pytest.mark.spec("B29")


def said(user: Any, question: str, answer: str, *, conversation: Any = None, **more: Any) -> Any:
    """A turn that is over."""
    turn = actions.say(user, (conversation or actions.create(user, **more)).id, actions.Question(question))
    append(turn.execution, Complete(answer=answer))
    return turn


def found(api: Any, query: str, **more: Any) -> Any:
    answer = api.get(URL, {"q": query, **more})
    assert answer.status_code == 200, answer.content
    return answer.json()


def text_of(pieces: list[Any]) -> str:
    return "".join(text for text, _ in pieces)


def matches_of(pieces: list[Any]) -> list[str]:
    return [text for text, is_match in pieces if is_match]


def test_alice_finds_her_questions_her_answers_and_her_titles_and_charlie_finds_nothing(
    alice: Any, charlie: Any, api_of: Callable[..., Any]
) -> None:
    turn = said(alice, "When does the harbour open?", "The harbour opens in **May**, says the [plan](http://x.test/).")
    api = api_of(alice)

    shown = found(api, "harbour may")

    [one] = [result for result in shown["results"] if result["kind"] == "message"]
    assert (one["id"], one["role"], one["title"]) == (str(turn.reply.id), "assistant", "When does the harbour open?")
    assert one["url"] == f"/c/{turn.conversation.id}/#m-{turn.reply.id}"
    assert text_of(one["excerpt"]) == "The harbour opens in May , says the plan."
    assert matches_of(one["excerpt"]) == ["harbour", "May"]
    both = found(api, "harbour")
    # Her question is what the conversation is called by: it is found once.
    assert [(result["kind"], result.get("role")) for result in both["results"]] == [
        ("conversation", None),
        ("message", "assistant"),
    ]
    assert matches_of(both["results"][0]["title_pieces"]) == ["harbour"]
    assert both["counts"] == {"conversation": 1, "message": 2, "document": 0, "file": 0, "memory": 0, "project": 0}
    assert (both["more"], both["has_all_words"]) == (False, True)
    for query in ("harbour", str(turn.reply.id), "May"):
        assert found(api_of(charlie), query)["results"] == []
    assert api_of(alice, scopes=("run",)).get(URL, {"q": "harbour"}).status_code == 403


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "text", "mark"),
    [
        ("wohnungsm", "Der Wohnungsmarkt ist eng.", "Wohnungsm"),
        ("markt", "Der Wohnungsmarkt ist eng.", "markt"),
        ("dampfschiff", "Die Donaudampfschifffahrt ruht.", "dampfschiff"),
        ("koln strasse", "In KÖLN, Lange Straße 4", "KÖLN"),
        ("机器学习", "我们谈机器学习的历史。", "机器学习"),
        ("史", "我们谈机器学习的历史。", "史"),
        ("日程表", "会議の日程表です", "日程表"),
        ("ПЛАН", "Новый план готов", "план"),
        ("inv-2023", "Invoice INV-2023-0042 is due", "INV-2023"),
        ("82959", "It cost $82,959 then", ""),
        ("o'neil", "Ask O'Neil about it", "Neil"),
        ("100%", "It is 100% sure", "100"),
        ("a_b", "The field a_b is empty", "a_b"),
    ],
)
def test_a_text_is_found_whatever_its_language(
    alice: Any, api_of: Callable[..., Any], query: str, text: str, mark: str
) -> None:
    said(alice, "Something else entirely", text, title="No name")
    said(alice, "Another one", "Completely different words stand here.", title="No name")

    shown = found(api_of(alice), query)["results"]

    assert [text_of(one["excerpt"]) for one in shown] == [text]
    if mark:
        assert mark in matches_of(shown[0]["excerpt"])


def test_whole_words_come_first_new_ones_before_old_ones_and_some_words_if_none_has_all(
    alice: Any, api_of: Callable[..., Any]
) -> None:
    old, beginning, new = (said(alice, text, "Yes.") for text in ("An old port", "The portal", "A new port"))
    Message.objects.filter(id=old.message.id).update(created_at=datetime.now(UTC) - timedelta(days=400))
    api = api_of(alice)

    order = [one["id"] for one in found(api, "port", kind="message")["results"]]

    assert order == [str(turn.message.id) for turn in (new, beginning, old)]
    some = found(api, "new zeppelin", kind="message")
    assert ([one["id"] for one in some["results"]], some["has_all_words"]) == ([str(new.message.id)], False)
    recent = found(api, "port", kind="message", **{"from": "2026-01-01"})["results"] if new else []
    assert str(old.message.id) not in [one["id"] for one in recent]
    day = (datetime.now(UTC) - timedelta(days=400)).date().isoformat()
    assert [one["id"] for one in found(api, "port", kind="message", to=day)["results"]] == [str(old.message.id)]


@pytest.mark.slow
def test_documents_files_memories_and_projects_are_found_by_those_who_see_them(
    alice: Any, bob: Any, charlie: Any, api_of: Callable[..., Any]
) -> None:
    document = given(alice, "# Quay\n\nThe zephyr crane lifts 40 tons.", filename="cranes.md")
    crew = Group.objects.create(name="Crew")
    crew.user_set.add(alice, bob)
    shared = given(alice, "# Tide\n\nThe zephyr tide table.", filename="tides.md", groups=[crew])
    project = projects.create(alice, name="Zephyr plans", instructions="Be short.")
    projects.add_member(alice, project.pk, bob.email)
    files.put(alice.pk, Place(Scope.USER, alice.pk), "notes/zephyr list.txt", io.BytesIO(b"x"))
    files.put(alice.pk, Place(Scope.PROJECT, project.pk), "zephyr-project.txt", io.BytesIO(b"x"))
    for person, text in ((alice, "Alice sails a zephyr."), (bob, "Bob met a zephyr.")):
        Memory.objects.create(user=person, kind="fact", text=text, origin_key=text)

    shown = {one["title"] or text_of(one["excerpt"]): one for one in found(api_of(alice), "zephyr")["results"]}

    assert shown["Quay"]["url"] == f"/documents/{document.pk}/?chunk={document.chunks.get().chunk_id}"
    assert matches_of(shown["Quay"]["excerpt"]) == ["zephyr"]
    assert shown["zephyr list.txt"]["url"] == f"/files/user/{alice.pk}/notes/zephyr%20list.txt"
    assert shown["Alice sails a zephyr."]["url"] == "/memory/?q=Alice+sails+a+zephyr."
    assert shown["Zephyr plans"]["url"] == f"/projects/{project.pk}/"
    names = {"Quay", "Tide", "zephyr list.txt", "zephyr-project.txt", "Zephyr plans", "Alice sails a zephyr."}
    assert set(shown) == names
    bobs = {one["title"] or text_of(one["excerpt"]) for one in found(api_of(bob), "zephyr")["results"]}
    assert bobs == {shared.title, "zephyr-project.txt", "Zephyr plans", "Bob met a zephyr."}
    assert found(api_of(charlie), "zephyr")["results"] == []
    assert [one["title"] for one in found(api_of(alice), "cranes", kind="document")["results"]] == ["Quay"]
    projects.remove_member(alice, project.pk, bob.pk)
    assert {one["kind"] for one in found(api_of(bob), "zephyr")["results"]} == {"document", "memory"}


def test_temporary_and_deleted_conversations_are_found_nowhere(alice: Any, api_of: Callable[..., Any]) -> None:
    said(alice, "A temporary walrus", "Walrus.", is_temporary=True)
    gone = said(alice, "A deleted walrus", "Walrus.")
    kept = said(alice, "A kept walrus", "Yes.")
    files.put(alice.pk, Place(Scope.CONVERSATION, gone.conversation.id), "walrus.txt", io.BytesIO(b"x"))
    api = api_of(alice)
    assert found(api, "walrus")["counts"]["message"] == 3

    actions.delete(alice, gone.conversation.id)

    assert {one["conversation_id"] for one in found(api, "walrus")["results"]} == {str(kept.conversation.id)}
    assert set(MessageWords.objects.values_list("conversation", flat=True)) == {kept.conversation.id}


def test_an_answer_is_found_once_its_run_is_over_and_everything_is_indexed_without_a_search(
    alice: Any, api_of: Callable[..., Any]
) -> None:
    turn = actions.say(alice, actions.create(alice).id, actions.Question("Which bird?"))
    api = api_of(alice)
    assert found(api, "kingfisher")["results"] == []
    append(turn.execution, Complete(answer="A kingfisher."))
    assert [one["id"] for one in found(api, "kingfisher")["results"]] == [str(turn.reply.id)]
    later = said(alice, "And which fish?", "A zander.")

    index_messages()

    assert set(MessageWords.objects.filter(conversation=later.conversation.id).values_list("message", flat=True)) == {
        later.message.id,
        later.reply.id,
    }
    assert indexing.index_of(alice) == 0


def test_a_search_has_pages_and_a_fixed_number_of_queries(alice: Any, api_of: Callable[..., Any]) -> None:
    conversation = actions.create(alice, title="Long")
    Message.objects.bulk_create(
        Message(conversation=conversation, role="user", text=f"otter number {number}") for number in range(60)
    )
    api = api_of(alice)
    first = found(api, "otter", kind="message", limit=50)
    second = found(api, "otter", kind="message", limit=50, page=2)
    assert (len(first["results"]), first["more"], len(second["results"]), second["more"]) == (50, True, 10, False)
    assert len({one["id"] for one in [*first["results"], *second["results"]]}) == 60
    assert len(found(api, "otter")["results"]) == 3  # a long conversation hides no other

    def queries(**asked: Any) -> int:
        with CaptureQueriesContext(connection) as caught:
            found(api, "otter", **asked)
        return len(caught)

    assert queries(limit=1) == queries(limit=50, kind="message") == queries(limit=2)


def test_what_cannot_be_searched_for_is_said_and_hostile_words_do_no_harm(
    alice: Any, api_of: Callable[..., Any]
) -> None:
    said(alice, "Something", "Anything")
    api = api_of(alice)

    for query in ("", " ", "a", "%", "'", "\\", "' | 'x':*", "!!!", "& | ! <->", "x" * 400, "\x00", "the", "\u202e"):
        assert api.get(URL, {"q": query}).status_code == 200, query
    for wrong in ({"q": "x" * 401}, {"kind": "mail"}, {"limit": 0}, {"page": 999}, {"from": "yesterday"}):
        refused = api.get(URL, {"q": "some", **wrong})
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid"), wrong
    assert found(api, "_", kind="conversation")["results"] == []


def test_two_people_whose_keys_are_the_same_find_only_their_own(
    alice: Any, charlie: Any, api_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "key_of", lambda owner: "same")
    said(alice, "A heron", "Heron.")

    assert found(api_of(charlie), "heron")["results"] == []
    assert found(api_of(alice), "heron")["counts"]["message"] == 2


def test_the_page_works_without_javascript_and_what_is_found_is_text(
    alice: Any, charlie: Any, client_of: Callable[..., Any]
) -> None:
    turn = said(alice, "<img src=x onerror=alert(1)> pelican", "The pelican <script>alert(2)</script>")
    client = client_of(alice)

    page = client.get("/search/", {"q": "pelican"}).content.decode()

    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert f'href="/c/{turn.conversation.id}/#m-{turn.reply.id}"' in page
    assert "<mark>pelican</mark>" in page
    assert 'href="?q=pelican&amp;kind=message"' in page
    assert "Nothing here has “nandu”" in client.get("/search/", {"q": "nandu"}).content.decode()
    assert client.get("/search/", {"q": "pelican", "from": "tomorrow"}).status_code == 400
    assert "pelican</mark>" not in client_of(charlie).get("/search/", {"q": "pelican"}).content.decode()
    assert client.get("/search/").status_code == client.get("/search/", {"q": "\x00"}).status_code == 200


def test_an_excerpt_shows_where_most_of_the_words_stand() -> None:
    text = f"harbour {'bla ' * 100}Here the harbour opens in May, as planned. {'end ' * 100}"

    pieces = words.excerpt(words.plain(text), words.sought("harbour may"))

    assert matches_of([list(piece) for piece in pieces]) == ["harbour", "May"]
    assert (pieces[0], pieces[-1]) == (("… ", False), (" …", False))
    assert len(text_of([list(piece) for piece in pieces])) <= words.EXCERPT_CHARS + 4


def test_a_huge_message_has_words_as_many_as_fit(alice: Any) -> None:
    text = " ".join(f"{uuid.uuid5(uuid.NAMESPACE_DNS, str(number)).hex}abcdefghijkl" for number in range(9_000))
    conversation = Conversation.objects.create(user=alice)
    Message.objects.create(conversation=conversation, role="user", text=text)

    assert indexing.index_of(alice) == 1


def test_the_last_day_that_a_calendar_has_is_one_to_search_up_to(
    alice: Any, api_of: Callable[..., Any], client_of: Callable[..., Any]
) -> None:
    turn = said(alice, "Where is the lighthouse?", "Here.")

    shown = found(api_of(alice), "lighthouse", kind="message", until="9999-12-31", since="0001-01-01")
    page = client_of(alice).get("/search/", {"q": "lighthouse", "from": "0001-01-01", "to": "9999-12-31"})

    assert [one["id"] for one in shown["results"]] == [str(turn.message.id)]
    assert page.status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize(
    ("zone", "day"), [("Asia/Tokyo", "2026-11-28"), ("America/New_York", "2026-11-27"), ("", "2026-11-27")]
)
def test_the_days_of_the_page_are_those_of_its_reader(
    alice: Any, api_of: Callable[..., Any], client_of: Callable[..., Any], zone: str, day: str
) -> None:
    turn = said(alice, "Where is the lighthouse?", "Here.")
    at = datetime(2026, 11, 27, 20, tzinfo=UTC)
    Conversation.objects.update(updated_at=at)
    Message.objects.filter(id=turn.message.id).update(created_at=at)
    alice.time_zone = zone
    alice.save()
    page = client_of(alice)

    def days(name: str) -> set[str]:
        """On which a search that begins or ends there finds it."""
        some = ("2026-11-26", "2026-11-27", "2026-11-28", "2026-11-29")
        asked = {one: {"q": "lighthouse", "kind": "message", name: one} for one in some}
        return {one for one in some if f"#m-{turn.message.id}" in page.get("/search/", asked[one]).content.decode()}

    assert (max(days("from")), min(days("to"))) == (day, day)
    assert [one["id"] for one in found(api_of(alice), "lighthouse", kind="message", to="2026-11-27")["results"]] == [
        str(turn.message.id)
    ], "what programs read is in UTC"
