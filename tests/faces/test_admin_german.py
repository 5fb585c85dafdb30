"""The admin in German: no page of any table says anything as it does in English."""

import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group
from django.core.cache import cache
from django.test import Client, RequestFactory
from django.urls import reverse

from agents import registry as agents
from agents.guardrails.registry import found_scanners
from deploy import messages
from hyperagent.accounts.scopes import GROUP_ROLES, Scope
from tests.faces.admin_rows import Rows, registered

WORDS = "Xyz"
ClientOf = Callable[[Any], Client]
# Ids, codes with a dot, addresses, moments as programs write them; all in what people or the house wrote.
_DATA = re.compile(rf".*{WORDS}.*|.*\b[0-9a-f]{{8}}\b.*|[\w.]+\.\w+|\S+@\S+|[^A-Za-z]*")
# Names of products and methods; how Django calls the icons of yes and no; a key in a help text, and a zone.
_NAMES = {"HyperAgent", "Administration | HyperAgent", "Administration", "TOTP Authenticator", "WebAuthn"} | {
    "True", "False", "unified:", "UTC",
}  # fmt: skip


class Texts(HTMLParser):
    """What a page says, and what its images, buttons and fields are called."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self._in_code = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_code += tag in ("script", "style", "code", "pre")
        given = dict(attrs)
        is_button = tag == "input" and given.get("type") in ("submit", "button")
        names = ("aria-label", "title", "placeholder", "alt", *(["value"] if is_button else []))
        self.found |= {" ".join(text.split()) for name in names if (text := given.get(name))}

    def handle_endtag(self, tag: str) -> None:
        self._in_code -= tag in ("script", "style", "code", "pre")

    def handle_data(self, data: str) -> None:
        if not self._in_code and data.strip():
            self.found.add(" ".join(data.split()))


def addresses(rows: Rows, user: Any) -> Iterator[str]:
    request = RequestFactory().get("/")
    request.user = user
    yield from (reverse("admin:index"), reverse("admin:jobs"))
    for model in registered():
        row, page = rows.of(model), admin.site._registry[model]
        base = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        yield reverse(f"{base}_changelist") + ("?status__exact=pending" if base == "admin:hitl_request" else "")
        yield reverse(f"{base}_change", args=[row.pk])
        if page.has_add_permission(request):
            yield reverse(f"{base}_add")
        if page.has_delete_permission(request, row):
            yield reverse(f"{base}_delete", args=[row.pk])
        yield reverse(f"{base}_history", args=[row.pk])


@pytest.mark.slow
@pytest.mark.spec("B29")
def test_no_page_of_the_admin_says_anything_in_english_to_whoever_reads_german(
    admin_user: Any, client_of: ClientOf
) -> None:
    cache.delete("admin.home.spent")  # the names of those before
    client = client_of(admin_user)
    same_in_both = {
        text.casefold()
        for message in messages.read_catalogue("de", messages.SERVER)
        for text in (str(message.id),)
        if str(message.string).casefold() == text.casefold()
    }
    names = {*_NAMES, *found_scanners(), "content", *Scope, *GROUP_ROLES, *Group.objects.values_list("name", flat=True)}
    names |= {*agents.names()}
    left: dict[str, str] = {}

    for address in addresses(Rows(WORDS), admin_user):
        said = []
        for language in ("en", "de"):
            answer = client.get(address, headers={"accept-language": language})
            assert answer.status_code == 200, address
            said.append(Texts(answer.content.decode()).found)
        for text in said[0] & said[1]:
            bare = re.sub(r"^› |: ?\d*$", "", text)
            if not _DATA.fullmatch(text) and not {text, bare} & names and bare.casefold() not in same_in_both:
                left.setdefault(text, address)

    assert left == {}
