"""What the frame of every page shows: the main places, the menu of a person, the sections of the settings, and the
signs beside them. Which of them is the current one is told by the request's path; what they hold is not known here.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from django import template
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from hyperagent.accounts.models import User

register = template.Library()


class Shown(StrEnum):
    """Where a place is offered beside the page, on a wide window, and where in the bar of a phone."""

    EVERYWHERE = "everywhere"
    BESIDE = "beside"
    """Beside the page; on a phone in the menu."""
    WIDE = "wide"
    """Beside the page alone."""
    BAR = "bar"
    """In the phone's bar alone."""


@dataclass(frozen=True, slots=True)
class Place:
    """`about`: what is there, for the settings' own list. `also`: other addresses that belong to it."""

    title: str | Promise
    url: str
    sign: str
    about: str | Promise = ""
    also: tuple[str, ...] = ()
    shown: Shown = Shown.BESIDE

    def holds(self, path: str) -> bool:
        if self.url == "/":
            return path == "/" or path.startswith("/c/")
        return path.startswith((self.url, *self.also))


# The chat's own list of conversations begins with the same ones: it is told them by `of_chat`.
PLACES: Final = (
    Place(_("Chat"), "/", "bubble", shown=Shown.BAR),
    Place(_("New conversation"), "/", "plus", shown=Shown.WIDE),
    Place(_("Search"), "/search/", "search"),
    Place(_("Inbox"), "/inbox/", "inbox", shown=Shown.EVERYWHERE),
    Place(_("Documents"), "/documents/", "document", shown=Shown.EVERYWHERE),
    Place(_("Files"), "/files/", "files", shown=Shown.EVERYWHERE),
    Place(_("Projects"), "/projects/", "folder"),
    Place(_("Schedules"), "/schedules/", "clock"),
    Place(_("Memory"), "/memory/", "bookmark"),
    Place(_("Usage"), "/usage/", "chart"),
)
MENU: Final = (Place(_("Settings"), "/settings/", "settings"), Place(_("Mail"), "/mail/", "mail"))
PEOPLE: Final = Place(_("People"), "/people/", "person")
ADMIN: Final = Place(_("Admin"), "/admin/", "shield")
SECTIONS: Final = (
    Place(_("Profile"), "/settings/profile/", "person", _("Your name and your time zone")),
    Place(_("Appearance"), "/settings/appearance/", "theme", _("Light, dark, or as your system")),
    Place(_("Language"), "/settings/language/", "globe", _("The language of the pages")),
    Place(_("Security"), "/settings/security/", "lock", _("Your password, and where you are signed in")),
    Place(
        _("Connections"),
        "/settings/connections/",
        "link",
        _("Mailboxes, MCP servers and places that documents come from"),
        ("/mail/", "/settings/mcp/"),
    ),
    Place(_("Rules"), "/rules/", "scales", _("What agents may do without asking you again")),
    Place(_("Notifications"), "/settings/notifications/", "mail", _("Which mails you get")),
    Place(_("Webhooks"), "/settings/webhooks/", "comment", _("Programs that are told what happens here")),
    Place(_("API tokens"), "/settings/tokens/", "key", _("Programs that act in your name")),
    Place(_("Your data"), "/settings/data/", "download", _("Take it with you, or delete your account")),
)
# As static/js/components/icons.js draws them.
SIGNS: Final = {
    "sidebar": "M5 3.5h10A1.5 1.5 0 0 1 16.5 5v10a1.5 1.5 0 0 1-1.5 1.5H5A1.5 1.5 0 0 1 3.5 15V5A1.5 1.5 0 0 1 5 3.5ZM8 3.5v13",  # noqa: E501
    "filter": "M4 6h12M6.500 10h7M8.500 14h3",
    "plus": "M10 4v12M4 10h12",
    "bubble": "M4 5.500A1.500 1.500 0 0 1 5.500 4h9A1.500 1.500 0 0 1 16 5.500v6a1.500 1.500 0 0 1-1.500 1.500H9l-3.500 3v-3A1.500 1.500 0 0 1 4 11.500Z",  # noqa: E501
    "inbox": "M3.500 11.500 5.500 4h9l2 7.500v5h-13ZM3.500 11.500h4l1 2h3l1-2h4",
    "document": "M5.500 3.500h6l3 3v10h-9ZM11.500 3.500v3h3M8 10h4.500M8 13h4.500",
    "files": "M6.500 3.500h5l3.500 3.500v7.500h-8.500ZM11.500 3.500v3.500h3.500M4 6.500v10h8.500",
    "folder": "M3.500 5.500h4.500l1.500 2h7v8h-13Z",
    "clock": "M10 16.500a6.500 6.500 0 1 0 0-13 6.500 6.500 0 0 0 0 13ZM10 6v4l2.800 1.800",
    "bookmark": "M6 3.500h8v13l-4-3-4 3Z",
    "chart": "M4 4v12h12M7.500 13v-3M10.500 13V7M13.500 13V9",
    "search": "M9 15A6 6 0 1 0 9 3a6 6 0 0 0 0 12ZM13.5 13.5 17 17",
    "person": "M10 9.800a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM4 16.500c.6-3 3-4.500 6-4.500s5.400 1.500 6 4.500",
    "key": "M7 13.500a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7ZM10.400 10H17v3M14 10v2.200",
    "shield": "M10 3l6 2v4.500c0 3.600-2.400 6.300-6 7.500-3.600-1.200-6-3.900-6-7.500V5Z",
    "leave": "M8.500 3.500H4v13h4.500M12 6.500l3.500 3.500-3.500 3.500M15.500 10H8",
    "theme": "M10 3.500v13M10 16.500a6.500 6.500 0 1 0 0-13 6.500 6.500 0 0 0 0 13ZM10 6.500c4 1 4 6 0 7",
    "mail": "M3.500 5.500h13v9.500h-13ZM3.500 6l6.500 5 6.500-5",
    "chevron": "M6 8l4 4 4-4",
    "left": "M12 5l-5 5 5 5",
    "link": "M8.500 11.500a3 3 0 0 0 4.200 0l2.300-2.300A3 3 0 0 0 10.800 5L9.700 6.100M11.500 8.500a3 3 0 0 0-4.200 0L5 10.800A3 3 0 0 0 9.200 15l1.100-1.100",  # noqa: E501
    "scales": "M10 4v12M6.500 16h7M4.500 6h11M4.500 6 2.500 11h4ZM15.500 6l-2 5h4Z",
    "lock": "M5.500 9h9v7.500h-9ZM7.500 9V6.500a2.500 2.500 0 0 1 5 0V9",
    "globe": "M10 16.500a6.500 6.500 0 1 0 0-13 6.500 6.500 0 0 0 0 13ZM3.500 10h13M10 3.500c4.200 4.200 4.200 8.800 0 13-4.200-4.200-4.200-8.800 0-13Z",  # noqa: E501
    "upload": "M10 13V4M6 8l4-4 4 4M4 13v3.500h12V13",
    "download": "M10 4v9M6 9l4 4 4-4M4 13v3.500h12V13",
    "comment": "M4 5.500A1.500 1.500 0 0 1 5.500 4h9A1.500 1.500 0 0 1 16 5.500v6a1.500 1.500 0 0 1-1.500 1.500H9l-3.500 3v-3A1.500 1.500 0 0 1 4 11.500ZM7 7.500h6M7 9.800h4",  # noqa: E501
    "settings": "M4 6.500h7M15 6.500h1M4 13.500h1M9 13.500h7M13 8.500a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM7 15.500a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z",  # noqa: E501
}


@register.simple_tag
def main_places(path: str) -> list[tuple[Place, bool]]:
    """Each with whether it is the current one. A new conversation is none that somebody is in."""
    return [(place, place.shown is not Shown.WIDE and place.holds(path)) for place in PLACES]


@register.simple_tag
def menu_places(user: User) -> list[Place]:
    """A query, for who is no administrator."""
    return [*MENU, *([PEOPLE] if user.is_staff else []), *([ADMIN] if user.works_in_admin() else [])]


def of_chat(user: User) -> dict[str, list[dict[str, Any]]]:
    """The same for the chat, which draws its frame itself."""
    beside = [place for place in PLACES if place.shown is not Shown.BAR]
    return {"places": [_told(place) for place in beside], "menu": [_told(place) for place in menu_places(user)]}


def _told(place: Place) -> dict[str, Any]:
    return {"title": str(place.title), "url": place.url, "sign": place.sign}


@register.simple_tag
def settings_sections(path: str) -> list[tuple[Place, bool]]:
    return [(place, place.holds(path)) for place in SECTIONS]


@register.simple_tag
def sign(name: str) -> SafeString:
    """Decoration only: the words stand beside it."""
    return format_html(
        '<svg class="icon" viewBox="0 0 20 20" aria-hidden="true" focusable="false"><path d="{}"/></svg>', SIGNS[name]
    )
