"""The forms of connected servers: what is typed, bounded. Whether it is right is for `actions` to say."""

import uuid
from collections.abc import Mapping
from typing import Any, Final

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from agents import registry
from agents.labels import agent_label
from agents.mcp.actions import Reviewed, Wanted
from agents.mcp.definitions import Risk
from agents.mcp.folders import installed
from agents.mcp.models import DEFAULT_AGENTS, McpServer, McpTool, ServerKind

_BARE: Final = {"autocomplete": "off", "spellcheck": "false", "autocapitalize": "none"}
RISKS: Final = {
    Risk.READ: gettext_noop("only reads"),
    Risk.WRITE: gettext_noop("changes something"),
    Risk.IRREVERSIBLE: gettext_noop("does what cannot be undone"),
}


class ServerForm(forms.Form):
    """A server at an address."""

    kind = ServerKind.HTTP
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=20,
        help_text=gettext_lazy("Small letters and digits, such as github. Its tools are called after it."),
        widget=forms.TextInput(attrs=_BARE),
    )
    url = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=2000,
        help_text=gettext_lazy("As its maker gives it, such as https://example.org/mcp."),
        widget=forms.URLInput(attrs={**_BARE, "inputmode": "url"}),
    )
    secrets = forms.CharField(
        label=gettext_lazy("Headers"),
        required=False,
        max_length=40_000,
        help_text=gettext_lazy(
            "If it wants any: one a line, such as Authorization: Bearer … Stored encrypted, and not shown again."
        ),
        widget=forms.Textarea(attrs={**_BARE, "rows": 2}),
    )
    agents = forms.MultipleChoiceField(
        label=gettext_lazy("Agents that may call it"),
        choices=[],
        widget=forms.CheckboxSelectMultiple,
        initial=list(DEFAULT_AGENTS),
    )

    def __init__(self, *args: Any, is_staff: bool, server: McpServer | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        self.fields["agents"].choices = [(name, agent_label(name)) for name in registry.names()]  # type: ignore[attr-defined]
        self._server = server
        if server is not None:
            self.initial = {**_initial(server), **self.initial}
            if server.secret_names:
                there = ", ".join(server.secret_names)
                self.fields["secrets"].help_text = _(
                    "There are: {there}. What you write here takes their place."
                ).format(there=there)
        for_installation = is_staff if server is None else not server.is_own
        if for_installation and self.kind is ServerKind.HTTP:
            self.fields["is_inner"] = forms.BooleanField(
                label=_("It is in our own network"),
                required=False,
                help_text=_("Private addresses may then be reached."),
            )
        if is_staff and server is None and self.kind is ServerKind.HTTP:
            self.fields["for_installation"] = forms.BooleanField(
                label=_("For everybody"), required=False, help_text=_("The agents of all people here may call it.")
            )

    def wanted(self) -> Wanted:
        typed = self.cleaned_data
        return Wanted(
            name=typed["name"],
            kind=self.kind,
            url=typed.get("url", ""),
            is_inner=bool(typed.get("is_inner")),
            command=typed.get("command", ""),
            args=tuple(typed.get("args", "").splitlines()),
            folder=typed.get("folder", ""),
            agents=tuple(typed["agents"]),
            secrets=typed["secrets"] or (None if self._server else {}),
            for_installation=self.kind is ServerKind.STDIO or bool(typed.get("for_installation")),
        )

    def clean_secrets(self) -> dict[str, str]:
        mark = ":" if self.kind is ServerKind.HTTP else "="
        found = {}
        for line in filter(str.strip, self.cleaned_data["secrets"].splitlines()):
            name, there, value = line.partition(mark)
            if not there:
                raise forms.ValidationError(
                    _("Write each on a line of its own: its name, {mark} and its value.").format(mark=mark)
                )
            found[name.strip()] = value.strip()
        return found


class ProgramForm(ServerForm):
    """A server that is a program, for administrators."""

    kind = ServerKind.STDIO
    url = None  # type: ignore[assignment]
    folder = forms.ChoiceField(
        label=gettext_lazy("Installed as"),
        required=False,
        choices=[],
        help_text=gettext_lazy("What manage.py mcp_install put there."),
    )
    command = forms.CharField(
        label=gettext_lazy("Program"),
        max_length=300,
        initial="python3",
        help_text=gettext_lazy("As it is called in the sandbox, which has no network."),
        widget=forms.TextInput(attrs=_BARE),
    )
    args = forms.CharField(
        label=gettext_lazy("Its arguments"),
        required=False,
        max_length=4_000,
        help_text=gettext_lazy("One a line, such as -m and then mcp_server_time."),
        widget=forms.Textarea(attrs={**_BARE, "rows": 3}),
    )
    secrets = forms.CharField(
        label=gettext_lazy("Variables"),
        required=False,
        max_length=40_000,
        help_text=gettext_lazy("One a line, such as API_KEY=… Stored encrypted, and not shown again."),
        widget=forms.Textarea(attrs={**_BARE, "rows": 2}),
    )
    field_order = ("name", "folder", "command", "args", "secrets", "agents")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = installed()
        self.fields["folder"].choices = [("", _("nothing")), *((name, name) for name in names)]  # type: ignore[attr-defined]


def form_class(server: McpServer) -> type[ServerForm]:
    return ProgramForm if server.kind == ServerKind.STDIO else ServerForm


def reviews_in(posted: QueryDict, tools: Mapping[uuid.UUID, McpTool]) -> dict[uuid.UUID, Reviewed]:
    """What was decided, of the tools for which something was: one that is new and stays off was not looked at."""
    found = {}
    for tool_id, tool in tools.items():
        pin, risk = posted.get(f"pin-{tool_id}", ""), posted.get(f"risk-{tool_id}", "")
        if risk not in list(Risk):
            continue
        said = Reviewed(
            pin=pin,
            risk=Risk(risk),
            requires_approval=f"ask-{tool_id}" in posted,
            allowed=f"allowed-{tool_id}" in posted,
        )
        is_settled = tool.reviewed_pin == tool.pin and _is_as(tool, said)
        was_looked_at = said.allowed or tool.reviewed_pin == tool.pin
        if was_looked_at and not (is_settled and pin == tool.pin):
            found[tool_id] = said
    return found


def _is_as(tool: McpTool, said: Reviewed) -> bool:
    return (tool.risk, tool.requires_approval, tool.allowed) == (said.risk.value, said.requires_approval, said.allowed)


def _initial(server: McpServer) -> dict[str, Any]:
    return {
        "name": server.name,
        "url": server.url,
        "is_inner": server.is_inner,
        "command": server.command,
        "args": "\n".join(server.args),
        "folder": server.folder,
        "agents": server.agents,
    }
