"""What a new face has to keep: rows are asked for as somebody's, a program's scope is looked at, a socket is a
person's, a list of the admin tells nothing by its address. Found in the code, so that nobody has to remember it.
"""

import ast
import inspect
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from django.contrib import admin
from django.urls import URLPattern, URLResolver, get_resolver

from conversations.personal_socket import NowhereConsumer, PersonalSocket
from conversations.routing import websocket_urlpatterns
from hyperagent.accounts.scoped import ScopedView
from hyperagent.lib.admin_lists import QuickListAdmin
from tests.walls.addresses import routes

ROOT: Final = Path(__file__).parent.parent.parent
# Beside the files of views and sockets, which are found by their addresses: what these ask for rows in their place.
# Verbs and queries below them are given whose it is.
BESIDE: Final = (
    "*/api/*.py", "*/*/api/*.py", "conversations/socket_verbs.py", "conversations/inbox.py", "conversations/mcp/*.py",
    "conversations/completions/*.py", "conversations/a2a/*.py",
)  # fmt: skip
APPS: Final = ("agents", "conversations", "hitl", "memory", "hyperagent")
# The methods of our querysets that say whose, and the one that says nobody's.
SCOPED: Final = {
    "of", "owned_by", "seen_by", "visible_to", "decidable_by", "read_by", "managed_by", "of_runs_of", "none",
}  # fmt: skip
# Names in a filter that say whose. What is within another queryset was asked for there.
OWNERS: Final = {"user", "user_id", "owner", "owner_id", "endpoint__in", "connector__in"}
# Rows that are asked for without an owner, and why that is right. That administrators are alone with what is for them,
# the matrix holds (`test_matrix.py`).
UNSCOPED: Final = {
    **{
        (file, name): "for administrators alone"
        for file, names in {
            "agents/api/budgets.py": ("Budget", "Group", "User"),
            "agents/usage/budget_views.py": ("Budget", "ModelPrice", "get_object_or_404"),
            "hitl/api/switch_views.py": ("Switch",),
            "hyperagent/accounts/invitations_api.py": ("Invitation",),
            "hyperagent/accounts/people_api.py": ("User",),
            "hyperagent/accounts/people_views.py": ("Invitation", "User"),
            "hyperagent/accounts/service_accounts_views.py": ("User",),
        }.items()
        for name in names
    },
    **{
        (file, name): "the admin, for staff with the right to the table; what is found is narrowed down again"
        for file, names in {
            "agents/guardrails/admin.py": ("Verdict", "get_object_or_404"),
            "hitl/admin/decisions.py": ("Decision", "Request"),
            "hitl/admin/requests.py": ("Decision",),
            "hyperagent/accounts/admin.py": ("User",),
            "hyperagent/accounts/audit_log/admin.py": ("AuditEvent",),
        }.items()
        for name in names
    },
    ("agents/api/usage.py", "User"): "whose usage an administrator asks for; the id alone",
    ("agents/usage/views.py", "User"): "the same on the page",
    ("agents/api/views.py", "Execution"): "narrowed down to the caller's unless an administrator asks about others",
    ("conversations/a2a/turns.py", "Decision"): "by its actor, of a run that was found to be the caller's",
    ("conversations/a2a/turns.py", "Event"): "the log of a run that was found to be the caller's",
    ("conversations/a2a/turns.py", "Message"): "the question of a run that was found to be the caller's",
    ("conversations/completions/views.py", "Execution"): "the caller's own run, read anew at its end",
    ("hitl/views.py", "Rule"): "by ids that were found among the caller's own",
    ("hyperagent/accounts/settings_views.py", "User"): "the caller's own row, read anew",
    ("hyperagent/notices/views.py", "get_object_or_404"): "of the rows that `visible_to` narrowed down",
    ("memory/api/documents.py", "Chunk"): "of a document that was found among those that the caller sees",
    ("memory/api/projects.py", "through"): "counts of what belongs to a project that is seen",
    (
        "memory/project_views.py",
        "get_object_or_404",
    ): "of rows that `seen_by` narrowed down; for administrators",
    ("memory/file_views.py", "Project"): "the name of a place whose rights were looked at",
}
# Answer programs without a scope: the door itself, what is the same for everybody, and who one is.
WITHOUT_SCOPE: Final = {"AgentCard", "TokenCreate", "Me", "Description"}


def faces() -> set[Path]:
    """The files of all views and sockets that have an address, those of what they inherit from, and what is beside
    them."""
    views = [*_callbacks(get_resolver()), *(one.callback for one in websocket_urlpatterns)]
    modules = {module for view in views for module in _modules_of(view)}
    found = {Path(str(sys.modules[module].__file__)) for module in modules if module.startswith(APPS)}
    return found | {
        path for pattern in BESIDE for path in ROOT.glob(pattern) if path.relative_to(ROOT).parts[0] in APPS
    }


def _callbacks(resolver: Any) -> Iterator[Any]:
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            yield from _callbacks(pattern)
        elif isinstance(pattern, URLPattern):
            yield pattern.callback


def _modules_of(view: Any) -> set[str]:
    """Of a class, of a function, or of whatever stands behind its wrappers."""
    view = getattr(view, "view_class", None) or getattr(view, "cls", None) or getattr(view, "consumer_class", view)
    view = inspect.unwrap(view)
    kinds = view.__mro__ if isinstance(view, type) else [view.func if isinstance(view, partial) else view]
    return {kind.__module__ for kind in kinds}


def unscoped(source: str) -> set[str]:
    """The models whose rows are asked for without saying whose."""
    tree = ast.parse(source)
    above = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in {"objects", "_default_manager", "_base_manager"}:
            calls = list(_calls_on(node, above))
            if not any(_says_whose(call) for call in calls):
                found.add(ast.unparse(node.value))
        if isinstance(node, ast.Name) and node.id in {"get_object_or_404", "get_list_or_404"}:
            found.add(node.id)
    return found


def _calls_on(node: ast.AST, above: dict[ast.AST, ast.AST]) -> Iterator[ast.Call]:
    """Of `X.objects.a(…).b(…)`: a and b."""
    while isinstance(up := above.get(node), ast.Attribute | ast.Call) and getattr(up, "func", node) is node:
        if isinstance(up, ast.Call):
            yield up
        node = up


def _says_whose(call: ast.Call) -> bool:
    assert isinstance(call.func, ast.Attribute)
    return call.func.attr in SCOPED or any(word.arg in OWNERS for word in call.keywords)


@pytest.mark.slow
@pytest.mark.threat("T01")
def test_every_face_asks_for_rows_as_somebodys() -> None:
    found = {
        (str(path.relative_to(ROOT)), name)
        for path in faces()
        for name in unscoped(path.read_text())
        if "/management/" not in str(path)
    }

    assert found - set(UNSCOPED) == set(), "ask by a method of the queryset that says whose, or say here why not"
    assert set(UNSCOPED) - found == set(), "allowed here, and nowhere in the code"
    assert len(faces()) > 100


def test_a_face_is_found_by_its_addresses_whatever_its_file_is_called() -> None:
    found = {str(path.relative_to(ROOT)) for path in faces()}

    assert found >= {
        "hyperagent/accounts/people_api.py",
        "hyperagent/accounts/scoped.py",
        "hyperagent/health.py",
        "hitl/admin/requests.py",
        "conversations/consumers.py",
        "conversations/personal_socket.py",
    }


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("Memory.objects.of(user).filter(pk=pk)", set()),
        ("Memory.objects.filter(pk=pk, user=user).first()", set()),
        ("Memory.objects.filter(pk=pk)", {"Memory"}),
        # Whose the document is is not said.
        ("Chunk.objects.filter(document=pk)", {"Chunk"}),
        ("Message.objects.filter(conversation=pk)", {"Message"}),
        ("Memory.objects.get(pk=pk)", {"Memory"}),
        ("Memory._default_manager.all()", {"Memory"}),
        ("get_object_or_404(Memory, pk=pk)", {"get_object_or_404"}),
        ("seen = Memory.objects", {"Memory"}),
    ],
)
def test_rows_that_are_nobodys_are_seen(code: str, found: set[str]) -> None:
    assert unscoped(code) == found


@pytest.mark.threat("T01")
def test_every_view_of_the_api_looks_at_the_scope_of_a_token() -> None:
    views = {view.cls for view in _callbacks(get_resolver()) if getattr(view, "cls", None) is not None}

    without = {
        view.__name__
        for view in views
        if not issubclass(view, ScopedView)
        and not any(one.__name__.startswith(("HasScope", "ReadsAudit")) for one in view.permission_classes)
        and not _has_scopes_by_method(view)
    }
    assert without == WITHOUT_SCOPE
    assert len(views) > 50


def _has_scopes_by_method(view: Any) -> bool:
    """A view that says in `get_permissions` which scope each of its methods needs."""
    return any("get_permissions" in vars(one) and one.__module__.startswith(APPS) for one in view.__mro__)


@pytest.mark.threat("T02")
def test_every_socket_is_a_persons() -> None:
    for pattern in websocket_urlpatterns:
        consumer: Any = pattern.callback
        assert issubclass(consumer.consumer_class, PersonalSocket | NowhereConsumer)


@pytest.mark.threat("T06")
def test_every_list_of_the_admin_guards_what_an_address_may_ask() -> None:
    others = {model._meta.label for model, one in admin.site._registry.items() if not isinstance(one, QuickListAdmin)}

    assert others == {"auth.Group"}


@pytest.mark.threat("T06", "T33")
def test_the_queue_has_no_pages_of_djangos() -> None:
    """A schedule of it is the name of a function, which is called: `os.system`, say."""
    assert [model for model in admin.site._registry if model._meta.app_label == "django_q"] == []
    assert not [route for route in routes() if "django_q" in route or "ormq" in route]
