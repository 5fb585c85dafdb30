"""The page on which administrators tune agents: who may, what is refused and how, and what the audit log keeps."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import translation

from agents import registry
from agents.tuning import actions
from agents.tuning.models import AgentTuning
from hyperagent.audit import reading
from hyperagent.lib.refusals import NotAllowed, Refused
from hyperagent.management.findings import State
from hyperagent.management.model_checks import check_tunings

pytestmark = pytest.mark.django_db
LIST = "/admin/agents/agenttuning/"
ADD = f"{LIST}add/"
MINE = '[{"name": "mine", "base_url": "http://127.0.0.1:9/v1", "tier_models": {"pro": "known/as-this"}}]'
ClientOf = Callable[[Any], Client]


@pytest.fixture(autouse=True)
def _models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_COMPATIBLE_PROVIDERS", MINE)


@pytest.fixture
def auditor(django_user_model: Any) -> Any:
    someone = django_user_model.objects.create_user("auditor@example.org")
    someone.groups.add(Group.objects.get_or_create(name="auditor")[0])
    return someone


def page_of(row: AgentTuning) -> str:
    return f"{LIST}{row.pk}/change/"


def faults(answer: Any) -> dict[str, list[str]]:
    form = answer.context["adminform"].form
    return {name: list(words) for name, words in form.errors.items()}


def told_since(number: int) -> list[tuple[str, str, str, Any]]:
    return [(row.kind, row.actor_name, row.target_id, row.details) for row in reading.after(number)]


def test_an_administrator_tunes_an_agent_changes_it_and_lets_it_be(bob: Any, client_of: ClientOf) -> None:
    client, number = client_of(bob), len(reading.after(0))

    client.post(ADD, {"agent": "chat", "model": "mine/best", "temperature": "0.4", "max_retries": "0"})
    row = AgentTuning.objects.get()
    first = {**row.chosen(), "by": row.changed_by}
    client.post(page_of(row), {"agent": "web", "tier": "max", "timeout_s": "30", "approval": "before_agent"})
    row.refresh_from_db()
    second = (row.agent, row.chosen())
    client.post(f"{LIST}{row.pk}/delete/", {"post": "yes"})

    was = {"model": "mine/best", "temperature": 0.4, "max_retries": 0}
    then = {"tier": "max", "timeout_s": 30, "approval": "before_agent"}
    assert first == {**was, "by": bob}
    assert second == ("chat", then), "whose row it is stays"
    assert not AgentTuning.objects.exists()
    assert told_since(number) == [
        ("tuning.changed", bob.email, "chat", {"before": {}, "after": was}),
        ("tuning.changed", bob.email, "chat", {"before": was, "after": then}),
        ("tuning.changed", bob.email, "chat", {"before": then, "after": {}}),
    ]


def test_auditors_look_and_nobody_else_does_more_than_that(
    alice: Any, bob: Any, auditor: Any, client_of: ClientOf
) -> None:
    client_of(bob).post(ADD, {"agent": "chat", "model": "mine/best"})
    row = AgentTuning.objects.get()

    shown = client_of(auditor).get(LIST)
    opened = client_of(auditor).get(page_of(row))
    for user in (alice, auditor):
        client_of(user).post(page_of(row), {"model": "mine/other"})
        client_of(user).post(ADD, {"agent": "web", "model": "mine/other"})
        client_of(user).post(f"{LIST}{row.pk}/delete/", {"post": "yes"})

    assert (shown.status_code, opened.status_code) == (200, 200)
    assert all(words in shown.content.decode() for words in ("mine/best", bob.email))
    assert "<input" not in opened.content.decode().partition('class="field-model')[2].partition("</fieldset")[0]
    assert client_of(alice).get(LIST).status_code in (302, 403)
    assert [(one.agent, one.model) for one in AgentTuning.objects.all()] == [("chat", "mine/best")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("field", "given", "says"),
    [
        (
            "model",
            "nowhere/x",
            "'nowhere/x' leads to no model: write provider/model with one of the providers that are",
        ),
        ("model", "openai/gpt-5.4", "configured here (mine), or configure its provider first"),
        ("model", "mine/", "'mine/' leads to no model"),
        ("temperature", "2.5", "2.5 is no temperature here: give a number from 0 to 2."),
        ("temperature", "-1", "-1.0 is no temperature here"),
        ("timeout_s", "0", "0 s is no time limit here: give whole seconds from 1 to 604,800."),
        ("timeout_s", "9999999999", "9999999999 s is no time limit here"),
        ("max_retries", "6", "6 retries cannot be: give a number from 0 to 5."),
        ("max_retries", "-1", "-1 retries cannot be"),
        ("agent", "wizard", "There is no agent 'wizard'. The agents are: chat, code, data, mail, rag, research"),
    ],
)
def test_what_cannot_be_is_refused_with_the_value_and_the_way_out(
    field: str, given: str, says: str, bob: Any, client_of: ClientOf
) -> None:
    answer = client_of(bob).post(ADD, {"agent": "chat", "tier": "pro", field: given})

    assert list(faults(answer)) == [field]
    [words] = faults(answer)[field]
    assert says in words
    assert not AgentTuning.objects.exists()


def test_nothing_at_all_and_an_agent_twice_are_refused(bob: Any, client_of: ClientOf) -> None:
    client = client_of(bob)

    empty = faults(client.post(ADD, {"agent": "chat"}))
    client.post(ADD, {"agent": "chat", "tier": "max"})
    twice = faults(client.post(ADD, {"agent": "chat", "tier": "pro"}))
    emptied = faults(client.post(page_of(AgentTuning.objects.get()), {}))

    assert (
        empty
        == emptied
        == {"__all__": ["Nothing is chosen here: fill in at least one field, or let the agent have no row."]}
    )
    assert twice == {"agent": ["This agent is tuned already: open its row in the list, and change it there."]}
    assert AgentTuning.objects.get().tier == "max"


@pytest.mark.parametrize("name", ["mine/best", "best", "known/as-this", "mine/known/as-this"])
def test_a_model_of_a_provider_that_is_configured_is_taken(name: str, bob: Any, client_of: ClientOf) -> None:
    client_of(bob).post(ADD, {"agent": "chat", "model": f" {name} "})

    assert AgentTuning.objects.get().model == name


def test_every_agent_of_the_roster_is_offered_and_the_form_says_for_which_runs_it_is(
    bob: Any, client_of: ClientOf
) -> None:
    page = client_of(bob).get(ADD).content.decode()

    assert all(f'<option value="{name}">' in page for name in registry.names())
    assert "A run takes what stands here when it begins." in page
    with translation.override("de"):
        german = client_of(bob).get(ADD, headers={"accept-language": "de"}).content.decode()
    assert "Ein Lauf nimmt, was hier steht, wenn er beginnt." in german


def test_a_row_of_an_agent_that_is_gone_says_so_and_can_be_deleted(bob: Any, client_of: ClientOf) -> None:
    row = AgentTuning.objects.create(agent="wizard", tier="max")

    answer = client_of(bob).post(page_of(row), {"tier": "pro"})
    client_of(bob).post(f"{LIST}{row.pk}/delete/", {"post": "yes"})

    assert "There is no agent 'wizard'" in faults(answer)["__all__"][0]
    assert not AgentTuning.objects.exists()


def test_the_verbs_refuse_by_themselves(alice: Any, bob: Any) -> None:
    row = AgentTuning(agent="chat", model="nowhere/x", temperature=3)

    with pytest.raises(Refused) as refused:
        actions.tune(row, by=bob)
    with pytest.raises(NotAllowed):
        actions.tune(AgentTuning(agent="chat", tier="max"), by=alice)
    with pytest.raises(Refused, match="Nothing is chosen"):
        actions.tune(AgentTuning(agent="chat"), by=bob)
    actions.tune(kept := AgentTuning(agent="chat", tier="max"), by=bob)
    with pytest.raises(NotAllowed):
        actions.untune(kept, by=alice)

    assert set(refused.value.fields) == {"model", "temperature"}
    assert AgentTuning.objects.count() == 1


def test_the_list_asks_as_many_queries_for_all_agents_as_for_one(bob: Any, client_of: ClientOf) -> None:
    client = client_of(bob)
    AgentTuning.objects.create(agent="chat", tier="max", changed_by=bob)
    client.get(LIST)

    for_one = _queries_of(client)
    for name in registry.names():
        AgentTuning.objects.get_or_create(agent=name, defaults={"tier": "max", "changed_by": bob})

    assert _queries_of(client) == for_one


def _queries_of(client: Client) -> int:
    with CaptureQueriesContext(connection) as queries:
        client.get(LIST)
    return len(queries)


def test_the_doctor_names_a_tuning_whose_model_leads_nowhere_by_now() -> None:
    AgentTuning.objects.create(agent="chat", model="openai/gpt-5.4")
    AgentTuning.objects.create(agent="web", model="mine/best", temperature=1)

    [finding] = check_tunings()

    assert finding.state is State.ERROR
    assert finding.what.startswith("the tuning of the chat agent: 'openai/gpt-5.4' leads to no model")
    assert "change it in the admin, or delete it" in finding.mend
