"""Signing in to a server by OAuth: found out, registered, out to its page and back, kept sealed, renewed."""

import re
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from agents.mcp import actions
from agents.mcp.actions import Wanted
from agents.mcp.models import McpServer, McpSignIn
from agents.mcp.sealing import opened, sealed
from hyperagent.embedded.instance import free_port
from tests.mcp.servers import Served
from tests.mcp.signing_server import Consent, guarded

HERE = "/settings/mcp/"


@pytest.mark.spec("B26")
def test_a_person_signs_in_in_their_browser_and_the_token_is_kept_and_renewed(
    bob: Any, charlie: Any, client_of: Any, transactional_db: None
) -> None:
    port, consent = free_port(), Consent()
    served = Served(guarded(consent, port), port=port).start()
    bobs = client_of(bob)
    wanted = Wanted(name="guarded", url=served.url, is_inner=True, agents=("chat",), for_installation=True)

    server = actions.look(bob, actions.add_server(bob, wanted).pk)
    assert server.state == "needs_sign_in"
    assert "Sign in" in bobs.get(f"{HERE}{server.pk}/").content.decode()

    # Out: a link, not a form, with what the library asks for.
    page = bobs.post(f"{HERE}{server.pk}/sign-in/").content.decode()
    (link,) = re.findall(r'href="(http://127[^"]+)"', page)
    address = link.replace("&amp;", "&")
    asked = parse_qs(urlsplit(address).query)
    assert asked["code_challenge_method"] == ["S256"]
    assert asked["redirect_uri"][0].endswith("/settings/mcp/signed-in/")

    # Back: only for who went, once.
    back = urlsplit(httpx.get(address).headers["location"])
    assert client_of(charlie).get(f"{back.path}?{back.query}").status_code == 404
    assert bobs.get(f"{back.path}?{back.query.replace('state=', 'state=x')}").status_code == 404
    done = bobs.get(f"{back.path}?{back.query}", follow=True)
    assert "Signed in to guarded." in done.content.decode()
    assert bobs.get(f"{back.path}?{back.query}").status_code == 404
    server.refresh_from_db()
    assert (server.state, server.tools.get().called) == ("connected", "mcp_guarded_whoami")
    kept = opened(server.sealed)["oauth"]
    assert kept["tokens"]["access_token"] in consent.tokens
    assert kept["tokens"]["access_token"] not in server.sealed + done.content.decode()
    assert McpSignIn.objects.get().is_over

    # Kept: nobody is asked again; and renewed where its time is over.
    assert actions.look(bob, server.pk).state == "connected"
    old = {**kept, "expires_at": time.time() - 1}
    McpServer.objects.filter(pk=server.pk).update(sealed=sealed({"oauth": old}))
    assert actions.look(bob, server.pk).state == "connected"
    assert consent.granted == ["code", "refresh"]
    server.refresh_from_db()
    assert opened(server.sealed)["oauth"]["tokens"] != kept["tokens"]

    # Taken back: said so, and nothing loops.
    consent.tokens.clear()
    consent.refreshing.clear()
    assert actions.look(bob, server.pk).state == "needs_sign_in"
    served.stop()
