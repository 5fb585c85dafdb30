"""Which box is opened for whom: its limits, and what of the host it sees. Opens nothing."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from agents.apps.packages import INSIDE as APP_PACKAGES
from agents.apps.packages import modules_folder
from agents.mcp.folders import INSIDE as MCP_PROGRAMS
from agents.mcp.folders import programs_folder
from agents.sandbox.base import BoxSpec, BoxType, Limits
from agents.sandbox.programs import LIBRARY
from agents.sandbox.records import Owner

GATEWAY: Final = "gateway"
"""The door of the helper library, in every box of code."""
WEB: Final = "web"
"""The door of a desktop's browser, and the port of the inner loopback at which it is a proxy."""
WEB_PORT: Final = 3128
DESKTOP_LIMITS: Final = Limits(
    memory_bytes=3 << 30,
    processes=512,
    tmp_bytes=512 << 20,
    open_files=4096,
    # A browser maps terabytes that it never touches.
    address_bytes=None,
    most_output_bytes=64 << 20,
)
_FONTS: Final = Path("/etc/fonts")

_LIBRARY: Final = Path(__file__).parent / "library"


def spec_of(owner: Owner, *, doors: Mapping[str, Path]) -> BoxSpec:
    if owner.kept_as is BoxType.DESKTOP:
        return _desktop(owner, doors)
    # What `mcp_install` and `app_install` put there: programs of connected servers, which run in boxes like any other,
    # and packages for apps.
    installed = {MCP_PROGRAMS: programs_folder(), APP_PACKAGES: modules_folder()}
    seen = {LIBRARY: _LIBRARY, **{inside: folder for inside, folder in installed.items() if folder.is_dir()}}
    return BoxSpec(key=owner.key, box_type=owner.kept_as, doors=doors, read_only=seen)


def _desktop(owner: Owner, doors: Mapping[str, Path]) -> BoxSpec:
    return BoxSpec(
        key=owner.key,
        box_type=BoxType.DESKTOP,
        limits=DESKTOP_LIMITS,
        doors=doors,
        relays={WEB_PORT: WEB} if WEB in doors else {},
        read_only={str(_FONTS): _FONTS} if _FONTS.is_dir() else {},
    )
