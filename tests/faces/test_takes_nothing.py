"""A database that takes nothing, as while another becomes the primary: who writes is told when to come again."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client

pytestmark = [pytest.mark.spec("B1"), pytest.mark.django_db(transaction=True)]


@pytest.fixture
def takes_nothing(alice: Any) -> Iterator[Client]:
    """Who is signed in already."""
    client = Client(raise_request_exception=False)
    client.force_login(alice)
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
    yield client
    if connection.connection is not None:
        with connection.cursor() as cursor:
            cursor.execute("SET default_transaction_read_only = off")


def test_the_api_says_when_to_come_again(takes_nothing: Client) -> None:
    answer = takes_nothing.post("/api/v1/conversations", {}, content_type="application/json")

    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")
    assert answer.headers["Retry-After"]


def test_so_do_the_pages(takes_nothing: Client) -> None:
    answer = takes_nothing.post("/accounts/logout/")

    assert answer.status_code == 503
    assert answer.headers["Retry-After"]
