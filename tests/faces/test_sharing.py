"""Sharing a conversation by a link: over the API, on the public page, and what ends it."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from agents.engine.events import Complete
from conversations import actions
from conversations.models import Conversation, Message, Share
from conversations.shared_views import SharedThrottle
from conversations.sharing.content import REMOVED, abroad_only
from hyperagent.lib.conf import Switch
from hyperagent.lib.log import redact
from tests.faces.runs import append

BASE = "/api/v1/conversations"
pytestmark = pytest.mark.spec("B29")
SOURCES = [
    {
        "type": "document", "source": "Quarterly.pdf", "page": 3, "section": "Revenue", "document_id": "d-1",
        "chunk_id": "c-1", "excerpt": "a private passage",
    },
    {"type": "web", "source": "News", "url": "https://news.example.com/a", "excerpt": "words"},
]  # fmt: skip


@pytest.fixture(autouse=True)
def _no_rate_of_others() -> None:
    cache.delete("throttle_shared_127.0.0.1")


def said(user: Any, question: str, answer: str, *, conversation: Any = None, sources: Any = ()) -> Any:
    turn = actions.say(user, (conversation or actions.create(user)).id, actions.Question(question))
    append(turn.execution, Complete(answer=answer))
    turn.execution.result = {**(turn.execution.result or {}), "sources": list(sources)}
    turn.execution.save(update_fields=["result"])
    return turn


def shared(api: Any, conversation: Conversation, **chosen: Any) -> Any:
    made = api.post(f"{BASE}/{conversation.id}/share", chosen)
    assert made.status_code == 201, made.content
    return made.json()


def path_of(link: Any) -> str:
    return re.sub(r"^https?://[^/]+", "", link["url"])


def page_of(link: Any, client: Client | None = None) -> str:
    answer = (client or Client()).get(path_of(link))
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.mark.threat("T04")
def test_whoever_has_the_link_reads_questions_and_answers_and_nothing_that_is_private(
    alice: Any, api_of: Callable[..., Any]
) -> None:
    answer = "It grew [1][2]. See [the file](/files/user/1/secret.txt) and ![chart](/api/v1/files/user/1/c.png)."
    turn = said(alice, "How did it go?", answer, sources=SOURCES)
    Message.objects.filter(id=turn.message.id).update(metadata={"attachments": [{"id": "d-1", "name": "inbox.csv"}]})

    link = shared(api_of(alice), turn.conversation)
    answer_ = Client().get(path_of(link))
    page = answer_.content.decode()

    assert re.fullmatch(r"http://testserver/s/ha_[\w-]{32}/", link["url"])
    for told in (
        "How did it go?",
        "It grew [1][2]. See the file and chart.",
        "Quarterly.pdf",
        "https://news.example.com/a",
    ):
        assert told in page, told
    for private in (
        "alice",
        "secret.txt",
        "d-1",
        "c-1",
        "a private passage",
        "inbox.csv",
        "/documents/",
        str(turn.execution.id),
    ):
        assert private not in page, private
    assert answer_["X-Robots-Tag"] == "noindex, nofollow, noarchive"
    assert answer_["Referrer-Policy"] == "no-referrer"
    assert "no-store" in answer_["Cache-Control"]
    assert not answer_.cookies
    link_row = Share.objects.get()
    assert link["url"].split("/")[-2] not in str(link_row.__dict__)


def test_a_link_shows_that_moment_and_one_that_keeps_up_what_is_said_later(
    alice: Any, api_of: Callable[..., Any]
) -> None:
    api = api_of(alice)
    first = said(alice, "First question", "First answer")
    frozen, alive = shared(api, first.conversation), shared(api, first.conversation, keeps_up=True)

    second = said(alice, "Second question", "Second answer", conversation=first.conversation)
    actions.rename(alice, first.conversation.id, "A private new title")

    assert "Second" not in page_of(frozen)
    assert "A private new title" not in page_of(frozen)
    assert "Second answer" in page_of(alive)
    part = shared(api, first.conversation, message_id=str(first.reply.id))
    assert "First answer" in page_of(part)
    assert "Second" not in page_of(part)
    refused = api.post(f"{BASE}/{first.conversation.id}/share", {"keeps_up": True, "message_id": str(second.reply.id)})
    assert (refused.status_code, list(refused.json()["error"]["fields"])) == (400, ["keeps_up"])


def test_sources_and_names_of_files_are_shown_as_chosen(alice: Any, api_of: Callable[..., Any]) -> None:
    turn = said(alice, "Q", "A", sources=SOURCES)
    Message.objects.filter(id=turn.message.id).update(metadata={"attachments": [{"id": "1", "name": "table.csv"}]})

    bare = page_of(shared(api_of(alice), turn.conversation, with_sources=False, with_attachments=True))

    assert "table.csv" in bare
    assert "Quarterly.pdf" not in bare


@pytest.mark.threat("T01")
def test_the_owner_alone_shares_lists_and_revokes(alice: Any, charlie: Any, api_of: Callable[..., Any]) -> None:
    turn = said(alice, "Q", "A")
    api, strange = api_of(alice), api_of(charlie)
    url = f"{BASE}/{turn.conversation.id}/share"
    link = shared(api, turn.conversation)

    answers = [
        strange.get(url),
        strange.post(url, {"ends_at": "nonsense"}),
        strange.delete(url),
        strange.delete(f"{url}/{link['id']}"),
    ]

    assert [answer.status_code for answer in answers] == [404] * 4
    other = said(charlie, "Q", "A").conversation
    assert strange.delete(f"{BASE}/{other.id}/share/{link['id']}").status_code == 404
    assert strange.post(f"{BASE}/{other.id}/share", {"message_id": str(turn.message.id)}).status_code == 400
    assert page_of(link)
    [listed] = api.get(url).json()["results"]
    assert (listed["id"], listed["url"], listed["views"]) == (link["id"], link["url"], 1)
    assert listed["last_seen_at"]
    assert [api.delete(f"{url}/{link['id']}").status_code for _ in range(2)] == [204, 404]
    assert api.get(url).json() == {"enabled": True, "next": None, "previous": None, "results": []}
    assert Client().get(path_of(link)).status_code == 404
    assert api_of(alice, scopes=("read",)).post(url, {}).status_code == 403


@pytest.mark.threat("T04")
def test_revoked_ended_wrong_and_orphaned_links_all_lead_to_the_same_page(
    alice: Any, api_of: Callable[..., Any], settings: Any
) -> None:
    api = api_of(alice)
    turn = said(alice, "Q", "A")
    links = {name: shared(api, turn.conversation) for name in ("revoked", "ended", "off", "kept")}
    api.delete(f"{BASE}/{turn.conversation.id}/share/{links['revoked']['id']}")
    Share.objects.filter(id=links["ended"]["id"]).update(ends_at=timezone.now() - timedelta(seconds=1))

    def shown(path: str) -> str:
        answer = Client().get(path)
        assert answer.status_code == 404
        return re.sub(r"<code>.*?</code>", "", answer.content.decode())

    pages = {shown(path_of(links["revoked"])), shown(path_of(links["ended"])), shown("/s/ha_" + "x" * 32 + "/")}
    pages |= {shown("/s/x/"), shown(f"/s/{links['kept']['id']}/")}
    settings.CONFIG = settings.CONFIG.model_copy(update={"sharing": Switch.OFF})
    pages.add(shown(path_of(links["off"])))
    refused = api.post(f"{BASE}/{turn.conversation.id}/share", {})
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "sharing_is_off")
    assert api.get(f"{BASE}/{turn.conversation.id}/share").json()["enabled"] is False
    settings.CONFIG = settings.CONFIG.model_copy(update={"sharing": Switch.ON})
    assert page_of(links["kept"])
    alice.is_active = False
    alice.save(update_fields=["is_active"])
    pages.add(shown(path_of(links["kept"])))
    alice.is_active = True
    alice.save(update_fields=["is_active"])
    actions.delete(alice, turn.conversation.id)
    pages.add(shown(path_of(links["kept"])))
    assert len(pages) == 1
    assert Share.objects.count() == 0


def test_what_cannot_be_shared_is_said(alice: Any, api_of: Callable[..., Any]) -> None:
    api = api_of(alice)

    def code(conversation: Conversation, **chosen: Any) -> str:
        refused = api.post(f"{BASE}/{conversation.id}/share", chosen)
        assert refused.status_code == 400
        return str(refused.json()["error"]["code"])

    assert code(actions.create(alice)) == "nothing_to_share"
    temporary = actions.create(alice, is_temporary=True)
    said(alice, "Q", "A", conversation=temporary)
    assert code(temporary) == "temporary"
    past = (datetime.now(UTC) - timedelta(days=1)).isoformat()
    assert code(said(alice, "Q", "A").conversation, ends_at=past) == "invalid"


def test_a_reader_with_an_account_goes_on_in_a_conversation_of_their_own(
    alice: Any, charlie: Any, api_of: Callable[..., Any], client_of: Callable[..., Any]
) -> None:
    turn = said(alice, "What is it?", "It is [1].", sources=SOURCES)
    link = shared(api_of(alice), turn.conversation)
    address = path_of(link) + "continue/"
    charlies = client_of(charlie)
    assert f'href="{address}"' in page_of(link, charlies)
    assert "Open the conversation" in page_of(link, client_of(alice))
    assert Client().post(address)["Location"] == f"/accounts/login/?next={address}"
    assert charlies.get(address).status_code == 200
    assert Conversation.objects.of(charlie).count() == 0

    went = charlies.post(address)

    copy = Conversation.objects.of(charlie).get()
    assert went["Location"] == f"/c/{copy.id}/"
    shown = api_of(charlie).get(f"{BASE}/{copy.id}/messages").json()["results"]
    assert [(one["role"], one["text"].split("\n")[0]) for one in shown] == [
        ("user", "What is it?"),
        ("assistant", "It is [1]."),
    ]
    assert "1. Quarterly.pdf, Revenue, page 3" in shown[1]["text"]
    goes_on = actions.say(charlie, copy.id, actions.Question("And then?"))
    assert [told["content"][:11] for told in goes_on.execution.input["history"]] == [
        "What is it?",
        shown[1]["text"][:11],
    ]
    assert Conversation.objects.of(alice).count() == 1
    api_of(alice).delete(f"{BASE}/{turn.conversation.id}/share")
    assert charlies.post(address).status_code == 404
    assert Share.objects.get().views == 1  # not the owner's own look


def test_addresses_cannot_be_tried_out_without_end(alice: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SharedThrottle, "rate", "5/min", raising=False)

    answers = [Client().get(f"/s/ha_{number:032}/").status_code for number in range(7)]

    assert answers == [404] * 5 + [429] * 2
    assert int(Client().get("/s/x/")["Retry-After"]) > 0


def test_administrators_see_the_links_and_revoke_them_without_reading_what_they_show(
    alice: Any, bob: Any, charlie: Any, api_of: Callable[..., Any], client_of: Callable[..., Any]
) -> None:
    link = shared(api_of(alice), said(alice, "A question about penguins", "Penguins.").conversation)
    bobs = client_of(bob)
    address = reverse("admin:conversations_share_changelist")
    revoking = {"action": "revoke", "_selected_action": [link["id"]]}

    shown = [bobs.get(address), bobs.get(reverse("admin:conversations_share_change", args=[link["id"]]))]
    client_of(charlie).post(address, revoking)

    for answer in shown:
        text = answer.content.decode()
        assert link["id"] in text
        assert "enguins" not in text
        assert path_of(link) not in text
    assert page_of(link)  # who is no administrator revokes nothing
    bobs.post(address, revoking)
    assert Client().get(path_of(link)).status_code == 404


def test_links_into_the_installation_are_words_and_those_abroad_stay() -> None:
    site = "https://agents.example.org"
    text = (
        "[doc](/documents/1/) [x](https://agents.example.org/files/a) https://agents.example.org/c/1/ "
        "[out](https://example.com/a) ![p](data:image/png;base64,AA) [m](mailto:a@b.c) "
        "[j](javascript:alert(1)) <img src='/api/v1/files/x'>\n\n"
        "[ref]: /files/user/1/x\n[abroad]: https://example.com/b"
    )

    assert abroad_only(text, site) == (
        f"doc x {REMOVED} [out](https://example.com/a) p [m](mailto:a@b.c) j) <img >\n\n\n[abroad]: https://example.com/b"
    )


def test_the_log_does_not_have_the_address_of_a_link() -> None:
    line = redact("request='GET /s/ha_0123456789abcdefghijABCDEFGHIJ-_/continue/'", ())

    assert "0123456789" not in line


def test_an_end_that_cannot_be_told_in_every_zone_is_refused(alice: Any, api_of: Callable[..., Any]) -> None:
    turn = said(alice, "How did it go?", "Well.")

    refused = api_of(alice).post(f"{BASE}/{turn.conversation.id}/share", {"ends_at": "9999-12-31T23:59:59Z"})

    assert refused.status_code == 400
    assert set(refused.json()["error"]["fields"]) == {"ends_at"}
    assert not Share.objects.exists()
