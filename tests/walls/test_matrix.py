"""Every address of the site, by every method, as nobody, as Charlie, reviewer, auditor, administrator, superuser and
Alice, with the ids of Alice's things: what the table in `access` allows is done, and nothing else is.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pytest
from django.contrib import admin

from tests.faces.admin_rows import registered
from tests.faces.conftest import token_of
from tests.walls.access import METHODS, Rule, admin_rules, rules
from tests.walls.addresses import FOR_PROGRAMS, Browser, Outcome, filled, missing, names_in, routes
from tests.walls.cast import ALICE, CHARLIE, MAY, NOBODY, PROGRAM, ROLES, people
from tests.walls.owners import WORD, everything_stored, things_of

# Endpoints that wait read the database in threads of their own.
pytestmark = pytest.mark.django_db(transaction=True)

# What a form has to say before it does anything.
FORMS: Final = {
    "/schedules/<uuid:schedule_id>/": {"verb": "pause"},
    "/mail/<uuid:account_id>/": {"verb": "default"},
    "/connectors/<uuid:connector_id>/": {"verb": "off"},
}
ASKING: Final = {
    "/search/": "?q=question",
    "/documents/search/": "?q=document",
    "/api/v1/search/all": "?q=question",
    "/api/v1/conversations": "?origin=all",
}
# Alice has no picture of a page, no box and no sign-in on its way: it is as if these did not exist.
EMPTY: Final = {
    "/api/v1/documents/<uuid:document_id>/pages/<int:number>/image",
    "/settings/mcp/signed-in/",
}
# These wait for the process of the sandboxes, or go out to a server and note what came of it in a thread of their own:
# `tests.browser` and `tests.mcp` have both.
UNTRIED_BY_ALICE: Final = {
    "/browser/<uuid:conversation_id>/",
    "/browser/<uuid:conversation_id>/frame.jpg",
    "/settings/mcp/<uuid:server_id>/connect/",
    "/settings/mcp/<uuid:server_id>/sign-in/",
}


@dataclass(frozen=True, slots=True)
class Wall:
    """One person at one address by one method."""

    who: str
    method: str
    rule: Rule
    values: Mapping[str, str]

    @property
    def is_open(self) -> bool:
        may = MAY[self.who] | {"everyone"}
        return self.method in self.rule.methods and not self.rule.who.isdisjoint(may)

    @property
    def refusals(self) -> set[str]:
        """What may be answered where it is closed."""
        route, who = self.rule.route, self.rule.who
        if route == "/api/<path:rest>" or (self.who == NOBODY and route.endswith(".jpg")):
            return {"404", "405"}
        if self.method not in self.rule.methods:
            return {"401", "403", "404", "405", "login"}
        if route.startswith("/admin/"):
            return {"403", "404"} if self.who in ROLES else {"login"}
        if self.who == NOBODY or who == {"token"}:
            return {"401"} if route.startswith(FOR_PROGRAMS) and route != "/api/docs/" else {"login"}
        return {"404"} if "owner" in who else {"403", "404"}

    def fault(self, browser: Browser) -> str:
        """Empty if it is as it should be."""
        address = filled(self.rule.route, self.values) + ASKING.get(self.rule.route, "")
        if self.is_open:
            told = browser.try_out(self.method, address, FORMS.get(self.rule.route))
            return self._fault_of_open(told)
        told = browser.send(self.method, address, FORMS.get(self.rule.route))
        return self._fault_of_closed(told, browser)

    def _fault_of_open(self, told: Outcome) -> str:
        if told.kind != "done" and "everyone" not in self.rule.who and self.rule.route not in EMPTY:
            return f"is refused: {told}"
        # A link shows what it was made to show; an administrator sees the rule that they revoke.
        is_shown_to_them = self.who == ALICE or "<str:token>" in self.rule.route or "owner" in self.rule.who
        return "" if is_shown_to_them else _words(told)

    def _fault_of_closed(self, told: Outcome, browser: Browser) -> str:
        if told.kind not in self.refusals:
            return f"is not refused as it should be: {told}"
        if self.rule.who == {"owner"} and self.who in (CHARLIE, "administrator") and self.method in self.rule.methods:
            return self._fault_of_missing(browser) or _words(told)
        return _words(told)

    def _fault_of_missing(self, browser: Browser) -> str:
        """What is Alice's is answered as what nobody has, with as many queries: nor does it take longer. Asked twice,
        for what a process keeps for a minute is read at one of them."""
        form, others = FORMS.get(self.rule.route), missing(self.values)
        for _ in range(2):
            hers = browser.send(self.method, filled(self.rule.route, self.values), form)
            nothing = browser.send(self.method, filled(self.rule.route, others), form)
            if hers.plainly != nothing.plainly:
                break
            if hers.queries == nothing.queries:
                return ""
        return f"is not answered as for an id that nothing has: {hers}, {nothing}"


def _words(told: Outcome) -> str:
    """Alice's, in what somebody else is told."""
    said = told.body.decode(errors="replace") + told.headers
    return f"tells of Alice: {said[max(0, said.find(WORD) - 80) :][:160]}" if WORD in said else ""


def tried(who: str, things: Mapping[str, str]) -> Iterator[Wall]:
    """Charlie tries everything by every method. Whoever has a role: what is closed to them, and what they are shown."""
    for rule in rules().values():
        left_out = {
            ALICE: rule.route in UNTRIED_BY_ALICE,
            # Pages know no tokens.
            PROGRAM: not rule.route.startswith(FOR_PROGRAMS) or rule.route == "/api/docs/",
        }
        if left_out.get(who, False) or (rule.route == "/api/schema/" and who in ROLES):
            continue
        for method in METHODS if who == CHARLIE else rule.methods:
            wall = Wall(who, method, rule, things)
            if who not in ROLES or method == "GET" or not wall.is_open:
                yield wall


def test_every_address_has_a_rule_and_every_rule_an_address() -> None:
    there, known = {route for route in routes() if not _is_page_of_a_table(route)}, set(rules())

    assert there - known == set(), "say in tests/walls/access.py who may do what there"
    assert known - there == set(), "in tests/walls/access.py, and nowhere on the site"
    tables = {model._meta.label for model in registered()}
    assert tables == set(admin_rules()), "say in tests/walls/access.py who may look at it"


def _is_page_of_a_table(route: str) -> bool:
    """One of those that Django makes for each."""
    _, top, *rest = route.split("/")
    has_table = len(rest) >= 3 and any(
        (model._meta.app_label, model._meta.model_name) == tuple(rest[:2]) for model in admin.site._registry
    )
    usual = ("", "add/", *(f"<path:object_id>/{page}" for page in ("", "change/", "delete/", "history/")))
    return top == "admin" and has_table and "/".join(rest[2:]) in usual


@pytest.mark.slow
@pytest.mark.spec("B4")
@pytest.mark.threat("T01", "T04", "T06")
@pytest.mark.parametrize(
    "some", [(NOBODY, ALICE), (CHARLIE,), ("reviewer", "auditor", PROGRAM), ("administrator", "superuser")]
)
def test_everybody_may_what_the_table_says_and_nothing_else(
    some: tuple[str, ...], alice: Any, bob: Any, charlie: Any
) -> None:
    things, cast = things_of(alice), {**people(alice, bob, charlie), PROGRAM: charlie}
    unknown = {name for rule in rules().values() if "owner" in rule.who for name in names_in(rule.route)}
    assert unknown <= {*things, "number", "scope", "path"}, "an address names what Alice has none of"

    for who in some:
        browser = Browser(cast[who], token=token_of(cast[who]) if who == PROGRAM else "")
        before = everything_stored()
        told = [(wall, wall.fault(browser)) for wall in tried(who, things)]
        faults = [f"{who} {wall.method} {wall.rule.route} {fault}" for wall, fault in told if fault]
        assert faults == [], "\n".join(faults)
        changed = [table for table, rows in everything_stored().items() if rows != before[table]]
        assert changed == [], f"what {who} was refused was done"
