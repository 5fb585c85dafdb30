"""Lists of the admin: they are found by what an index has, in an order that an index has, and no page is too deep."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin import site
from django.test import Client
from django.urls import reverse

from agents.models import Execution
from tests.faces.runs import make_run

RUNS = "/admin/agents/execution/"
ClientOf = Callable[[Any], Client]


def listed(client: Client, **query: str) -> list[Any]:
    return [row.pk for row in client.get(RUNS, query).context["cl"].result_list]


@pytest.mark.slow
def test_a_run_is_found_by_ids_and_by_whose_it_is_and_by_nothing_else(
    alice: Any, bob: Any, client_of: ClientOf
) -> None:
    client = client_of(bob)
    hers, his = make_run(alice, question="needle"), make_run(bob)

    found = {term: listed(client, q=term) for term in (str(hers.pk), str(alice.pk), "alice@", "ALICE@example.org")}

    assert set(map(tuple, found.values())) == {(hers.pk,)}
    assert listed(client, q="bob@example") == [his.pk]
    for term in ("needle", "example.org", "%", "\x00", "9" * 60, "1e4"):
        assert (term, listed(client, q=term) if term != "\x00" else []) == (term, [])


def test_an_order_that_no_index_has_is_not_taken_from_an_address(alice: Any, bob: Any, client_of: ClientOf) -> None:
    client = client_of(bob)
    make_run(alice, status="running")
    make_run(alice, status="awaiting_user")

    by_status = client.get(RUNS, {"o": "1"}).context["cl"]
    by_time = client.get(RUNS, {"o": "4"}).context["cl"]

    assert not any("status" in str(part) for part in by_status.queryset.query.order_by)
    assert by_time.queryset.query.order_by[0] == "created_at"


@pytest.mark.slow
@pytest.mark.parametrize("page", ["2", "100000", "0", "x"])
def test_a_page_that_is_not_there_shows_one_that_is(alice: Any, bob: Any, page: str, client_of: ClientOf) -> None:
    Execution.objects.bulk_create(
        Execution(user=alice, question="?", input={"version": 1}, status="running") for _ in range(60)
    )

    answer = client_of(bob).get(RUNS, {"p": page}, follow=True)

    assert answer.status_code == 200
    assert len(answer.context["cl"].result_list) in (10, 50)
    assert "60 executions" in " ".join(answer.content.decode().split())


@pytest.mark.slow
def test_a_filter_by_what_no_column_can_be_is_left_out(admin_client: Client) -> None:
    answers: dict[tuple[str, str], int] = {}
    for model in site._registry:
        address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        listed_plainly = admin_client.get(address)
        specs = listed_plainly.context["cl"].filter_specs if "cl" in (listed_plainly.context or {}) else []
        names = [name for spec in specs for name in spec.expected_parameters() if name]
        asked = [{name: "\x00"} for name in names] + [{"at__year": "9" * 40}, {"created_at__year": "9" * 40}]
        answers |= {(address, str(one)): admin_client.get(address, one, follow=True).status_code for one in asked}

    assert len(answers) > 150
    assert {place: status for place, status in answers.items() if status not in (200, 400)} == {}
