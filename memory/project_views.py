"""The pages of projects. Without JavaScript all of it works but adding new files and the list of conversations, which
belong to the chat. The verbs are those of the API: `memory.projects`.
"""

import uuid
from collections.abc import Callable
from typing import Any, Final

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.mixins import LoginRequiredMixin
from django.core.paginator import Paginator
from django.db.models import Count, Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.utils.decorators import method_decorator
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_POST

from hyperagent.accounts.administrators import ForAdministrators
from hyperagent.accounts.models import User
from hyperagent.accounts.requests import address_of, person
from hyperagent.lib.alphabet import by_name
from hyperagent.lib.languages import grouped
from hyperagent.lib.refusals import Refused
from hyperagent.lib.refused_forms import RefusableForm, RefusalsTold
from memory import projects
from memory.api.projects import counted, documents_of, members_of
from memory.forms import ProjectForm
from memory.models import Document, Project
from memory.rows import loaded, row_of

PROJECTS_A_PAGE: Final = 24
DOCUMENTS_A_PAGE: Final = 25
MOST_OFFERED: Final = 200


@method_decorator([never_cache, ensure_csrf_cookie], name="dispatch")
class Projects(LoginRequiredMixin, RefusableForm):
    """Those of the reader, by name, and the form for another one."""

    template_name = "memory/projects.html"
    form_class = ProjectForm

    def act(self, form: ProjectForm) -> HttpResponse:
        return redirect("memory:project", projects.create(person(self.request), **form.cleaned_data).pk)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        rows = counted(Project.objects.seen_by(person(self.request))).order_by(*by_name("name"), "created_at")
        page = Paginator(rows, PROJECTS_A_PAGE).get_page(self.request.GET.get("page"))
        return super().get_context_data(**kwargs) | {"page": page}


@method_decorator([never_cache, ensure_csrf_cookie], name="dispatch")
class OneProject(LoginRequiredMixin, RefusableForm):
    """The whole project; a POST changes its name and instructions. For whoever is no member there is none."""

    template_name = "memory/project.html"
    form_class = ProjectForm

    @cached_property
    def project(self) -> Project:
        seen = counted(Project.objects.seen_by(person(self.request)))
        return get_object_or_404(seen, pk=self.kwargs["project_id"])

    def get_initial(self) -> dict[str, Any]:
        return {"name": self.project.name, "instructions": self.project.instructions}

    def act(self, form: ProjectForm) -> HttpResponse:
        projects.change(person(self.request), self.project.pk, **form.cleaned_data)
        messages.success(self.request, _("Saved. It holds from the next question on."))
        return redirect("memory:project", self.project.pk)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        user, project = person(self.request), self.project
        is_owner = project.owner_id == user.pk
        rows = loaded(documents_of(project))
        page = Paginator(rows, DOCUMENTS_A_PAGE).get_page(self.request.GET.get("page"))
        offered = Document.objects.of(user).exclude(projects=project).order_by("-created_at", "filename")
        return super().get_context_data(**kwargs) | {
            "project": project,
            "is_owner": is_owner,
            "members": _members(project),
            "heirs": projects.heirs_of(project) if is_owner else (),
            "page": page,
            "rows": [row_of(document, reader=user) for document in page],
            "offered": list(offered.only("filename")[:MOST_OFFERED]),
            "most_offered": MOST_OFFERED,
            "page_data": {
                "project": {"id": str(project.pk), "name": project.name},
                "limit_bytes": settings.CONFIG.document_max_bytes,
            },
        }


def _members(project: Project) -> list[tuple[User, str]]:
    """Each with what removing them would do. Two queries."""
    added = dict(project.documents.order_by().values_list("owner").annotate(Count("pk")))
    return [(member, _removal(added.get(member.pk, 0))) for member in members_of(project)]


def _removal(documents: int) -> str:
    if not documents:
        return _("Remove")
    words = ngettext("Remove, with {count} document", "Remove, with {count} documents", documents)
    return words.format(count=grouped(documents))


def _verb(act: Callable[..., str]) -> Callable[..., HttpResponse]:
    """A view of a form with one button: does it, says what came of it, and goes back to the project."""

    @never_cache
    @login_required
    @require_POST
    def view(request: HttpRequest, project_id: uuid.UUID, **which: uuid.UUID) -> HttpResponse:
        user = person(request)
        with RefusalsTold(request):
            messages.success(request, act(user, project_id, request, **which))
        is_still_there = Project.objects.seen_by(user).filter(pk=project_id).exists()
        return redirect("memory:project", project_id) if is_still_there else redirect("memory:projects")

    return view


def _add_member(user: User, project_id: uuid.UUID, request: HttpRequest) -> str:
    email = request.POST.get("email", "")
    member, is_new = projects.add_by_address(user, project_id, email, address=address_of(request))
    name = member.display_name or member.email
    return (
        _("{name} is a member now.").format(name=name) if is_new else _("{name} is a member already.").format(name=name)
    )


def _remove_member(user: User, project_id: uuid.UUID, _request: HttpRequest, member_id: uuid.UUID) -> str:
    projects.remove_member(user, project_id, member_id)
    return _("You have left the project.") if member_id == user.pk else _("Removed, with their documents.")


def _hand_over(user: User, project_id: uuid.UUID, request: HttpRequest) -> str:
    projects.seen(user, project_id)
    heir = projects.hand_over(user, project_id, _chosen(request, "member"))
    return _("{name} owns the project now. You are still a member.").format(name=heir.display_name or heir.email)


def _add_document(user: User, project_id: uuid.UUID, request: HttpRequest) -> str:
    projects.seen(user, project_id)
    projects.add_documents(user, project_id, [_chosen(request, "document")])
    return _("Added. Every member can read it now.")


def _take_out(user: User, project_id: uuid.UUID, _request: HttpRequest, document_id: uuid.UUID) -> str:
    projects.take_out(user, project_id, document_id)
    return _("Taken out of the project. It stays with its owner.")


def _delete(user: User, project_id: uuid.UUID, _request: HttpRequest) -> str:
    projects.delete(user, project_id)
    return _("The project is deleted. Documents and conversations stayed with their owners.")


def _chosen(request: HttpRequest, name: str) -> uuid.UUID:
    """Of a list that begins with a line that chooses nothing."""
    try:
        return uuid.UUID(request.POST.get(name, ""))
    except ValueError:
        raise Refused("nothing_chosen", _("Choose one from the list.")) from None


class ProjectsOf(ForAdministrators):
    """The projects of one person, to be handed over once that person is deactivated. By what tells them apart without
    their names, which people wrote."""

    def get(self, request: HttpRequest, person_id: uuid.UUID) -> HttpResponse:
        owner = get_object_or_404(User, pk=person_id, deleted_at=None)
        owned = counted(Project.objects.filter(owner=owner)).order_by("created_at", "pk")
        with_heirs = owned.prefetch_related(Prefetch("members", queryset=projects.able(), to_attr="heirs"))
        page = Paginator(with_heirs, PROJECTS_A_PAGE).get_page(request.GET.get("page"))
        return render(request, "memory/projects_of.html", {"tab": "people", "owner": owner, "page": page})

    def post(self, request: HttpRequest, person_id: uuid.UUID) -> HttpResponse:
        with RefusalsTold(request):
            chosen = _chosen(request, "project"), _chosen(request, "member")
            projects.hand_over_for(person_id, *chosen, by=person(request))
            messages.success(request, _("Handed over."))
        return redirect("memory:projects-of", person_id)


urlpatterns = [
    path("projects/", Projects.as_view(), name="projects"),
    path("projects/<uuid:project_id>/", OneProject.as_view(), name="project"),
    path("projects/<uuid:project_id>/delete/", _verb(_delete), name="delete-project"),
    path("projects/<uuid:project_id>/members/", _verb(_add_member), name="add-member"),
    path("projects/<uuid:project_id>/members/<uuid:member_id>/remove/", _verb(_remove_member), name="remove-member"),
    path("projects/<uuid:project_id>/owner/", _verb(_hand_over), name="hand-over-project"),
    path("people/<uuid:person_id>/projects/", ProjectsOf.as_view(), name="projects-of"),
    path("projects/<uuid:project_id>/documents/", _verb(_add_document), name="add-document"),
    path("projects/<uuid:project_id>/documents/<uuid:document_id>/remove/", _verb(_take_out), name="take-out"),
]
