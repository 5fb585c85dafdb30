"""Finding the tools, and refusing to start with one that is not whole."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from agents import registry as roster
from agents.tools.registry import AGENTS, load, tools, whole
from agents.tools.tool import ANY_AGENT, BadTool, Call, Tool, tool

AGENT_NAMES = ("chat", "web")


def module_of(name: str, *found: Tool) -> ModuleType:
    module = ModuleType(name)
    for number, one in enumerate(found):
        one.function.__module__ = name
        setattr(module, f"tool_{number}", one)
    return module


def made(name: str, *, agents: tuple[str, ...] = ANY_AGENT, needs: tuple[str, ...] = ()) -> Tool:
    @tool(name=name, agents=agents, needs=needs)
    async def function(call: Call) -> str:
        """Does something."""
        return ""

    return function


@pytest.fixture
def importable(tmp_path: Path) -> Iterator[Path]:
    """A folder whose modules can be imported; they are forgotten afterwards."""
    before = set(sys.modules)
    sys.path.insert(0, str(tmp_path))
    yield tmp_path
    sys.path.remove(str(tmp_path))
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.mark.spec("S185", "S195", "S193", "S102", "S112")
def test_all_tools_of_the_catalogue_are_found() -> None:
    assert {
        "web_search",
        "web_search_news",
        "web_search_deep",
        "fetch_url",
        "search_documents",
        "read_document",
        "execute_code",
        "sandbox_file",
        "search_inbox",
        "search_sent",
        "search_drafts",
        "read_message",
        "draft_email",
        "send_email",
        "reply_to_message",
        "generate_image",
        "analyze_image",
        "ask_user",
        "fork",
        "wait",
        "invoke_skill",
        "list_skills",
        "delegate_to_research",
        "handoff_to_research",
    } <= set(tools())
    assert list(tools()) == sorted(tools())


@pytest.mark.spec("S182", "S185")
def test_every_tool_that_an_agent_names_is_there_and_is_for_that_agent() -> None:
    missing = [
        (name, wanted)
        for name, spec in roster.specs().items()
        for wanted in spec.tools
        if wanted not in tools() or not tools()[wanted].is_for(name)
    ]

    assert missing == []


@pytest.mark.spec("S131")
def test_the_protected_tools_are_those_of_the_list() -> None:
    protected = {name for name, found in tools().items() if found.requires_approval}

    assert protected == {
        "send_email",
        "reply_to_message",
        "send_draft",
        "execute_code",
        "execute_script",
        "app_install_packages",
        "app_start_server",
        "browser_click",
        "browser_type",
        "browser_press_key",
    }


@pytest.mark.spec("S185")
def test_a_file_of_an_agents_folder_brings_its_tools(importable: Path) -> None:
    (importable / "weather_tools.py").write_text(
        "from agents.tools.tool import Call, tool\n"
        "from agents.tools.catalogue.web_tools import web_search\n"
        "@tool(agents=('web',))\n"
        "async def weather(call: Call, place: str) -> str:\n"
        "    '''Tells the weather.'''\n"
        "    return place\n"
    )

    found = whole([load("weather_tools")], agents=AGENT_NAMES)

    assert list(found) == ["weather"], "a tool that a file only imports is not its own"


def test_tools_in_a_tuple_are_found_too() -> None:
    module = module_of("some_tools", made("one"))
    pair = (made("two"), made("three"))
    for one in pair:
        one.function.__module__ = "some_tools"
    module.PAIR = pair  # type: ignore[attr-defined]

    assert list(whole([module], agents=AGENT_NAMES)) == ["one", "three", "two"]


@pytest.mark.spec("S182")
def test_all_that_is_wrong_is_told_at_once() -> None:
    modules = [
        module_of("a_tools", made("look_up"), made("stranger", agents=("chat", "chef"))),
        module_of("b_tools", made("look_up"), made("needy", needs=("web", "oracle")), made("nobody", agents=())),
    ]

    with pytest.raises(BadTool) as refused:
        whole(modules, agents=AGENT_NAMES)

    assert str(refused.value).split("; ") == [
        "tool 'stranger' in a_tools is for the agent 'chef', which is not there (there are chat, web)",
        "tool 'look_up' is in a_tools and again in b_tools",
        "tool 'needy' in b_tools needs the provider 'oracle', which is not there",
        "tool 'needy' in b_tools needs web, by which data may go out: say by sends= where to",
        "tool 'nobody' in b_tools is for no agent: name them, or say ANY_AGENT",
    ]


def test_a_file_that_cannot_be_imported_is_named(importable: Path) -> None:
    (importable / "broken_tools.py").write_text("import no_such_module\n")

    with pytest.raises(BadTool, match="broken_tools cannot be imported: No module named 'no_such_module'"):
        load("broken_tools")


def test_a_tool_that_is_not_whole_is_named_with_its_file(importable: Path) -> None:
    (importable / "silent_tools.py").write_text(
        "from agents.tools.tool import ANY_AGENT, Call, tool\n"
        "@tool(agents=ANY_AGENT)\n"
        "async def silent(call: Call) -> str:\n"
        "    return ''\n"
    )

    with pytest.raises(BadTool, match="silent_tools: tool 'silent' has no docstring"):
        load("silent_tools")


def test_nothing_but_files_called_tools_is_imported() -> None:
    assert all(
        (AGENTS.parent / found.function.__module__.replace(".", "/")).name.endswith("_tools")
        for found in tools().values()
    )
