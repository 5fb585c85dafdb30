"""Files, previews and exports: their bytes go to whom they belong, whatever part of them is asked for."""

from typing import Any, Final

import pytest
from django.test import Client

from hyperagent.accounts.models import DataExport
from tests.walls.access import rules
from tests.walls.addresses import filled, missing
from tests.walls.owners import WORD, things_of

pytestmark = pytest.mark.django_db(transaction=True)

# What a server says of a file beside its bytes.
TELLING: Final = ("Content-Range", "ETag", "Last-Modified", "Content-Disposition", "Accept-Ranges")
PARTS: Final = ({"Range": "bytes=0-3"}, {"If-None-Match": "*"})
# Where bytes are given rather than a page or JSON.
BYTES: Final = ("/file", "/image", ".jpg", "/export", "/previews/", "<path:path>")


@pytest.mark.slow
@pytest.mark.spec("B4")
@pytest.mark.threat("T04", "T01")
def test_neither_head_nor_a_range_tells_anything_of_what_is_not_ones_own(alice: Any, charlie: Any) -> None:
    things = things_of(alice)
    others, charlies = missing(things), Client()
    charlies.force_login(charlie)

    for rule in rules().values():
        if "owner" not in rule.who or "GET" not in rule.methods:
            continue
        hers, nothing = filled(rule.route, things), filled(rule.route, others)
        asked: list[tuple[str, dict[str, str]]] = [("head", {}), ("options", {})]
        if any(part in rule.route for part in BYTES):
            asked += [("get", headers) for headers in PARTS]
        for method, headers in asked:
            told = getattr(charlies, method)(hers, headers=headers)
            same = getattr(charlies, method)(nothing, headers=headers)
            assert told.status_code == same.status_code, (method, rule.route, headers)
            assert told.get("Content-Length") == same.get("Content-Length"), (method, rule.route, headers)
            assert not [name for name in TELLING if told.get(name)], (method, rule.route)
            assert WORD not in f"{told.headers}{told.content.decode()}", (method, rule.route)
            assert method == "options" or told.status_code in (404, 405), (method, rule.route)


@pytest.mark.slow
@pytest.mark.threat("T04")
def test_the_owner_is_told_how_long_the_file_is(alice: Any) -> None:
    """So the test above is about something."""
    things, client = things_of(alice), Client()
    client.force_login(alice)
    file = filled("/api/v1/files/<workspace_scope:scope>/<uuid:scope_id>/<path:path>", things)

    assert client.get(file).status_code == 200
    assert client.head(file)["Content-Length"] == str(len(f"{WORD} file"))


@pytest.mark.slow
@pytest.mark.threat("T04")
def test_an_export_ends_when_it_says(alice: Any) -> None:
    things, client = things_of(alice), Client()
    client.force_login(alice)
    address = f"/settings/data/export/{things['export_id']}/"
    assert client.get(address).status_code == 200

    DataExport.objects.update(ends_at="2026-01-01T00:00Z")

    assert client.get(address).status_code == 404
