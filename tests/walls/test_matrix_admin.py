"""Every page of the admin, of every table, with rows of Alice's, as each of the cast: who opens it, what of hers stands
on it, what may be done there; and that what stands on no page cannot be asked for by an address either.
"""

import re
from typing import Any, Final

import pytest
from django.contrib import admin
from django.db.models import CharField, JSONField, TextField
from django.test import RequestFactory
from django.urls import reverse

from agents.mcp.models import McpServer
from tests.faces.admin_rows import registered
from tests.walls import access
from tests.walls.addresses import Browser, Outcome
from tests.walls.cast import ALICE, MAY, ROLES, people
from tests.walls.owners import WORD, OwnWords, everything_stored

pytestmark = pytest.mark.django_db(transaction=True)

# What a page is for, by its name and the method.
FOR: Final = {
    ("changelist", "GET"): "look",
    ("add", "GET"): "add",
    ("add", "POST"): "add",
    ("change", "GET"): "look",
    ("change", "POST"): "change",
    ("delete", "GET"): "delete",
    ("delete", "POST"): "delete",
    ("history", "GET"): "look",
}
SHOWN: Final = {
    "auditor": access.columns(access.SHOWN_OF_DECISIONS, access.SHOWN_TO_AUDITORS),
    "administrator": access.columns(access.SHOWN_TO_STAFF, access.SHOWN_OF_DECISIONS),
}


@pytest.fixture
def rows(alice: Any) -> OwnWords:
    """One of each table, all of them Alice's."""
    made = OwnWords(alice)
    for model in registered():
        made.of(model)
    McpServer.objects.update(owner=alice)
    return made


def address(model: Any, page: str, pk: Any) -> str:
    args = [] if page in ("changelist", "add") else [pk]
    shown = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)
    return f"{shown}?p=1" if page == "changelist" else shown


def is_as_it_should_be(who: str, told: Outcome, may: frozenset[str], *, is_row: bool) -> bool:
    if not may.isdisjoint(MAY[who]):
        # What is not theirs in a list of theirs: Django leads back to the home, as from a row that does not exist.
        is_others = is_row and may & MAY[who] == {"reviewer*"}
        return told.status == 302 if is_others else told.kind == "done"
    return told.kind == ("403" if who in ROLES else "login")


@pytest.mark.slow
@pytest.mark.spec("B4", "S210")
@pytest.mark.threat("T01", "T06")
def test_each_page_of_each_table_opens_for_whom_the_table_says_and_shows_what_it_says(
    rows: OwnWords, alice: Any, bob: Any, charlie: Any
) -> None:
    faults, cast = [], people(alice, bob, charlie)
    seen: dict[str, set[str]] = {}
    # She has no role, as Charlie.
    del cast[ALICE]

    for who, user in cast.items():
        browser, shown = Browser(user), seen.setdefault(who, set())
        before = everything_stored()
        for model in registered():
            may = access.admin_rules()[model._meta.label]
            for (page, method), doing in FOR.items():
                opened = may.get(doing, frozenset())
                is_open = not opened.isdisjoint(MAY[who])
                # What is closed is tried once; what everybody with a right sees is no matter of words.
                if (not is_open and (page in ("add", "delete") and method == "GET")) or (
                    is_open and who == "superuser" and opened != {"rights"}
                ):
                    continue
                send = browser.try_out if is_open else browser.send
                told = send(method, address(model, page, rows.of(model).pk))
                if not is_as_it_should_be(who, told, opened, is_row=page in ("change", "history")):
                    faults.append(f"{who} {method} {model._meta.label} {page}: {told}")
                shown |= {rows.columns[word] for word in re.findall(rf"{WORD}\d{{3}}", told.body.decode())}
        shown |= {
            rows.columns[word] for word in re.findall(rf"{WORD}\d{{3}}", browser.send("GET", "/admin/").body.decode())
        }
        assert faults == [], "\n".join(faults)
        assert everything_stored() == before, who

    for who in set(seen) - {"superuser"}:
        assert seen[who] - SHOWN.get(who, set()) == set(), f"{who} is shown Alice's words"
    assert SHOWN["administrator"] - seen["administrator"] == set(), "in tests/walls/access.py, and on no page"
    assert SHOWN["auditor"] - seen["auditor"] == set(), "in tests/walls/access.py, and on no page"


@pytest.mark.slow
@pytest.mark.threat("T06")
def test_what_stands_in_no_list_cannot_be_guessed_by_filters_in_an_address(rows: OwnWords, admin_user: Any) -> None:
    browser = Browser(admin_user)
    ours = [model for model in registered() if model._meta.label != "auth.Group"]

    for model in ours:
        page = address(model, "changelist", None)
        shown: Any = admin.site._registry[model]
        offered = {one[0] if isinstance(one, tuple) else one for one in (*shown.list_filter, *shown.linked_by)}
        for field in model._meta.concrete_fields:
            is_text = isinstance(field, CharField | TextField | JSONField) and not field.choices
            if not is_text or field.primary_key or field.name in offered:
                continue
            assert browser.send("GET", f"{page}&{field.name}__isnull=0").status == 400, field
        for lookup in ("user__password__startswith", "execution__question__startswith", "owner__password__gt"):
            if lookup.partition("__")[0] in {field.name for field in model._meta.concrete_fields}:
                assert browser.send("GET", f"{page}&{lookup}=a").status == 400, (model, lookup)


@pytest.mark.threat("T06")
def test_each_may_do_with_chosen_rows_what_the_table_says(alice: Any, bob: Any, charlie: Any) -> None:
    cast = people(alice, bob, charlie)

    for who in ("reviewer", "auditor", "administrator"):
        request = RequestFactory().get("/admin/")
        request.user = cast[who]
        may = {model._meta.label: set(admin.site._registry[model].get_actions(request)) for model in registered()}
        # Whoever may not open the list has no actions to choose.
        opened = {
            label: acts
            for label, acts in may.items()
            if acts and not access.admin_rules()[label]["look"].isdisjoint(MAY[who])
        }
        assert opened == access.action_rules()[who], who
