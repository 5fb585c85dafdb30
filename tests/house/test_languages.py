"""The product's languages: every text of the code has its translation, and everybody is answered in their own."""

import ast
import json
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from babel.messages.catalog import Catalog
from django.contrib import admin
from django.core.management import call_command
from django.template import Context, Template
from django.test import Client
from django.utils import translation
from django.utils.functional import Promise

from agents.models import Execution
from deploy import messages
from deploy.module_texts import calls_in
from hyperagent.accounts.models import User
from hyperagent.lib import labels, languages
from hyperagent.notices.kinds import MailKind
from hyperagent.notices.mailing import message_of
from hyperagent.notices.models import Mail

ROOT = Path(__file__).parents[2]
MISSING = "/api/v1/conversations/00000000-0000-0000-0000-000000000000"


@pytest.fixture(scope="module")
def found() -> list[messages.Found]:
    return messages.collect()


@pytest.mark.spec("B29")
@pytest.mark.parametrize("language", [code for code in languages.LANGUAGES if code != languages.ENGLISH])
def test_every_text_of_the_code_is_translated_and_the_compiled_catalogues_say_the_same(
    found: list[messages.Found], language: str
) -> None:
    assert messages.faults(language, found) == []


def test_the_languages_that_are_offered_are_those_with_a_catalogue() -> None:
    assert messages.languages() == sorted(set(languages.LANGUAGES) - {languages.ENGLISH})


def test_texts_are_found_in_nested_templates_and_not_in_comments_strings_or_regular_expressions() -> None:
    module = r"""
        const pattern = /"`t("no")/g; // t("comment")
        const words = html`<p title="don't ${t("a \"quoted\" one")}">t("text") ${on ? html`<b>${tn("{count} a",
          "{count} b", list.map((x) => { return { a: `${t("deep")}` }; }).length)}</b>` : t("else", { name })}</p>`;
        foo.t("method"); t(variable); t("a" + "b"); text.replace(/[`"/]/g, tc("state", "Open"));
    """

    calls = [(name, arguments[:2]) for name, arguments in calls_in(module, {"t", "tn", "tc"})]

    assert calls == [
        ("t", ['a "quoted" one']),
        ("tn", ["{count} a", "{count} b"]),
        ("t", ["deep"]),
        ("t", ["else", None]),
        ("t", [None]),
        ("t", [None]),
        ("tc", ["state", "Open"]),
    ]


def test_texts_are_found_in_templates_as_django_will_look_for_them() -> None:
    template = """{% translate "100 % sure" context "mood" %}{% include "x" with button=_("Save") %}
        {% blocktranslate trimmed count counter=rows|length with name=one.name %}
          {{ counter }} row of {{ name }}{% plural %}{{ counter }} rows
        {% endblocktranslate %}"""

    texts = [(one.text, one.plural, one.context) for one in messages.template_texts(template, "x.html")]

    assert texts == [
        ("100 %% sure", None, "mood"),
        ("Save", None, None),
        ("%(counter)s row of %(name)s", "%(counter)s rows", None),
    ]


def test_a_translation_that_loses_a_placeholder_or_is_empty_is_a_fault() -> None:
    catalogue = Catalog(locale="de", domain=messages.PAGE)
    catalogue.add("Delete {name}?", "Löschen?")
    catalogue.add(("{count} task", "{count} tasks"), ("eine Aufgabe", "{count} Aufgaben"))
    catalogue.add("Save", "")

    faults = {message.id: list(messages._faults_of(message, is_used=True)) for message in catalogue if message.id}

    assert faults == {
        "Delete {name}?": ["has the placeholders ['{name}'], its translation []"],
        ("{count} task", "{count} tasks"): [],
        "Save": ["is not translated"],
    }


def test_the_modules_translate_by_the_catalogue_that_the_page_loaded() -> None:
    files = [str(ROOT / "tests" / "page" / name) for name in ("i18n.test.mjs", "told.test.mjs")]

    done = subprocess.run(["node", "--test", *files], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout


def test_every_stage_that_agents_tell_in_words_of_ours_can_be_said_in_the_pages_language(
    found: list[messages.Found],
) -> None:
    known = {re.sub(r"\{\w+\}", "{}", one.text) for one in found if one.file == "static/js/told.js"}

    told = {
        words
        for path in (ROOT / "agents").rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "stage"
        for words in _literals(call.args[2])
    }

    assert len(told) > 20
    assert told - known == set()


def _literals(node: ast.expr) -> list[str]:
    """What it may say, with {} for what it fills in; nothing for what is a variable."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=parts):
            return ["".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)]
        case ast.IfExp(body=yes, orelse=no):
            return [*_literals(yes), *_literals(no)]
        case _:
            return []


@pytest.mark.spec("B29")
def test_every_label_that_the_admin_shows_of_a_table_is_collected_for_the_translators(
    found: list[messages.Found],
) -> None:
    collected = {(one.context, one.text) for one in found}
    shown = {
        (labels.COLUMN, "cost usd"),
        (labels.TABLE, "agent executions"),
        (labels.CHOICE, "waiting for somebody"),
        (None, "An answer came while it waited."),
    }

    walked = {(one.context, one.text) for one in labels.found()}
    plain = [
        f"{model._meta.label}.{field.name}"
        for model, page in admin.site._registry.items()
        for field in labels.fields_shown(model, page)
        if not isinstance(field.verbose_name, Promise)
    ]

    assert shown <= walked <= collected
    assert plain == []


def test_a_label_is_said_in_each_readers_language_and_in_english_as_the_model_has_it() -> None:
    def told() -> tuple[str, ...]:
        status = Execution._meta.get_field("status")
        called = dict(status.flatchoices)["awaiting_user"]
        return str(Execution._meta.verbose_name_plural), str(status.verbose_name), str(called), labels.said("timed_out")

    with languages.speaking("en"):
        english = told()
    with languages.speaking("de"):
        german = told()

    assert english == ("executions", "status", "waiting for somebody", "timed out")
    assert german == ("Läufe", "Status", "wartet auf jemanden", "ohne Antwort geblieben")


@pytest.mark.django_db
@pytest.mark.parametrize("language", languages.LANGUAGES)
def test_labels_in_other_languages_are_nothing_for_a_migration(language: str) -> None:
    with languages.speaking(language):
        call_command("makemigrations", check_changes=True, dry_run=True, verbosity=0)


@pytest.mark.slow
def test_the_apis_description_is_in_english_for_everybody(client: Client, alice: User) -> None:
    client.force_login(alice)

    told = [client.get("/api/schema/", headers={"accept-language": language}).content for language in ("en", "de")]

    assert told[0] == told[1]


@pytest.mark.django_db
@pytest.mark.spec("B29")
def test_a_program_gets_english_unless_it_asks_otherwise_and_codes_never_change(client: Client) -> None:
    plain = client.get(MISSING).json()["error"]
    german = client.get(MISSING, headers={"accept-language": "de-CH,de;q=0.9"}).json()["error"]
    unknown = client.get(MISSING, headers={"accept-language": "sv"}).json()["error"]

    assert plain == unknown
    assert plain["code"] == german["code"]
    assert plain["message"] != german["message"]


def test_the_page_of_an_error_speaks_the_browsers_language_and_loads_no_catalogue_for_english(client: Client) -> None:
    german = client.get("/nowhere/", headers={"accept-language": "de"}).content.decode()
    english = client.get("/nowhere/").content.decode()

    assert 'lang="de"' in german
    assert "Hier gibt es nichts" in german
    assert 'lang="en"' in english
    assert "Nothing here" in english


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, "en"),
        ({"accept-language": "fr, de;q=0.8"}, "de"),
        ({"accept-language": "de", "cookie": "django_language=en"}, "en"),
        ({"cookie": "sessionid=x; django_language=de"}, "de"),
        ({"cookie": "django_language=../../etc", "accept-language": "x" * 5_000}, "en"),
    ],
)
def test_a_socket_speaks_the_language_that_a_page_would(headers: dict[str, str], expected: str) -> None:
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]

    assert languages.asked_for(raw) == expected


def test_a_mail_is_in_the_language_of_whom_it_goes_to_and_a_models_words_stay() -> None:
    facts = [["Tool", "send_email"]]
    ours, theirs = (
        Mail(
            user=User(email="bob@example.org", language=language),
            kind=MailKind.REQUEST_WAITING,
            title=title,
            facts=facts,
            path="/inbox/1",
        )
        for language, title in (("de", "Send this mail?"), ("", "Shall I send it?"))
    )

    german, english = message_of(ours), message_of(theirs)

    assert german.subject == "Eine Anfrage wartet auf Ihre Entscheidung: Diese Mail senden?"
    assert "Werkzeug: Eine Mail senden" in german.body
    assert english.subject == "A request waits for your decision: Shall I send it?"


def test_numbers_and_days_are_written_as_each_language_does() -> None:
    moment = datetime(2026, 11, 22, 14, 2, tzinfo=UTC)
    day = Template('{{ at|date:"SHORT_DATE_FORMAT" }} {{ at|date:"SHORT_DATETIME_FORMAT" }}')
    # What Django's own pages write of a moment and a day.
    stock = Template("{{ at }}, {{ at|date }}")
    told: dict[str, Any] = {}
    for code in languages.LANGUAGES:
        with languages.speaking(code):
            told[code] = (
                day.render(Context({"at": moment})),
                stock.render(Context({"at": moment})),
                languages.grouped(12_345),
            )

    assert told == {
        "en": ("22 Nov 2026 22 Nov 2026 14:02 UTC", "22 Nov 2026 14:02 UTC, 22 Nov 2026", "12,345"),
        "de": ("22. Nov. 2026 22. Nov. 2026, 14:02 UTC", "22. Nov. 2026, 14:02 UTC, 22. Nov. 2026", "12.345"),
    }
    assert translation.get_language() == "en"


def test_the_pages_catalogue_is_small_and_nothing_but_data() -> None:
    for language in messages.languages():
        script = (ROOT / "static" / "js" / "catalogue" / f"{language}.js").read_text("utf-8")
        head, _, body = script.partition('"messages":')

        assert head.endswith(f'"language":"{language}","plural":(n)=>Number((n != 1)),')
        assert json.loads(body.removesuffix("};\n"))
