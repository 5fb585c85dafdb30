"""The page's own files: their addresses change with their content, and each module that is needed is named."""

import gzip
import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from asgiref.sync import sync_to_async
from django.http import HttpResponse
from django.template import Context, Template
from django.templatetags.static import static
from django.test import Client, RequestFactory

from hyperagent.module_graph import modules_of
from hyperagent.static_files import FilesFirst, StaticFiles, version

Send = Callable[[dict[str, Any]], Awaitable[None]]


async def _asked(path: str, *, accepts: bytes = b"gzip, br", method: str = "GET") -> tuple[int, dict[str, str], bytes]:
    told: list[dict[str, Any]] = []

    async def django(scope: Any, receive: Any, send: Send) -> None:
        await send({"type": "http.response.start", "status": 418, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def send(message: dict[str, Any]) -> None:
        told.append(message)

    scope = {"type": "http", "method": method, "path": path, "headers": [(b"accept-encoding", accepts)]}
    await FilesFirst(django)(scope, None, send)
    headers = {name.decode(): value.decode() for name, value in told[0]["headers"]}
    return told[0]["status"], headers, told[1]["body"]


async def test_a_file_of_this_version_is_compressed_and_kept_for_ever() -> None:
    status, headers, body = await _asked(static("js/chat.js"))

    assert (status, headers["content-encoding"]) == (200, "gzip")
    assert headers["cache-control"] == "public, max-age=31536000, immutable"
    assert headers["content-type"].startswith("text/javascript")
    assert int(headers["content-length"]) == len(body)
    assert b"createApplication" in gzip.decompress(body)


async def test_who_takes_no_compression_gets_none_and_who_asks_for_the_head_no_body() -> None:
    _, plain, body = await _asked(static("js/chat.js"), accepts=b"identity")
    _, _, nothing = await _asked(static("js/chat.js"), method="HEAD")

    assert "content-encoding" not in plain
    assert b"createApplication" in body
    assert nothing == b""


async def test_a_page_from_before_an_update_gets_its_files_and_does_not_keep_them() -> None:
    old = static("js/chat.js").replace(version(), "0" * 12)

    status, headers, _ = await _asked(old)

    assert (status, headers["cache-control"]) == (200, "no-cache")


def test_without_a_version_it_is_served_as_it_is_now_whatever_was_once_collected(settings: Any, tmp_path: Path) -> None:
    (tmp_path / "js").mkdir()
    (tmp_path / "js" / "chat.js").write_text("old")
    settings.STATIC_ROOT = str(tmp_path)

    def django(request: Any) -> HttpResponse:
        return HttpResponse(status=418)

    served = StaticFiles(django)
    found: Any = served(RequestFactory().get("/static/js/chat.js"))
    missing: Any = served(RequestFactory().get("/static/js/none.js"))

    assert b"createApplication" in b"".join(found)
    assert missing.status_code == 418


async def test_everything_else_is_djangos() -> None:
    for path in (
        "/",
        "/static/js/chat.js",
        f"/static/~{version()}/js/../settings.py",
        f"/static/~{version()}/js/no.js",
    ):
        status, _, _ = await _asked(path)
        assert status == 418, path


def test_each_module_is_named_once_and_before_what_needs_it_is_read() -> None:
    files = {
        "js/page.js": 'import { a } from "./a.js";\nimport {\n  b,\n} from "./parts/b.js"; // b\nimport("./later.js");',
        "js/a.js": 'export { c } from "../vendor/c.js";',
        "js/parts/b.js": 'import "../a.js";\nconst text = "import nothing from here";',
        "vendor/c.js": "export const c = 1;",
    }

    assert modules_of("js/page.js", files.__getitem__) == ("js/page.js", "js/a.js", "js/parts/b.js", "vendor/c.js")


def test_the_chat_page_names_its_modules_by_version() -> None:
    drawn = Template('{% load modules %}{% module_preloads "js/chat.js" "js/session.js" %}').render(Context())

    named = re.findall(r'<link rel="modulepreload" href="/static/~[0-9a-f]{12}/([^"]+)">', drawn)
    assert len(named) == drawn.count("<link") == len(set(named))
    assert {"js/chat.js", "js/session.js", "js/store.js", "vendor/preact.js"} <= set(named)
    assert "js/components/answer.js" not in named


async def test_the_page_can_be_kept_on_a_home_screen(client: Client, db: None) -> None:
    page = (await sync_to_async(client.get)("/accounts/login/")).content.decode()
    [manifest] = re.findall(r'<link rel="manifest" href="([^"]+)">', page)
    [picture] = re.findall(r'<link rel="apple-touch-icon" href="([^"]+)">', page)

    status, headers, body = await _asked(manifest, accepts=b"")

    assert (status, headers["content-type"]) == (200, "application/manifest+json")
    icons = [urljoin(manifest, icon["src"]) for icon in json.loads(body)["icons"]]
    for address in (picture, *icons):
        status, headers, _ = await _asked(address, accepts=b"")
        assert (status, headers["content-type"].startswith("image/")) == (200, True), address
