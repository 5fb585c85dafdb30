"""Why a search service gave nothing, in our words for models and people: what it said itself is not repeated. Pure."""

from typing import Final

from agents.tools.tool import ToolError
from hyperagent.lib.outside.calling import NotAnswered
from hyperagent.lib.outside.fetching import Fault

_LATER: Final = "Try again later."


def not_answered(service: str, error: NotAnswered, *, setting: str) -> ToolError:
    """`setting`: that has its address."""
    match error.fault:
        case Fault.TIMED_OUT:
            return ToolError(f"{service} did not answer in time. {_LATER}")
        case Fault.TOO_BIG:
            return ToolError(f"{service} gave an answer that is too long to be read. Ask for fewer results.")
        case Fault.UNREADABLE:
            return garbled(service, setting=setting)
        case _:
            return ToolError(f"{service} cannot be reached. An administrator finds its address in {setting}.")


def refused(service: str, status: int, *, key: str, setting: str) -> ToolError:
    """For an answer that is no result. `key`: the setting that has its key, if it takes one."""
    if 300 <= status < 400:
        why = f"{service} answered with a redirect. An administrator must set {setting} to the address it leads to."
    elif status in (401, 403) and key:
        why = f"{service} does not accept its key. An administrator must set a valid {key}."
    elif status in (402, 432, 433):
        why = f"The searches that {service} allows are used up. An administrator must see to its plan."
    elif status == 429:
        return ToolError(f"{service} has too many searches at once. {_LATER}")
    elif status in (400, 413, 414, 422):
        return ToolError(f"{service} did not understand the search. Put it into fewer and plainer words.")
    elif status == 404:
        why = f"There is no search at the address of {service}. An administrator must mend {setting}."
    elif status >= 500:
        return ToolError(f"{service} has a fault of its own. {_LATER}")
    else:
        why = f"{service} refused the search with the status {status}. An administrator must look into it."
    return ToolError(why)


def garbled(service: str, *, setting: str) -> ToolError:
    return ToolError(
        f"{service} gave an answer that is no list of results. An administrator must look at {setting}: perhaps "
        f"another program answers there."
    )
