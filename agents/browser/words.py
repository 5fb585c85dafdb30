"""Why something could not be done in the browser, in sentences of our own, without a word of a page or server. Pure."""

import re
from typing import Final

CLOSED: Final = "The browser was closed. Open the page again (browser_navigate)."
NO_PAGE: Final = "No page is open. Open one first (browser_navigate)."
CHANGED: Final = "The page is not as it was any more, so nothing was done. Look at it again (browser_screenshot)."
NO_ELEMENT: Final = (
    "There is no element {target} in what was last seen of the page. Take a reference such as e12 from it, or look "
    "again (browser_screenshot)."
)
NOTHING_THERE: Final = "At {x}, {y} there is nothing. The page is {width} pixels wide and {height} high."
NOT_DONE: Final = (
    "The element did not take it within {seconds:g} s: it may be covered, out of sight or switched off. Look at the "
    "page again (browser_screenshot)."
)
DONE: Final = "It was done, but what came of it cannot be seen. {why}"
NO_KEY: Final = "There is no key {key}. Write it like Enter, Escape, ArrowDown or Control+A."
TAKES_NO_TEXT: Final = (
    "This element takes no such text. A field for a date takes one like 2026-11-30, for a time 13:45, for a number "
    "3.5; what is no field is clicked (browser_click)."
)
NOT_EDITABLE: Final = (
    "This field cannot be written in: the page has switched it off, or only shows something in it. Nothing was done."
)
NO_SUCH_CHOICE: Final = "The list has no choice with this text. Take one that stands in what was last seen of the page."
NO_ANSWER: Final = "The page does not answer. Open it again (browser_navigate)."
LED_AWAY: Final = "The page leads to another server, to which there is no connection."
TOO_SLOW: Final = "The page did not come within {seconds:g} s."
DOWNLOAD: Final = "This address is a file and no page: the browser takes no downloads. Read it with fetch_url."
_FAILURE: Final = re.compile(r"net::ERR_([A-Z0-9_]+)")
_FAILURES: Final = {
    "NAME_NOT_RESOLVED": "The name of this server cannot be resolved.",
    "CONNECTION_REFUSED": "The server refuses connections.",
    "CONNECTION_RESET": "The connection was broken off.",
    "CONNECTION_CLOSED": "The connection was broken off.",
    "EMPTY_RESPONSE": "The server closed the connection without an answer.",
    "TIMED_OUT": "The server did not answer in time.",
    "TOO_MANY_REDIRECTS": "The page leads on and on, without an end.",
    "INVALID_RESPONSE": "What the server answered is no HTTP.",
    "ABORTED": DOWNLOAD,
    "BLOCKED_BY_RESPONSE": "The server does not let its page be shown.",
}
TUNNEL: Final = "TUNNEL_CONNECTION_FAILED"


def failure_of(message: str) -> str:
    """Chromium's name of why a page did not come; empty if it gave none."""
    if "Download is starting" in message:
        return "ABORTED"
    found = _FAILURE.search(message)
    return found[1] if found else ""


def failure_words(name: str) -> str:
    if name.startswith(("CERT_", "SSL_")):
        return f"The server's certificate or encryption is not valid ({name.lower().replace('_', ' ')})."
    return _FAILURES.get(name, f"The page could not be opened ({name.lower().replace('_', ' ') or 'no reason given'}).")
