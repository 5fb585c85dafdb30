"""A conversation as a file: what of branches, plans, sources and tables is in it."""

import json
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents.engine.events import Complete
from conversations import actions
from conversations.api import serializers
from conversations.headings import deeper
from conversations.models import Conversation, Message
from hyperagent.accounts import exporting
from tests.faces.runs import append

BASE = "/api/v1/conversations"
TABLE = "| Month | Ships |\n|---|---|\n| May | 12 |"
PLAN = {
    "intent": "Tell",
    "tasks": [
        {"id": "a", "agent": "rag", "task": "Find the\nnumbers", "depends_on": []},
        {"id": "b", "agent": "writing", "task": "Write it", "depends_on": ["a"]},
    ],
}
pytestmark = pytest.mark.spec("B29")


def answered(turn: Any, answer: str, **result: Any) -> None:
    append(turn.execution, Complete(answer=answer))
    turn.execution.result = {**(turn.execution.result or {}), **result}
    turn.execution.save(update_fields=["result"])


def test_the_markdown_has_the_branch_that_is_shown_with_plan_sources_and_tables(
    alice: Any, charlie: Any, api_of: Callable[..., Any]
) -> None:
    conversation = actions.create(alice, title="Ships of Mäy!")
    first = actions.say(alice, conversation.id, actions.Question("How many ships?"))
    answered(first, "Old answer")
    Message.objects.filter(id=first.message.id).update(metadata={"attachments": [{"id": "1", "name": "ships.csv"}]})
    again = actions.retry_reply(alice, first.reply.id)
    source = {"type": "document", "source": "Report.pdf", "page": 3, "section": "Ships", "document_id": "x"}
    answered(again, f"# Result\n\n{TABLE}\n\n```sh\n# no heading\n```", plan=PLAN, model="m-1", sources=[source])
    url = f"{BASE}/{conversation.id}/export"

    exported = api_of(alice).get(url)

    text = exported.content.decode()
    assert exported["Content-Disposition"] == f'attachment; filename="ships-of-m-y-{conversation.id.hex[:8]}.md"'
    for told in (
        "# Ships of Mäy!\n",
        "## You\n",
        "How many ships?",
        "Attached: `ships.csv`",
        "*This is answer 2 of 2 at this place; the others are in the JSON export.*",
        "**Plan**\n\n1. Find the numbers (rag)\n2. Write it (writing, after 1)",
        f"### Result\n\n{TABLE}",
        "# no heading\n```",
        "UTC · m-1*",
        "**Sources**\n\n1. Report.pdf, Ships, page 3",
    ):
        assert told in text, told
    assert "Old answer" not in text
    assert api_of(charlie).get(url).status_code == api_of(charlie).get(f"{url}?as=json").status_code == 404


def test_the_markdown_is_in_the_language_of_who_reads_it_and_so_is_that_of_their_own_data(
    alice: Any, api_of: Callable[..., Any]
) -> None:
    conversation = actions.create(alice)
    Conversation.objects.filter(id=conversation.id).update(title="")
    first = actions.say(alice, conversation.id, actions.Question("Wie viele Schiffe?"))
    answered(first, "")
    again = actions.retry_reply(alice, first.reply.id)
    source = {"type": "document", "source": "Bericht.pdf", "page": 3, "document_id": "x"}
    answered(again, "Zwölf [1].", plan=PLAN, sources=[source])
    alice.language = "de"
    alice.save()

    asked = api_of(alice).get(f"{BASE}/{conversation.id}/export", headers={"accept-language": "de"}).content.decode()
    export = exporting.ask(alice)
    exporting.make(export.pk)
    export.refresh_from_db()
    with default_storage.open(export.stored_as) as file, zipfile.ZipFile(file) as archive:
        (name,) = (one for one in archive.namelist() if one.endswith(".md"))
        own = archive.read(name).decode()

    for told in (
        "## Sie\n",
        "*Dies ist Antwort 2 von 2 an dieser Stelle; die anderen stehen im JSON-Export.*",
        "2. Write it (writing, nach 1)",
        "**Quellen**\n\n1. Bericht.pdf, Seite 3",
    ):
        assert told in asked, told
        assert told in own, told


@pytest.mark.slow
def test_the_json_has_every_branch_and_the_plans_however_long_it_is(alice: Any, api_of: Callable[..., Any]) -> None:
    conversation = actions.create(alice)
    first = actions.say(alice, conversation.id, actions.Question("How many ships?"))
    answered(first, "Twelve")
    again = actions.retry_reply(alice, first.reply.id)
    answered(again, "Thirteen", plan=PLAN, routing={"agent": "rag"})
    Message.objects.bulk_create(
        Message(conversation=conversation, parent=first.reply, role="user", text=f"More {number}")
        for number in range(2_100)
    )

    with CaptureQueriesContext(connection) as caught:
        exported = json.loads(api_of(alice).get(f"{BASE}/{conversation.id}/export?as=json").content)

    assert (exported["version"], exported["conversation"]["id"]) == (1, str(conversation.id))
    assert len(exported["results"]) == 2_103
    assert [one["text"] for one in exported["results"][:3]] == ["How many ships?", "Twelve", "Thirteen"]
    assert exported["results"][2]["plan"]["tasks"][1]["depends_on"] == ["a"]
    assert exported["results"][2]["routing"] == {"agent": "rag"}
    assert exported.keys() == serializers.ExportedConversationSerializer().fields.keys()
    assert exported["results"][2].keys() == serializers.ExportedMessageSerializer().fields.keys()
    newest = exported["results"][-1]["id"]
    assert exported["shown_branch"] == [str(first.message.id), str(first.reply.id), newest]
    assert len(caught) < 12


def test_headings_go_deeper_and_code_stays_as_it_is() -> None:
    text = "# a\n##### b\n#no\n~~~~\n# c\n~~~\n# d\n~~~~\n## e"

    assert deeper(text) == "### a\n###### b\n#no\n~~~~\n# c\n~~~\n# d\n~~~~\n#### e"


@pytest.mark.parametrize(
    ("text", "whole"),
    [("So:\n```py\nx = 1", "So:\n```py\nx = 1\n```"), ("~~~~\n```", "~~~~\n```\n~~~~"), ("```\na\n```", "```\na\n```")],
    ids=["backticks", "tildes", "ended"],
)
def test_code_that_was_broken_off_ends_with_its_message(text: str, whole: str) -> None:
    assert deeper(text) == whole


def test_a_form_that_there_is_not_is_refused_by_the_name_that_was_sent(alice: Any, api_of: Callable[..., Any]) -> None:
    refused = api_of(alice).get(f"{BASE}/{actions.create(alice).id}/export?as=nope")

    assert (refused.status_code, set(refused.json()["error"]["fields"])) == (400, {"as"})


def test_its_form_is_taken_as_format_too(alice: Any, api_of: Callable[..., Any]) -> None:
    api, where = api_of(alice), f"{BASE}/{actions.create(alice).id}/export"

    assert api.get(f"{where}?format=json")["content-type"] == "application/json"
    assert api.get(f"{where}?format=json&as=markdown")["content-type"].startswith("text/markdown")
    refused = api.get(f"{where}?format=pdf")
    assert (refused.status_code, set(refused.json()["error"]["fields"])) == (400, {"as"})


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("accept", "query", "kind"),
    [
        ("text/markdown", "", "text/markdown; charset=utf-8"),
        ("application/json", "", "application/json"),
        ("text/html,*/*;q=0.8", "", "text/markdown; charset=utf-8"),
        ("text/html", "", "text/markdown; charset=utf-8"),
        ("text/markdown", "?as=json", "application/json"),
    ],
    ids=["Markdown", "JSON", "a browser", "nothing of it", "as goes before it"],
)
def test_who_says_no_form_gets_the_one_that_they_accept(
    accept: str, query: str, kind: str, alice: Any, api_of: Callable[..., Any]
) -> None:
    conversation = actions.create(alice)

    exported = api_of(alice).get(f"{BASE}/{conversation.id}/export{query}", headers={"Accept": accept})

    assert (exported.status_code, exported["Content-Type"]) == (200, kind)


@pytest.mark.django_db
def test_a_refused_export_is_told_in_json_to_who_accepts_markdown(
    charlie: Any, alice: Any, api_of: Callable[..., Any]
) -> None:
    conversation = actions.create(alice)

    refused = api_of(charlie).get(f"{BASE}/{conversation.id}/export", headers={"Accept": "text/markdown"})

    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "not_found")
