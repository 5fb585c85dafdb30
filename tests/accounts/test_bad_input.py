"""What no browser sends: broken text, NUL, and megabytes. Refused in words, never with a traceback."""

from typing import Any

import pytest
from django.test import Client

FORM = "application/x-www-form-urlencoded"
PAGES = ["/accounts/login/", "/accounts/register/", "/accounts/password/reset/"]


@pytest.mark.slow
@pytest.mark.threat("T34")
@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize(
    "body",
    [
        b"email=%ff%fe%80&password=%ff&password_again=%ff",
        b"email=%00alice@example.org&password=%00&password_again=%00",
        b"email=" + b"a" * 100_000 + b"@example.org&password=x&password_again=x",
        b"email=%ED%A0%80@example.org&password=%ED%A0%80",
        b"",
    ],
    ids=["broken UTF-8", "NUL", "long address", "surrogate", "nothing"],
)
def test_a_page_answers_a_broken_address_with_its_form(alice: Any, page: Client, path: str, body: bytes) -> None:
    answer = page.post(path, body, content_type=FORM)

    assert answer.status_code == 400
    assert b'id="id_email_error"' in answer.content
    assert "sessionid" not in page.cookies


@pytest.mark.threat("T34")
@pytest.mark.parametrize("path", PAGES[:2])
@pytest.mark.parametrize(
    "password", [b"a%00b", b"x" * 1_000_000, b"", b"%ff" * 2000], ids=["NUL", "1 MB", "nothing", "broken UTF-8"]
)
def test_a_page_answers_a_broken_password_with_its_form(alice: Any, page: Client, path: str, password: bytes) -> None:
    body = b"email=dora@example.org&password=" + password + b"&password_again=x"

    answer = page.post(path, body, content_type=FORM)

    assert answer.status_code == 400
    assert b'id="id_password_error"' in answer.content
    assert len(answer.content) < 20_000


@pytest.mark.parametrize("path", ["/settings/profile/", "/settings/security/", "/settings/tokens/"])
def test_pages_of_ones_own_ask_for_a_login(db: None, page: Client, path: str) -> None:
    for answer in (page.get(path), page.post(path)):
        assert answer.status_code == 302
        assert answer["Location"] == f"/accounts/login/?next={path}"


@pytest.mark.slow
@pytest.mark.parametrize("path", [*PAGES, "/settings/profile/", "/settings/security/", "/settings/tokens/"])
def test_no_page_of_accounts_is_kept_by_a_cache_or_needs_an_inline_script(alice: Any, page: Client, path: str) -> None:
    if path not in PAGES:
        page.force_login(alice)

    answer = page.get(path)

    html = answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    assert "unsafe-inline" not in answer["Content-Security-Policy"]
    assert " style=" not in html
    assert "<style" not in html
    assert "<script>" not in html
    assert " onclick=" not in html


def test_the_profile_saves_a_name_and_nothing_else(alice: Any, alices_page: Client) -> None:
    alices_page.post("/settings/profile/", {"display_name": "Alice B.", "email": "x@example.org", "is_staff": "on"})

    alice.refresh_from_db()
    assert (alice.display_name, alice.email, alice.is_staff) == ("Alice B.", "alice@example.org", False)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["x" * 121, "a\x00b"])
def test_a_name_that_cannot_be_stored_is_refused(alice: Any, alices_page: Client, name: str) -> None:
    answer = alices_page.post("/settings/profile/", {"display_name": name})

    assert answer.status_code == 400
    assert b'aria-invalid="true"' in answer.content
    alice.refresh_from_db()
    assert alice.display_name == "Alice"
