"""The pages below `/settings/mcp/`: one's own servers, and for administrators those of everybody. Each reads a form,
calls one verb of `actions`, and shows what came of it. No JavaScript.
"""

import json
import uuid
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from django.contrib import messages
from django.contrib.auth.mixins import LoginRequiredMixin
from django.core.exceptions import PermissionDenied
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views import View
from django.views.decorators.cache import never_cache

from agents.mcp import actions
from agents.mcp.definitions import Change, differences
from agents.mcp.forms import RISKS, ProgramForm, ServerForm, form_class, reviews_in
from agents.mcp.models import McpServer, McpTool, ServerState
from agents.mcp.reading import MOST_CHARS, MOST_TOOLS, left_out
from hyperagent.accounts.models import User
from hyperagent.accounts.requests import person
from hyperagent.lib.languages import grouped
from hyperagent.lib.refusals import NotAllowed, NotThere, Refused
from hyperagent.lib.refused_forms import RefusableForm, RefusalsTold
from hyperagent.lib.stored_faults import fault_in_our_words
from hyperagent.lib.text import clean_text


class _Signed(LoginRequiredMixin):
    """For people who are signed in. What they may not see is not there, as everywhere."""

    @method_decorator(never_cache)
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return super().dispatch(request, *args, **kwargs)
        except NotThere as error:
            raise Http404 from error
        except NotAllowed as error:
            raise PermissionDenied(error.message) from error


class Servers(_Signed, RefusableForm):
    """The list, and the form for another one."""

    template_name = "agents/mcp/servers.html"
    form_class = ServerForm

    def get_form_kwargs(self) -> dict[str, Any]:
        return super().get_form_kwargs() | {"is_staff": person(self.request).is_staff}

    def act(self, form: ServerForm) -> HttpResponse:
        server = actions.add_server(person(self.request), form.wanted())
        _look(self.request, server.pk)
        return redirect("mcp:server", server_id=server.pk)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        user = person(self.request)
        mine = McpServer.objects.managed_by(user).prefetch_related("tools")
        shared = [] if user.is_staff else _shared()
        # Of what is everybody's it is said what nobody has a place for.
        beyond = {True: left_out(user.pk), False: left_out(None)}
        return super().get_context_data(**kwargs) | {
            "servers": [_row(server, beyond[server.is_own]) for server in mine],
            "shared": shared,
            "unshared": [] if user.is_staff else _names_in(shared, beyond[True]),
            **_bounds(),
        }


class Program(Servers):
    """The form for a server that is a program."""

    template_name = "agents/mcp/program.html"
    form_class = ProgramForm

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.is_authenticated and not person(request).is_staff:
            raise Http404
        return super().dispatch(request, *args, **kwargs)


class Server(_Signed, RefusableForm):
    """One server: whether it can be reached, its tools with what was decided of each, and the form to change it."""

    template_name = "agents/mcp/server.html"
    server: McpServer

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().setup(request, *args, **kwargs)
        if request.user.is_authenticated:
            try:
                self.server = actions.seen(person(request), kwargs["server_id"])
            except NotThere as error:
                raise Http404 from error

    def get_form_class(self) -> type[Form]:
        return form_class(self.server)

    def get_form_kwargs(self) -> dict[str, Any]:
        return super().get_form_kwargs() | {"is_staff": person(self.request).is_staff, "server": self.server}

    def act(self, form: ServerForm) -> HttpResponse:
        actions.change_server(person(self.request), self.server.pk, form.wanted())
        messages.success(self.request, _("Saved."))
        _look(self.request, self.server.pk)
        return redirect("mcp:server", server_id=self.server.pk)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        beyond = left_out(self.server.owner_id)
        tools = [_shown(tool, beyond) for tool in self.server.tools.select_related("reviewed_by").filter(gone_at=None)]
        return super().get_context_data(**kwargs) | {
            "server": self.server,
            "tools": tools,
            "risks": {risk: _(words) for risk, words in RISKS.items()},
            **_bounds(),
        }


class ServerVerb(_Signed, View, ABC):
    """One of the buttons of a server's page."""

    http_method_names = ("post", "options")

    def post(self, request: HttpRequest, server_id: uuid.UUID) -> HttpResponse:
        with RefusalsTold(request):
            self.act(request, person(request), server_id)
        return redirect("mcp:server", server_id=server_id)

    @abstractmethod
    def act(self, request: HttpRequest, user: User, server_id: uuid.UUID) -> None:
        """What the button does. Raises Refused, which the page then says."""


class Connect(ServerVerb):
    def act(self, request: HttpRequest, user: User, server_id: uuid.UUID) -> None:
        _look(request, server_id)


class Enable(ServerVerb):
    def act(self, request: HttpRequest, user: User, server_id: uuid.UUID) -> None:
        actions.switch_server(user, server_id, enabled=True)
        messages.success(request, _("Switched on."))


class Disable(ServerVerb):
    def act(self, request: HttpRequest, user: User, server_id: uuid.UUID) -> None:
        actions.switch_server(user, server_id, enabled=False)
        messages.success(request, _("Switched off. Nothing of it is called any more."))


class Review(ServerVerb):
    def act(self, request: HttpRequest, user: User, server_id: uuid.UUID) -> None:
        tools = {tool.pk: tool for tool in actions.seen(user, server_id).tools.filter(gone_at=None)}
        said, done = reviews_in(request.POST, tools), 0
        for tool_id, reviewed in said.items():
            with RefusalsTold(request):
                actions.review_tool(user, server_id, tool_id, reviewed)
                done += 1
        if done:
            words = _("{reviewed} of {all} tools were reviewed.")
            messages.success(request, words.format(reviewed=done, all=len(tools)))
        elif not said:
            messages.success(request, _("Nothing was changed."))


class SignIn(_Signed, View):
    """Where to go to sign in: as a link, for a form may not lead to another site."""

    http_method_names = ("post", "options")

    def post(self, request: HttpRequest, server_id: uuid.UUID) -> HttpResponse:
        from agents.mcp.signing_in import begin  # a second of import

        server = actions.seen(person(request), server_id)
        try:
            address = begin(person(request), server)
        except Refused as refused:
            messages.error(request, refused.message)
            return redirect("mcp:server", server_id=server_id)
        if not address:
            messages.success(request, _("Connected to {name}.").format(name=server.name))
            return redirect("mcp:server", server_id=server_id)
        shown = {"server": server, "address": address, "host": urlsplit(address).netloc}
        return render(request, "agents/mcp/sign_in.html", shown)


class SignedIn(_Signed, View):
    """Where the server's sign-in leads back to."""

    http_method_names = ("get", "head", "options")

    def get(self, request: HttpRequest) -> HttpResponse:
        from agents.mcp.signing_in import come_back, wait_for_end  # a second of import

        given = {name: clean_text(request.GET.get(name, ""))[:2000] for name in ("state", "code", "iss")}
        way = come_back(person(request), state=given["state"], code=given["code"], issuer=given["iss"])
        if given["code"]:
            wait_for_end(way)
        server = actions.seen(person(request), way.server_id)
        if not given["code"]:
            messages.error(request, _("{name} gave no leave: nobody is signed in.").format(name=server.name))
        elif server.state == ServerState.CONNECTED:
            messages.success(request, _("Signed in to {name}.").format(name=server.name))
        else:
            told = fault_in_our_words(server.last_error)
            messages.error(request, told or _("The server takes its time. Look again in a moment."))
        return redirect("mcp:server", server_id=server.pk)


class Delete(_Signed, View):
    http_method_names = ("post", "options")

    def post(self, request: HttpRequest, server_id: uuid.UUID) -> HttpResponse:
        actions.delete_server(person(request), server_id)
        messages.success(request, _("The server is deleted, with its tools and secrets."))
        return redirect("mcp:servers")


def _look(request: HttpRequest, server_id: uuid.UUID) -> None:
    server = actions.look(person(request), server_id)
    if server.state == ServerState.CONNECTED:
        messages.success(request, _("Connected to {name}.").format(name=server.name))
    else:
        messages.error(request, fault_in_our_words(server.last_error))


def _row(server: McpServer, beyond: Collection[str]) -> dict[str, Any]:
    """Of tools that were loaded. `beyond`: the names of those that not all of their agents are given."""
    tools = [tool for tool in server.tools.all() if tool.gone_at is None]
    usable = sum(tool.is_usable for tool in tools)
    return {
        "server": server,
        "tools": len(tools),
        "usable": usable,
        "changed": sum(tool.is_changed for tool in tools),
        "beyond": sum(tool.called in beyond for tool in tools),
    }


def _shared() -> list[dict[str, Any]]:
    """What is connected for everybody, for those who do not manage it: names, and nothing of how it is reached."""
    servers = McpServer.objects.filter(owner=None, enabled=True).prefetch_related("tools")
    return [
        {"name": server.name, "tools": [tool.called for tool in server.tools.all() if tool.is_usable]}
        for server in servers
    ]


def _bounds() -> dict[str, str]:
    """Of what one agent is given."""
    return {"most_tools": grouped(MOST_TOOLS), "most_chars": grouped(MOST_CHARS)}


def _names_in(shared: Sequence[Mapping[str, Any]], beyond: Collection[str]) -> list[str]:
    return [called for server in shared for called in server["tools"] if called in beyond]


def _shown(tool: McpTool, beyond: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """A tool with what a reviewer has to see of it. `beyond`: by name, the agents that are not given it."""
    now, before = tool.now, tool.before
    changes: tuple[Change, ...] = differences(before, now) if before is not None and tool.is_changed else ()
    is_fresh = tool.reviewed_pin != tool.pin
    return {
        "tool": tool,
        "now": now,
        "schema": json.dumps(now.parameters, indent=2, ensure_ascii=False),
        "changes": changes,
        "risk": now.risk.value if is_fresh and not tool.is_changed else tool.risk,
        "asks": now.risk != "read" if is_fresh and not tool.is_changed else tool.requires_approval,
        "allowed": tool.is_usable,
        "not_given_to": beyond.get(tool.called, ()),
    }
