"""A whole product of its own for what works in boxes: what other page tests leave behind is not met here."""

from tests.page.conftest import _whole_site, browser, live_site, open_context, person, sandboxes, visit, watched

__all__ = ["_whole_site", "browser", "live_site", "open_context", "person", "sandboxes", "visit", "watched"]
