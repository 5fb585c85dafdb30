"""The browser's tools as the gateway calls them: what people are asked, and what is kept."""

import uuid
from typing import Any

import pytest

from agents.engine.states import EffectStatus
from agents.runtime.context import AgentContext
from agents.runtime.driven import About
from agents.tools.catalogue.browser_tools import FOLDER, KEPT_PICTURES, browser_screenshot
from agents.tools.gateway import Gateway
from agents.tools.tool import Call, ToolError
from tests.tools.doubles import APPROVE_ALL, FakeBrowser, FakeWorkspace, fake_providers
from tests.tools.driving import call_once, case_of, seen


@pytest.mark.spec("S196")
async def test_a_click_is_refused_where_nobody_can_be_asked_and_looking_is_not() -> None:
    browser = FakeBrowser()
    gateway = Gateway(fake_providers(browser=browser))

    click = await call_once(gateway, "browser_click", {"target": "e1"}, agent="chat")
    look = await call_once(gateway, "browser_screenshot", {}, agent="chat")

    assert click["is_error"]
    assert browser.done == []
    assert not look["is_error"]
    assert 'button "Go" [ref=e1]' in look["content"]


async def test_what_is_clicked_is_what_stood_there_when_it_was_asked_about_whatever_the_model_says_it_is() -> None:
    browser = FakeBrowser()
    gateway = Gateway(fake_providers(browser=browser), checks=APPROVE_ALL)

    await call_once(gateway, "browser_click", {"target": "e1", "on": "a harmless link"}, agent="chat")
    await call_once(gateway, "browser_click", {"x": 3, "y": 4}, agent="chat")
    neither = await call_once(gateway, "browser_click", {"x": 3}, agent="chat")

    assert browser.done == [("click", "e1 on https://example.org/"), ("click", "3, 4 on https://example.org/")]
    assert neither["is_error"]


async def test_the_last_pictures_of_a_conversation_are_kept_and_older_ones_go() -> None:
    async def touching() -> None:
        return None

    workspace, events = FakeWorkspace(files={"notes.txt": "mine", f"{FOLDER}/kept.txt": "mine too"}), list[Any]()
    call = Call(
        providers=fake_providers(workspace=workspace),
        about=About(uuid.uuid4(), user_id=uuid.uuid4(), conversation_id=uuid.uuid4()),
        agent_name="chat",
        agent_input=None,
        key="",
        emit=events.append,
        touching=touching,
    )

    for _ in range(KEPT_PICTURES + 5):
        await browser_screenshot.function(call)

    pictures = [f"{FOLDER}/{number:06}.jpg" for number in range(6, KEPT_PICTURES + 6)]
    assert sorted(workspace.files) == sorted([*pictures, "notes.txt", f"{FOLDER}/kept.txt"])
    assert events[-1].screenshot == pictures[-1]
    assert (events[-1].url, events[-1].title) == ("https://example.org/", "Example")


async def test_a_click_whose_picture_cannot_be_kept_has_happened_all_the_same() -> None:
    class Full(FakeWorkspace):
        async def write_bytes(self, *_: Any, **__: Any) -> Any:
            raise ToolError("There is no room.")

    browser = FakeBrowser()
    providers = fake_providers(browser=browser, workspace=Full())

    async def program(context: AgentContext) -> Any:
        return seen(await context.tool("browser_click", {"target": "e1"}, call_id="c1"))

    case = case_of(program, Gateway(providers, checks=APPROVE_ALL))
    case.conversation_id = uuid.uuid4()
    end = await case.drive()

    (effect,) = case.store.effects(case.execution_id)
    assert effect.status is EffectStatus.FINISHED
    assert browser.done == [("click", "e1 on https://example.org/")]
    assert not end.value["is_error"]
    assert "The picture could not be kept: There is no room." in end.value["content"]
