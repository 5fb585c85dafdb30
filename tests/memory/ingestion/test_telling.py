"""Whoever owns a document is told on the socket of their inbox how far it is; nobody else is."""

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.test import Client

from tests.faces.sockets import Socket
from tests.memory.giving import given

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_threads")]

INBOX = "/ws/inbox/"


def cookie_of(user: Any) -> str:
    client = Client()
    client.force_login(user)
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"


async def test_progress_is_announced_to_its_owner_only(alice: Any, charlie: Any) -> None:
    cookies = [await sync_to_async(cookie_of)(user) for user in (alice, charlie)]
    async with Socket(INBOX, cookie=cookies[0]) as mine, Socket(INBOX, cookie=cookies[1]) as of_charlie:
        await mine.frame("requests")
        await of_charlie.frame("requests")

        document = await sync_to_async(given)(alice, "Words of Alice.")

        told: list[dict[str, Any]] = []
        while not told or told[-1]["status"] != "embedding":
            told.append((await mine.frame("document"))["document"])
        assert told[0]["status"] == "queued"
        assert {one["doc_id"] for one in told} == {str(document.pk)}
        assert (told[-1]["searchable"], told[-1]["total_chunks"]) == (True, 1)
        assert await of_charlie.says_nothing()
