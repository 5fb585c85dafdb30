"""Using web pages like a person, in the browser of the conversation (S196).

To look (open, scroll, take a picture) is a step like reading a page. To click, type and press a key may buy, send or
delete something on a site: those are effects, made once for one yes. What was there when the call was made goes with
it as `on` (`settle`), so that people agree to an element and a page, not to a number; if the page has changed since,
nothing is done. How far a page is scrolled it sees, so more than to read on is asked about in a run that has read
text of others. Whether a click that was interrupted has happened no probe can tell: whoever said yes is asked.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any, Final, Literal

from django.utils.translation.trans_null import gettext_noop
from pydantic import Field

from agents.browser.values import SeenPage
from agents.engine.events import BrowserAction, BrowserStream
from agents.sandbox.comparing import SEEN_OF_BROWSER
from agents.tools.tool import ANY_AGENT, Call, Reply, Sends, ToAddress, ToolError, ToOthers, tool, unknown_once_touched

FOLDER: Final = SEEN_OF_BROWSER
KEPT_PICTURES: Final = 20
_NUMBERED: Final = re.compile(rf"^{re.escape(FOLDER)}/(\d{{6}})\.jpg$")

Target = Annotated[
    str, "The reference of an element in what was last seen of the page, such as e12", Field(max_length=40)
]
On = Annotated[str, "Leave it out: what stands there is filled in", Field(max_length=1_000)]
Pixels = Annotated[int | None, "Pixels from the left upper corner of the picture", Field(ge=0, le=10_000)]

ONE_OF_TWO: Final = "Say what to click: either target, or both x and y."


@tool(
    label=gettext_noop("Open a page in the browser"),
    agents=ANY_AGENT,
    needs=("browser",),
    timeout_s=120,
    untrusted=True,
    sends=ToAddress("url"),
)
async def browser_navigate(
    call: Call, url: Annotated[str, "An address with http:// or https://", Field(min_length=1, max_length=2_000)]
) -> Reply:
    """Opens a page in the conversation's browser and shows what is on it, with references for what can be clicked.

    For pages that need clicking, typing or JavaScript. Only to read a page: fetch_url, which is faster.
    """
    page = await call.providers.browser.navigate(call.about, url)
    return await _shown(call, page, action="navigate")


@tool(
    label=gettext_noop("Take a picture of the page"),
    agents=ANY_AGENT,
    needs=("browser",),
    timeout_s=60,
    untrusted=True,
    sends=Sends.NOWHERE,
)
async def browser_screenshot(call: Call) -> Reply:
    """Looks at the page that is open: a picture for the user, and its text with references for you."""
    return await _shown(call, await call.providers.browser.look(call.about), action="screenshot")


def _reads_on(arguments: Mapping[str, Any]) -> bool:
    """One screen down. A page sees how far it is scrolled, and any number can be told by that."""
    return (arguments.get("direction", "down"), arguments.get("amount", 1)) == ("down", 1)


@tool(
    label=gettext_noop("Scroll in the browser"),
    agents=ANY_AGENT,
    needs=("browser",),
    timeout_s=60,
    untrusted=True,
    sends=ToOthers(unless=_reads_on),
)
async def browser_scroll(
    call: Call,
    direction: Annotated[Literal["up", "down"], "Where to"] = "down",
    amount: Annotated[float, "How many screens", Field(gt=0, le=20)] = 1,
) -> Reply:
    """Scrolls the page that is open, and shows what comes."""
    page = await call.providers.browser.scroll(call.about, direction, amount)
    return await _shown(call, page, action="scroll", target=direction)


async def _clicked(
    call: Call, target: str = "", x: int | None = None, y: int | None = None, on: str = ""
) -> dict[str, Any]:
    if target and x is None and y is None:
        return {"on": await call.providers.browser.described(call.about, target)}
    if not target and x is not None and y is not None:
        return {"on": await call.providers.browser.at_point(call.about, x, y)}
    raise ToolError(ONE_OF_TWO)


async def _typed(call: Call, target: str, **_: Any) -> dict[str, Any]:
    return {"on": await call.providers.browser.described(call.about, target)}


async def _pressed(call: Call, **_: Any) -> dict[str, Any]:
    return {"on": await call.providers.browser.focused(call.about)}


@tool(
    label=gettext_noop("Click in the browser"),
    agents=ANY_AGENT,
    needs=("browser",),
    effect="write",
    requires_approval=True,
    probe=unknown_once_touched,
    settle=_clicked,
    timeout_s=60,
    untrusted=True,
    sends=ToOthers(),
)
async def browser_click(call: Call, target: Target = "", x: Pixels = None, y: Pixels = None, on: On = "") -> Reply:
    """Clicks an element of the page that is open: by its reference, or, if it has none, by its place in the picture."""
    at = None if x is None or y is None else (x, y)
    page = await call.providers.browser.click(call.about, on, at=at, touching=call.touching)
    return await _shown(call, page, action="click", target=on)


@tool(
    label=gettext_noop("Type in the browser"),
    agents=ANY_AGENT,
    needs=("browser",),
    effect="write",
    requires_approval=True,
    probe=unknown_once_touched,
    settle=_typed,
    timeout_s=60,
    untrusted=True,
    sends=ToOthers(),
)
async def browser_type(
    call: Call,
    target: Target,
    text: Annotated[str, "What is to stand in it; of a list, the choice", Field(max_length=10_000)],
    submit: Annotated[bool, "Whether Enter is pressed after it"] = False,
    on: On = "",
) -> Reply:
    """Types into a field of the page that is open, in place of what is there. Never a password that the user did not
    give for just this page."""
    page = await call.providers.browser.type(call.about, on, text, submit=submit, touching=call.touching)
    return await _shown(call, page, action="type", target=on)


@tool(
    label=gettext_noop("Press a key in the browser"),
    agents=ANY_AGENT,
    needs=("browser",),
    effect="write",
    requires_approval=True,
    probe=unknown_once_touched,
    settle=_pressed,
    timeout_s=60,
    untrusted=True,
    sends=ToOthers(),
)
async def browser_press_key(
    call: Call,
    key: Annotated[str, "Such as Enter, Escape, Tab, ArrowDown or Control+A", Field(min_length=1, max_length=60)],
    on: On = "",
) -> Reply:
    """Presses a key on the page that is open. To write a text: browser_type."""
    page = await call.providers.browser.press(call.about, on, key, touching=call.touching)
    return await _shown(call, page, action="press_key", target=key)


@tool(label=gettext_noop("Show the browser"), agents=ANY_AGENT, needs=("browser",), sends=Sends.NOWHERE)
async def browser_get_stream_url(call: Call) -> Reply:
    """Gives the address at which the user can watch the browser of this conversation, and shows it to them."""
    if call.about.conversation_id is None:
        return Reply(content="This run belongs to no conversation: nobody can watch its browser.", data={"url": ""})
    url = f"/browser/{call.about.conversation_id}/"
    call.emit(BrowserStream(url=url))
    return Reply(content=f"The user can watch the browser at {url}.", data={"url": url})


async def _shown(call: Call, page: SeenPage, *, action: str, target: str = "") -> Reply:
    picture, unkept = await _picture(call, page.picture) if page.picture else ("", "")
    call.emit(BrowserAction(action=action, target=target, url=page.url, title=page.title, screenshot=picture))
    failed = page.status if page.status is not None and page.status >= 400 else None
    parts = [
        f"Page: {page.title or 'without a title'}\nAddress: {page.url}",
        f"The server answered with the error {failed}." if failed else "",
        *page.notes,
        f"Picture: {picture}" if picture else unkept,
        page.text or "There is nothing on it.",
    ]
    return Reply(
        content="\n".join(part for part in parts if part),
        data={"url": page.url, "title": page.title, "screenshot": picture, "text": page.text},
    )


async def _picture(call: Call, picture: bytes) -> tuple[str, str]:
    """Its path, or why it has none. What was done on the page is done, whatever becomes of its picture."""
    try:
        return await _kept(call, picture), ""
    except ToolError as error:
        return "", f"The picture could not be kept: {error.message}"


async def _kept(call: Call, picture: bytes) -> str:
    """The picture's path; the oldest of too many go. A run without a conversation keeps none."""
    if call.about.conversation_id is None:
        return ""
    workspace = call.providers.workspace
    files = await workspace.list_files(call.about, scope="conversation", prefix=f"{FOLDER}/")
    numbers = sorted(int(found[1]) for file in files if (found := _NUMBERED.match(file.path)))
    number = (numbers[-1] if numbers else 0) + 1
    stored = await workspace.write_bytes(
        call.about, f"{FOLDER}/{number:06}.jpg", picture, "image/jpeg", by="browser", key=call.key
    )
    for old in [one for one in numbers if one <= number - KEPT_PICTURES]:
        with suppress(ToolError):  # another run of the conversation may have been faster
            await workspace.delete_file(call.about, f"{FOLDER}/{old:06}.jpg", scope="conversation")
    return stored.path
