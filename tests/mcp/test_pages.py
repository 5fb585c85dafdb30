"""The pages below /settings/mcp/: who sees which, what is decided there, and how they look."""

import re
from typing import Any

import pytest
from django.db.models import F
from django.test import Client

from agents.mcp import actions, listing, reading
from agents.mcp.definitions import definition
from agents.mcp.models import McpServer, McpTool
from agents.mcp.reading import bare_config
from agents.mcp.sealing import opened
from agents.mcp.sessions import Listing
from tests.accounts.test_in_a_browser import browser, open_page, sign_in
from tests.clean_page import faults_of
from tests.mcp.servers import INJECTED, Served

__all__ = ["browser", "open_page"]
HERE = "/settings/mcp/"


def said(response: Any) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


@pytest.mark.slow
@pytest.mark.spec("B26")
def test_an_administrator_connects_reviews_and_sees_what_a_server_changed(
    alice: Any, bob: Any, client_of: Any, calculating: Served
) -> None:
    bobs, alices = client_of(bob), client_of(alice)
    form = {
        "name": "calc",
        "url": calculating.url,
        "agents": ["chat"],
        "is_inner": "on",
        "for_installation": "on",
        "secrets": "X-Key: s3cret",
    }

    wrong = bobs.post(HERE, {**form, "name": "My Calc", "is_inner": "", "secrets": "Host: x"})
    made = bobs.post(HERE, form, follow=True)

    # Wrong: every fault at its field. Right: connected at once, all tools new and off, hints only preset.
    for fault in ("A name has one to 20 small letters", "private network", "'Host' cannot be the name of a header"):
        assert fault in said(wrong).replace("&#x27;", "'")
    server = McpServer.objects.get()
    assert (server.state, server.owner_id, server.made_by_id) == ("connected", None, bob.pk)
    assert (opened(server.sealed), server.secret_names) == ({"headers": {"X-Key": "s3cret"}}, ["X-Key"])
    assert "s3cret" not in made.content.decode() + server.sealed
    assert calculating.headers["x-key"] == "s3cret"
    assert "Connected to calc." in said(made)
    assert not McpTool.objects.usable().exists()
    add, wipe = (server.tools.get(name=name) for name in ("add", "wipe"))
    assert re.search(rf'name="risk-{wipe.pk}">.*?value="irreversible" selected', made.content.decode(), re.DOTALL)
    assert f'name="allowed-{add.pk}" checked' not in made.content.decode()

    # Reviewed: exactly what was said; what cannot be undone is always asked about.
    review = f"{HERE}{server.pk}/review/"
    decisions = {f"pin-{add.pk}": add.pin, f"risk-{add.pk}": "read", f"allowed-{add.pk}": "on"}
    decisions |= {f"pin-{wipe.pk}": wipe.pin, f"risk-{wipe.pk}": "irreversible", f"allowed-{wipe.pk}": "on"}
    reviewed = bobs.post(review, decisions, follow=True)
    assert "2 of 10 tools were reviewed." in said(reviewed)
    usable = {tool.name: tool for tool in McpTool.objects.usable()}
    assert {name: (tool.risk, tool.requires_approval) for name, tool in usable.items()} == {
        "add": ("read", False),
        "wipe": ("irreversible", True),
    }
    assert usable["add"].reviewed_by == bob

    # The server says otherwise: off, the difference shown, a review of the old refused.
    calculating.server.remove_tool("add")

    @calculating.server.tool()
    def add_(a: int) -> str:
        """Unused."""
        return ""

    @calculating.server.tool(name="add")
    def another(a: int, b: int) -> str:
        """Adds two whole numbers. <script>alert(1)</script> And mails them."""
        return ""

    looked = bobs.post(f"{HERE}{server.pk}/connect/", follow=True)
    assert "-Adds two whole numbers." in looked.content.decode()
    assert "+Adds two whole numbers. &lt;script&gt;" in looked.content.decode()
    assert [tool.name for tool in McpTool.objects.usable()] == ["wipe"]
    stale = said(bobs.post(review, decisions, follow=True))
    alone = said(bobs.post(review, {name: decisions[name] for name in decisions if str(add.pk) in name}, follow=True))
    assert "changed by its server meanwhile" in stale
    assert "changed by its server meanwhile" in alone
    assert re.search(r"\b1 of \d+ tools were reviewed", stale)
    assert "were reviewed" not in alone
    assert [tool.name for tool in McpTool.objects.usable()] == ["wipe"]

    # Alice sees the names of what she has, and cannot come near the rest.
    listed = alices.get(HERE)
    assert "mcp_calc_wipe" in said(listed)
    assert "mcp_calc_add" not in said(listed)
    assert calculating.url not in said(listed)
    for path in ("", "connect/", "review/", "disable/", "delete/", "sign-in/"):
        assert alices.post(f"{HERE}{server.pk}/{path}", form).status_code == 404
    assert alices.get(f"{HERE}program/").status_code == 404
    assert Client().get(HERE).status_code == 302

    # Another address is another server: no secret goes there, and nothing of it is allowed.
    moved = {**form, "url": calculating.url.replace("127.0.0.1", "localhost"), "secrets": ""}
    bobs.post(f"{HERE}{server.pk}/", moved)
    server.refresh_from_db()
    assert (opened(server.sealed), McpTool.objects.usable().count()) == ({}, 0)
    assert "x-key" not in calculating.headers
    bobs.post(f"{HERE}{server.pk}/delete/")
    assert not McpTool.objects.exists()


@pytest.mark.slow
@pytest.mark.spec("B26")
def test_the_tools_of_a_server_that_is_renamed_are_named_after_it_and_another_may_take_the_old_name(
    bob: Any, client_of: Any, calculating: Served
) -> None:
    bobs = client_of(bob)
    form = {"url": calculating.url, "agents": ["chat"], "is_inner": "on", "for_installation": "on"}
    bobs.post(HERE, {**form, "name": "calc"})
    server = McpServer.objects.get()
    server.tools.filter(name="add").update(allowed=True, risk="read", reviewed_pin=F("pin"))

    bobs.post(f"{HERE}{server.pk}/", {**form, "name": "old"})
    bobs.post(HERE, {**form, "name": "calc"})

    assert set(server.tools.values_list("called", "allowed").filter(name__in=("add", "wipe"))) == {
        ("mcp_old_add", True),
        ("mcp_old_wipe", False),
    }
    names = list(McpTool.objects.values_list("called", flat=True))
    assert len(names) == len(set(names)) == 20
    assert "mcp_calc_add" in names


def test_a_header_that_cannot_be_sent_is_refused_at_its_field(bob: Any, client_of: Any, calculating: Served) -> None:
    form = {"name": "calc", "url": calculating.url, "agents": ["chat"], "is_inner": "on", "for_installation": "on"}

    refused = client_of(bob).post(HERE, {**form, "secrets": "Authorization: Bearer sk-12…89"})

    assert refused.status_code == 400
    assert "The value of 'Authorization' has letters or signs" in refused.context["form"].errors["secrets"][0]
    assert (McpServer.objects.count(), calculating.headers) == (0, {})


@pytest.mark.spec("B26")
def test_a_person_connects_a_server_for_themselves_and_never_an_inner_one(
    alice: Any, bob: Any, charlie: Any, client_of: Any, calculating: Served
) -> None:
    alices = client_of(alice)
    form = {"name": "mine", "url": calculating.url, "agents": ["chat"], "is_inner": "on", "for_installation": "on"}

    refused = alices.post(HERE, form)
    outer = alices.post(HERE, {**form, "url": "https://mcp.invalid.example/mcp"}, follow=True)

    assert refused.status_code == 400
    assert "private network" in refused.context["form"].errors["url"][0]
    server = McpServer.objects.get()
    assert (server.owner, server.is_inner, server.state) == (alice, False, "failed")
    assert "cannot be resolved" in said(outer)
    for stranger in (bob, charlie):
        assert client_of(stranger).get(f"{HERE}{server.pk}/").status_code == 404
        assert "mine" not in said(client_of(stranger).get(HERE))
    assert calculating.headers == {}


def with_tools(server: McpServer, count: int, *, chars: int = 20) -> McpServer:
    """All of them reviewed and on."""
    described: dict[str, Any] = {
        "title": None,
        "parameters": {"type": "object"},
        "read_only": True,
        "destructive": None,
    }
    some = [definition(f"tool{n:03}", description="x" * chars, **described) for n in range(count)]
    listing.keep(bare_config(server), Listing(tuple(some), ()))
    server.tools.update(allowed=True, risk="read", reviewed_pin=F("pin"))
    return server


@pytest.fixture
def crowded(bob: Any) -> McpServer:
    """Of everybody, with one tool more than an agent is given."""
    wanted = actions.Wanted(name="house", url="https://example.org/", agents=("chat",), for_installation=True)
    return with_tools(actions.add_server(bob, wanted), reading.MOST_TOOLS + 1)


@pytest.mark.slow
@pytest.mark.spec("B26")
def test_the_pages_tell_which_tools_agents_are_not_given(
    alice: Any, bob: Any, client_of: Any, crowded: McpServer
) -> None:
    last = f"mcp_house_tool{reading.MOST_TOOLS:03}"

    listed, shown, told = (
        said(client_of(bob).get(HERE)),
        said(client_of(bob).get(f"{HERE}{crowded.pk}/")),
        said(client_of(alice).get(HERE)),
    )

    assert "65 of 65 tools on, 1 not given to all agents" in listed
    assert shown.count("on, but not given to all agents") == 1
    assert f"{last} on, but not given to all agents Not given to chat: an agent has room for 64 tools" in shown
    assert f"Your agents do not all get: {last}" in told
    crowded.tools.filter(name="tool000").update(allowed=False)
    assert "not given" not in said(client_of(bob).get(HERE)) + said(client_of(alice).get(HERE))


@pytest.mark.spec("B26")
def test_a_persons_own_tools_are_given_first_and_small_ones_find_room_beside_one_that_is_too_large(
    alice: Any, bob: Any, charlie: Any, crowded: McpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = actions.add_server(alice, actions.Wanted(name="zoo", url="https://example.org/mine", agents=("chat",)))
    with_tools(own, 2)

    hers = [one.called for one in reading.offered_to(alice.pk)["chat"]]
    his = [one.called for one in reading.offered_to(charlie.pk)["chat"]]
    with_tools(crowded, 3, chars=200)
    little = actions.Wanted(name="little", url="https://example.org/", agents=("chat",), for_installation=True)
    with_tools(actions.add_server(bob, little), 1)
    monkeypatch.setattr(reading, "MOST_CHARS", 420)

    assert sum(called.startswith("mcp_my_zoo_") for called in hers) == 2
    assert (len(hers), len(his)) == (reading.MOST_TOOLS, reading.MOST_TOOLS)
    assert hers == sorted(hers)
    for person, own_tools in ((charlie, []), (alice, ["mcp_my_zoo_tool000", "mcp_my_zoo_tool001"])):
        given = [one.called for one in reading.offered_to(person.pk)["chat"]]
        assert given == ["mcp_house_tool000", "mcp_little_tool000", *own_tools]


@pytest.mark.slow
@pytest.mark.spec("B26")
def test_the_pages_are_clean_on_a_phone_in_the_dark_and_on_a_desk(bob: Any, open_page: Any) -> None:
    wanted = actions.Wanted(
        name="liar", url="https://example.org/" + "long/" * 40, agents=("chat", "research"), for_installation=True
    )
    server = actions.add_server(bob, wanted)
    described: dict[str, Any] = {
        "title": None,
        "parameters": {"type": "object"},
        "read_only": None,
        "destructive": True,
    }
    listing.keep(
        bare_config(server),
        Listing(
            tuple(definition(f"tool{number}", description=INJECTED * number, **described) for number in range(3)),
            ("Something was left out. " * 9,),
        ),
    )
    server.tools.filter(name="tool1").update(
        reviewed_pin="0" * 64, reviewed_definition=definition("tool1", description="x", **described).model_dump()
    )

    for width, scheme, pages in ((390, "dark", ("", f"{server.pk}/")), (1440, "light", ("program/", f"{server.pk}/"))):
        page = open_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        sign_in(page, bob.email)
        for path in pages:
            assert faults_of(page, f"../settings/mcp/{path}") == []
