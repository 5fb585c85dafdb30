"""Mode names: those of older programs, those of the dedicated modes, and which of them can be used here."""

import pytest

from agents.availability import modes_lacking
from agents.modes import DEFAULT_MODE, MODES, Mode, available_modes, is_available, mode_named, resolve_mode
from agents.registry import agents
from agents.skills.registry import skills
from agents.tools.providers import Providers
from agents.tools.registry import tools
from hyperagent.lib.llm.config import LLMSettings
from hyperagent.lib.refusals import Refused


@pytest.mark.spec("S9", "S20")
def test_the_names_of_the_older_programs_are_known_in_any_spelling() -> None:
    for name in ("task", "research", "data", "app", "image", "slide", "chat", "code", "writing"):
        for spelling in (name, name.upper(), f" {name.title()} "):
            assert mode_named(spelling) is MODES[name]


@pytest.mark.spec("S2")
def test_every_agent_of_the_roster_can_be_chosen_by_its_name() -> None:
    assert {name for name in agents() if (mode := mode_named(name)) and mode.agent == name} == set(agents())


def test_a_dedicated_mode_is_offered_if_its_skill_is_there() -> None:
    for mode in MODES.values():
        if mode.skill is not None:
            assert (mode.name in available_modes()) == (mode.skill in skills())

    assert is_available(Mode("planning", "chat", next(iter(skills()))))
    assert not is_available(Mode("flying", "chat", "flying"))
    assert not is_available(Mode("astrology", "astrologer"))


def test_what_is_not_there_is_refused_with_what_is() -> None:
    with pytest.raises(Refused, match=r"There is no mode 'astrology'\. Use one of: task, chat"):
        resolve_mode("astrology")


@pytest.mark.parametrize("nothing", [None, "", "  "])
def test_no_mode_leaves_the_choice_open(nothing: str | None) -> None:
    assert resolve_mode(nothing) is DEFAULT_MODE
    assert DEFAULT_MODE.agent is None


def test_a_dedicated_mode_needs_what_the_tools_of_its_skill_need() -> None:
    for mode in MODES.values():
        wanted = {need for name in skills()[mode.skill].tools for need in tools()[name].needs} if mode.skill else set()
        assert set(mode.needs) == wanted, mode.name


def test_what_a_dedicated_mode_lacks_is_said_with_the_way_out() -> None:
    nothing = LLMSettings()
    with_apps = Providers(apps=object(), workspace=object(), images=object())  # type: ignore[arg-type]

    assert set(modes_lacking(Providers(), nothing)) == {"app", "image", "slide"}
    assert modes_lacking(with_apps, nothing) == {"image": Providers().lacks(["images"])}
