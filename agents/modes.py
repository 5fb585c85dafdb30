"""Mode names as people and older programs write them, and the agent that each stands for. Knows no execution, and
loads neither agent nor skill: who only takes a question does not need them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _

from agents import registry
from agents.skills import folders as skills
from hyperagent.lib.refusals import Refused


@dataclass(frozen=True, slots=True)
class Mode:
    """`agent` is None where the router chooses; `skill` is what a dedicated mode begins with, and `needs` the providers
    of its tools."""

    name: str
    agent: str | None
    skill: str | None = None
    needs: tuple[str, ...] = ()


# The names of older programs too. The dedicated modes call a skill at once.
_TABLE = (
    Mode("task", None),
    Mode("chat", "chat"),
    Mode("rag", "rag"),
    Mode("web", "web"),
    Mode("research", "research"),
    Mode("code", "code"),
    Mode("data", "data"),
    Mode("writing", "writing"),
    Mode("mail", "mail"),
    Mode("app", "chat", "app_builder", ("apps", "workspace")),
    Mode("image", "chat", "image_generation", ("images",)),
    Mode("slide", "chat", "slide_generation", ("workspace",)),
)
MODES: Mapping[str, Mode] = {mode.name: mode for mode in _TABLE}
DEFAULT_MODE = MODES["task"]


def mode_named(name: str | None) -> Mode | None:
    """The mode of this name; upper case (IMAGE, WRITING, …) is an older spelling of the same.

    An agent that the table does not know yet is a mode of its own name.
    """
    if name is None or not name.strip():
        return DEFAULT_MODE
    key = name.strip().lower()
    return MODES.get(key) or (Mode(key, key) if key in registry.names() else None)


def resolve_mode(name: str | None) -> Mode:
    """The mode of this name, if it can be used here. Raises Refused."""
    mode = mode_named(name)
    allowed = ", ".join(available_modes())
    if mode is None:
        raise _refused(
            "unknown_mode",
            _("There is no mode '{value}'. Use one of: {allowed}.").format(value=(name or "")[:40], allowed=allowed),
        )
    if not is_available(mode):
        raise _refused(
            "mode_not_available",
            _("The mode '{name}' is not available yet in this installation. Use one of: {allowed}.").format(
                name=mode.name, allowed=allowed
            ),
        )
    return mode


def available_modes() -> list[str]:
    known = [mode.name for mode in _TABLE if is_available(mode)]
    return known + [name for name in registry.names() if name not in MODES]


def is_available(mode: Mode) -> bool:
    """A mode needs its agent, and a dedicated one its skill as well."""
    if mode.skill is not None and mode.skill not in skills.names():
        return False
    return mode.agent is None or mode.agent in registry.names()


def _refused(code: str, message: str) -> Refused:
    return Refused.at("mode", message, code=code, allowed=available_modes())
