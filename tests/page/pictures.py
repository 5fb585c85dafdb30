"""`make pictures`: the pictures of the README, taken of the real product (its web server and database; the runs are
recorded ones) in a real browser. Written to docs/images/.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import django

from tests import chromium

ROOT = Path(__file__).parents[2]
sys.path[0] = str(ROOT)
FOLDER = ROOT / "docs" / "images"
WIDE: Any = {"width": 1440, "height": 900}
# Name: the page, its size and scheme, what is waited for, and what is clicked before it is taken.
PICTURES: dict[str, tuple[str, Any, Any, str, tuple[str, ...]]] = {
    "chat": ("planned", WIDE, "light", ".prose", ()),
    "chat-dark": ("planned", WIDE, "dark", ".prose", ()),
    "run-graph": ("planned", WIDE, "light", ".run-transport", ("button:text-is('Graph')",)),
    "run-agents": ("planned", WIDE, "light", ".run-transport", ("[role=tab]:text-is('Agents')",)),
    "run-timeline": ("planned", WIDE, "dark", ".run-transport", ("[role=tab]:text-is('Timeline')",)),
    "inbox": ("/inbox/", WIDE, "light", "main", ()),
    "admin": ("/admin/", WIDE, "light", "#content", ()),
}


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hyperagent.settings")
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    from tests import services

    helper = services.Services()
    os.environ.update({"ENV_FILE": os.devnull, **services.environment(helper)})
    django.setup()
    from tests.site import Site

    try:
        with Site() as site:
            _take(site)
    finally:
        helper.stop()


def _take(site: Any) -> None:
    from playwright.sync_api import sync_playwright

    from tests.person import new_person

    owner = new_person(site, "Alice", is_staff=True, is_superuser=True)
    furnish = f"from tests.page import furnished_house; furnished_house.furnish({owner.email!r})"
    told = site.manage("shell", "-v0", "-c", furnish)
    places = json.loads(told.splitlines()[-1])
    url = site.base_url
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.EXECUTABLE, args=["--no-sandbox"])
        for name, (place, size, scheme, ready, clicks) in PICTURES.items():
            context = browser.new_context(
                base_url=url, viewport=size, color_scheme=scheme, device_scale_factor=1.5, reduced_motion="reduce"
            )
            context.add_cookies([{"name": key, "value": value, "url": url} for key, value in owner.cookies.items()])
            page = context.new_page()
            page.goto(places.get(place, place))
            page.locator(ready).first.wait_for()
            for selector in clicks:
                page.locator(f".run-panel {selector}").click()
            page.wait_for_load_state("networkidle")
            page.screenshot(path=FOLDER / f"{name}.png")
            print(FOLDER / f"{name}.png")
            context.close()
        browser.close()


if __name__ == "__main__":
    main()
