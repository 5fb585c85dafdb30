"""The page of the API: every operation of the description is listed, found, and shown with a command to copy."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.clean_page import axe_faults
from tests.page.conftest import FORMS

pytestmark = pytest.mark.slow


@pytest.mark.spec("S152")
def test_every_operation_is_listed_found_and_shown_with_a_command(person: Any, visit: Any) -> None:
    watched = visit(person(), **FORMS["wide and light"])
    watched.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = watched.new_page()
    sizes: list[int] = []
    page.on("response", lambda response: sizes.append(int(response.headers.get("content-length", 0))))

    page.goto("/api/docs/")
    operations = page.locator("details.operation")
    expect(operations.first).to_be_visible()

    described = page.request.get("/api/schema/", headers={"accept": "application/json"}).json()
    assert operations.count() == sum(len(methods) for methods in described["paths"].values())
    assert sum(sizes) < 250_000
    expect(page.get_by_role("navigation", name="Main")).to_be_visible()  # a way back

    page.get_by_label("Find an operation").fill("hitl decide")
    assert 0 < operations.count() < 10
    page.get_by_label("Find an operation").fill("post /api/v1/query")
    ask = operations.filter(has=page.get_by_text("/api/v1/query", exact=True))
    ask.locator("summary").click()
    expect(ask).to_contain_text("Idempotency-Key")
    expect(ask.get_by_role("group", name="What is sent")).to_contain_text("query: string")
    ask.get_by_role("button", name="Copy").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert re.search(r"curl .*-X POST .*/api/v1/query'.*Authorization: Bearer \$HYPERAGENT_TOKEN", copied, re.DOTALL)
    [body] = re.findall(r"-d '(\{.*\})'", copied)
    assert json.loads(body) != {}
    assert axe_faults(page) == []
    assert (watched.errors, watched.foreign) == ([], [])


def test_an_address_of_one_operation_opens_it(person: Any, visit: Any) -> None:
    page = visit(person(), **FORMS["phone and dark"]).new_page()

    page.goto("/api/docs/#api_v1_me_retrieve")

    expect(page.locator("#api_v1_me_retrieve .operation-body")).to_be_visible()
