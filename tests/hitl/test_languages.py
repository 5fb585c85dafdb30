"""What people are asked, why, what is wrong with an answer, how a rule reads: in their own language at every door."""

import re
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone

from agents.engine.effects import Effect
from agents.run_budget import Standing, Used, question_of
from agents.runtime.endings import IN_THE_MIDST
from agents.usage.alerts import facts_of, title_of
from hitl import sweeping
from hitl.kinds import PolicyAction, Risk, RuleScope
from hitl.models import Rule
from hitl.policy import Acts, PolicyFacts, Read, verdict
from hitl.policy import Standing as WhatStands
from hyperagent.accounts import budgets
from hyperagent.accounts.models import User
from hyperagent.lib.languages import speaking
from hyperagent.lib.llm.errors import Reason, model_error
from hyperagent.lib.stored_sentences import SENTENCES, amounts_in_our_words, in_our_words
from hyperagent.notices.kinds import MailKind
from hyperagent.notices.mailing import message_of
from hyperagent.notices.models import Mail
from tests.hitl.asking import ROLE, ask, mail_question
from tests.hitl.standing import NOW, a_call

TOLD_JS = Path(__file__).parents[2] / "static" / "js" / "told.js"
RESPOND, PREVIEW = "/api/v1/hitl/respond", "/api/v1/hitl/rules/preview"
GERMAN = {"accept-language": "de"}
PLAN = "This is the plan. Accept it, change it, or reject it. It may do what cannot be undone: send_email."
PLAN_IN_GERMAN = (
    "Das ist der Plan. Nehmen Sie ihn an, ändern Sie ihn, oder verwerfen Sie ihn. Er tut vielleicht etwas, das sich"
    " nicht rückgängig machen lässt: „Eine Mail senden“."
)
ENGLISH = re.compile(r"\b(the|is|are|of|and|it|cannot|needs|what|been|not|policy|budget is)\b")


def in_german(text: str) -> str:
    with speaking("de"):
        return in_our_words(text)


def client_of(user: User) -> Client:
    client = Client(headers=GERMAN)
    client.force_login(user)
    return client


@pytest.mark.spec("B29")
def test_the_page_knows_every_sentence_that_the_server_says_in_other_languages() -> None:
    written = TOLD_JS.read_text("utf-8")

    assert [one for one in SENTENCES if f'said("{one}")' not in written and f"said('{one}')" not in written] == []


@pytest.mark.spec("B29")
@pytest.mark.parametrize(
    ("call", "standing"),
    [
        ({}, {}),
        ({"irreversible": True, "risk": Risk.HIGH}, {"action": PolicyAction.ASK}),
        ({"requires_approval": False}, {"action": PolicyAction.ASK, "somebody_can": False}),
        ({}, {"action": PolicyAction.ASK, "somebody_can": False, "an_administrator_can": False}),
        ({"tainted_by": (Read("web", "A page"), Read("mail", "A mail")), "acts": Acts.SENDS}, {}),
        ({"tainted_by": (Read("web", "A page"),), "acts": Acts.CHANGES, "tainted_more": 3}, {}),
        ({"tainted_by": (Read("web", "A page"),), "acts": Acts.SHARES}, {}),
    ],
)
def test_why_somebody_is_asked_is_said_in_the_readers_language(call: Any, standing: Any) -> None:
    asked = verdict(a_call(**call), WhatStands(NOW, policies=(PolicyFacts("Letters", **standing),)))

    said = in_german(re.sub(r" and (\d+) more", r", \1", asked.why))

    assert asked.kind == "ask"
    assert said
    assert not ENGLISH.search(said), said


@pytest.mark.spec("B29", "B2", "B12")
def test_questions_about_plans_budgets_and_doubts_are_said_in_the_readers_language() -> None:
    used = Used(2_345, Decimal("0.5"), ("scripted",))
    budget = question_of(Standing(2_000, Decimal(1)), used, budgets.Unit.TOKENS, asking="web")["question"]
    told = {"may_have": 'send_email may have been carried out: a mail to a@b.org with the subject "Hi".'}
    doubt = Effect("send_email", {}, lambda _: None, told=told).question_in_doubt(NOW)["question"]  # type: ignore[arg-type, return-value]

    said = [in_german(text) for text in (PLAN, budget, doubt)]

    assert said[0] == PLAN_IN_GERMAN
    assert said[1].startswith("Dieser Lauf hat 2.345 Tokens verbraucht")
    assert said[2].startswith(
        "„Eine Mail senden“ wurde vielleicht schon ausgeführt: eine Mail an a@b.org mit dem Betreff „Hi“."
    )
    assert not ENGLISH.search(" ".join(said)), said


@pytest.mark.spec("B11")
@pytest.mark.parametrize("purse", ["user:1", "group:1", "installation"])
@pytest.mark.parametrize("used", ["1234.5", "2000"])
def test_a_mail_about_a_budget_is_in_its_readers_language(purse: str, used: str) -> None:
    limit = budgets.Limit(
        purse=purse, name="Sales", period=budgets.Period.MONTH, unit=budgets.Unit.USD, amount=Decimal(2_000),
        used=Decimal(used), reserved=Decimal(0), starts=date(2026, 11, 1),
    )  # fmt: skip

    with speaking("en"):
        stored, stored_facts = title_of(limit, 50), facts_of(limit)
    title = in_german(stored)
    with speaking("de"):
        facts = [amounts_in_our_words(value) for value in stored_facts.values()]

    assert "von $2.000,00 pro Monat" in title
    assert not ENGLISH.search(title), title
    assert facts[0] == f"${'1.234,50' if used == '1234.5' else '2.000,00'}"


@pytest.mark.spec("B29")
@pytest.mark.parametrize("reason", [reason for reason in Reason if reason is not Reason.NOT_CONFIGURED], ids=str)
def test_why_no_model_answered_is_said_in_the_readers_language(reason: Reason) -> None:
    told = model_error(reason, provider="openai", model="gpt-5.2").user_message

    assert [one for one in re.split(r"(?<=[.]) ", told) if in_german(one) == one] == []


@pytest.mark.spec("B29")
def test_what_a_failed_run_left_behind_is_said_in_the_readers_language() -> None:
    said = in_german(f"Something went wrong here. An administrator finds it under 3f2a. “Send a mail” {IN_THE_MIDST}")

    assert said.startswith("Hier ist etwas schiefgegangen. Die Administration findet es unter 3f2a.")
    assert not ENGLISH.search(said), said


@pytest.mark.parametrize("text", ["", "What is the plan?", "{tool} cannot be", "x" * 5_000, "The policy “{name}”"])
def test_what_a_model_or_a_person_wrote_stays_as_it_is(text: str) -> None:
    assert in_german(text) == text
    with speaking("en"):
        assert in_our_words(PLAN) == PLAN.replace("send_email", "“Send a mail”")


def test_what_is_filled_in_is_not_read_again() -> None:
    assert in_german("May the {tool} agent call {agent}?") == "Darf der Agent {tool} „{agent}“ aufrufen?"


@pytest.mark.django_db
@pytest.mark.spec("B29", "B3")
def test_inbox_and_administration_ask_in_the_readers_language(alice: Any, charlie: Any) -> None:
    charlie.groups.add(Group.objects.get_or_create(name="reviewer")[0])
    ask(alice, "plan", question={"question": PLAN, "tasks": [{"id": "a", "agent": "mail", "task": "Send it"}]})
    mail = ask(alice, question=mail_question(why="send_email cannot be undone."), approvers=ROLE)

    inbox = client_of(alice).get("/inbox/").content.decode()
    form = client_of(charlie).get(f"/admin/hitl/request/{mail.pk}/change/").content.decode()

    assert PLAN_IN_GERMAN in inbox
    assert "This is the plan" not in inbox
    decided_about = form[form.index('id="decide"') : form.index('name="decision"')]
    assert "Diese Mail senden?" in decided_about
    assert "„Eine Mail senden“ lässt sich nicht rückgängig machen." in decided_about


@pytest.mark.spec("B29")
@pytest.mark.django_db
def test_a_mail_about_a_request_names_the_tool_as_the_pages_do(alice: Any, bob: Any) -> None:
    bob.groups.add(Group.objects.get(name="reviewer"))
    ask(alice, question=mail_question(), approvers=ROLE)
    sweeping.sweep()
    mail = Mail.objects.select_related("user").get(user=bob)

    in_english = message_of(mail)
    mail.user.language = "de"
    in_german = message_of(mail)

    assert "\nTool: Send a mail\n" in in_english.body
    assert "\nWerkzeug: Eine Mail senden\n" in in_german.body
    assert "send_email" not in f"{in_english.body} {in_german.alternatives}"


@pytest.mark.spec("B29")
def test_a_mail_about_a_plan_asks_in_the_language_of_whom_it_goes_to() -> None:
    bob = User(email="bob@example.org", language="de")

    mail = message_of(Mail(user=bob, kind=MailKind.REQUEST_WAITING, title=PLAN, facts=[], path="/inbox/1"))

    assert "Das ist der Plan. Nehmen Sie ihn an" in mail.subject
    assert PLAN_IN_GERMAN in mail.body


@pytest.mark.django_db
@pytest.mark.spec("B29", "S133")
def test_faults_of_an_answer_are_told_in_the_readers_language(alice: Any, api_of: Any) -> None:
    asked = ask(alice)
    edited = {"to": [], "subject": "x" * 201, "body": 7, "options": {"copies": 9, "more": 1}, "bcc": ""}
    said = {"request_id": str(asked.pk), "decision": "approved", "edited_arguments": edited}

    german = api_of(alice).post(RESPOND, said, format="json", headers=GERMAN).json()["error"]["fields"]
    english = api_of(alice).post(RESPOND, said, format="json").json()["error"]["fields"]

    assert german == {
        "edited_arguments.bcc": ["Das Werkzeug hat kein solches Argument."],
        "edited_arguments.to": ["Das sind zu wenige: Es müssen mindestens 1 sein."],
        "edited_arguments.subject": ["Das ist zu lang: Höchstens 200 Zeichen sind möglich."],
        "edited_arguments.body": ["Das muss ein Text sein."],
        "edited_arguments.options.copies": ["Das darf höchstens 5 sein."],
        "edited_arguments.options.more": ["Ein solches Feld gibt es nicht."],
    }
    assert english["edited_arguments.to"] == ["These are too few: there have to be at least 1."]
    assert english["edited_arguments.options.copies"] == ["This may be at most 5."]


@pytest.mark.django_db
@pytest.mark.spec("B29", "B12")
def test_a_limit_that_is_none_is_refused_in_the_readers_language(alice: Any, api_of: Any) -> None:
    question = {"question": "More?", "options": ["raise", "finish", "stop"], "unit": "tokens", "used": 12_345}
    asked = ask(alice, "budget", question=question)

    def faults(**said: Any) -> Any:
        body = {"request_id": str(asked.pk), "decision": "answered", **said}
        return api_of(alice).post(RESPOND, body, format="json", headers=GERMAN).json()["error"]["fields"]

    assert faults(choice="raise", text="50") == {
        "text": ["Der Lauf hat schon 12.345 verbraucht. Geben Sie eine Grenze darüber an."]
    }
    assert faults(choice="raise", text="viel") == {
        "text": ["„viel“ ist keine ganze Zahl von Tokens. Geben Sie die ganze neue Grenze an."]
    }
    assert faults(choice="stop", text="5") == {"text": ["Nur eine Erhöhung nimmt eine Zahl. Lassen Sie dies weg."]}


@pytest.mark.django_db
@pytest.mark.spec("B29", "B7")
def test_a_rule_is_shown_and_kept_in_the_language_of_who_makes_it(alice: Any, api_of: Any) -> None:
    asked = ask(alice, question=mail_question(rules_allowed=True))
    remember = {
        "scope": "rule",
        "conditions": [
            {"path": "to", "op": "domain", "value": "corp.com"},
            {"path": "subject", "op": "one_of", "value": ["Hello", "Bye"]},
        ],
        "until": datetime(2027, 3, 5, 12, tzinfo=UTC).isoformat(),
        "uses": 20,
    }
    said = {"request_id": str(asked.pk), "decision": "approved", "remember": remember}

    shown = api_of(alice).post(PREVIEW, said, format="json", headers=GERMAN).json()["text"]
    # Another tab of theirs may speak another language by now; what they were shown is what they agreed to.
    done = api_of(alice).post(RESPOND, {**said, "remember": {**remember, "text": shown}}, format="json")

    assert shown == (
        "Immer erlauben: „Eine Mail senden“ durch den Agenten mail nur an Adressen bei corp.com und mit subject nur "
        "„Hello“ oder „Bye“, in jedem Ihrer Läufe, bis 5. Mär 2027, 12:00 UTC, höchstens 20-mal. "
        "Beliebig: body und options."
    )
    assert (done.status_code, Rule.objects.get().text) == (200, shown)
    assert Rule.objects.get().scope == RuleScope.RULE


@pytest.mark.django_db
@pytest.mark.spec("B29", "B7")
def test_words_that_no_reader_was_shown_make_no_rule(alice: Any, api_of: Any) -> None:
    asked = ask(alice, question=mail_question(rules_allowed=True))
    remember = {"scope": "run", "text": "Immer erlauben: „Eine Mail senden“ durch den Agenten mail, in diesem Lauf."}

    refused = api_of(alice).post(
        RESPOND, {"request_id": str(asked.pk), "decision": "approved", "remember": remember}, format="json"
    )

    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "rule_changed")
    assert not Rule.objects.exists()


@pytest.mark.django_db
@pytest.mark.spec("S120")
def test_a_late_answer_is_told_how_it_ended_in_plain_words(alice: Any, api_of: Any) -> None:
    asked = ask(alice, expires_at=timezone.now())
    said = {"request_id": str(asked.pk), "decision": "approved"}

    english = api_of(alice).post(RESPOND, said, format="json")
    german = api_of(alice).post(RESPOND, said, format="json", headers=GERMAN)

    assert (english.status_code, english.json()["error"]["request"]["status"]) == (409, "timed_out")
    assert english.json()["error"]["message"] == "This request is timed out already. Nothing was changed."
    assert "ohne Antwort geblieben" in german.json()["error"]["message"]
