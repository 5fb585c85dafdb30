"""The projects' endpoints. Each checks the shape of what came, calls a verb of `memory.projects` and shows what it
gave. Whoever is no member is told 404, whatever they try. The conversations of a project: `conversations.api.projects`.
"""

from typing import Any
from uuid import UUID

from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hyperagent.accounts.models import User
from hyperagent.accounts.requests import address_of
from hyperagent.lib.alphabet import by_name
from hyperagent.lib.api import ErrorSerializer, ListSerializer, Pages, Several, own_or_404, whole_list
from memory import projects
from memory.api.document_serializers import DocumentSerializer
from memory.api.documents import DocumentsView
from memory.models import Document, Project
from memory.shapes import document_shape

MOST_AT_ONCE = 200
ERRORS = dict.fromkeys((400, 403, 404, 409), ErrorSerializer)


class OwnerSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    display_name = serializers.CharField()


class ProjectSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    instructions = serializers.CharField(help_text="Told to every agent in the project's conversations.")
    owner = OwnerSerializer()
    is_owner = serializers.BooleanField()
    members = serializers.IntegerField()
    documents = serializers.IntegerField()
    created_at = serializers.DateTimeField()


class ProjectWriteSerializer(serializers.Serializer[Any]):
    # Lengths are the action's to judge, for every face alike.
    name = serializers.CharField(allow_blank=True)
    instructions = serializers.CharField(required=False, allow_blank=True, default="", trim_whitespace=False)


class ProjectChangeSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(required=False, allow_blank=True)
    instructions = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)


class MemberSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    display_name = serializers.CharField()
    email = serializers.EmailField()
    is_owner = serializers.BooleanField()


class MembersSerializer(ListSerializer):
    results = MemberSerializer(many=True)


class NewMemberSerializer(serializers.Serializer[Any]):
    email = serializers.CharField(max_length=320)


class AddDocumentsSerializer(serializers.Serializer[Any]):
    document_ids = Several(child=serializers.UUIDField(), min_length=1, max_length=MOST_AT_ONCE)


class ProjectList(DocumentsView, generics.GenericAPIView[Project]):
    serializer_class = ProjectSerializer
    pagination_class = Pages.ordered_by("name", "created_at", "id")
    filter_backends = ()
    queryset = Project.objects.none()

    @extend_schema(responses=ProjectSerializer(many=True))
    def get(self, request: Request) -> Response:
        """The projects that you are a member of, by name."""
        page = self.paginate_queryset(counted(Project.objects.seen_by(self.caller)))
        return self.get_paginated_response([project_shape(project, self.caller) for project in page or []])

    @extend_schema(request=ProjectWriteSerializer, responses={201: ProjectSerializer, 400: ErrorSerializer})
    def post(self, request: Request) -> Response:
        """A project of your own: you are its owner and first member. `instructions` are told to every agent in its
        conversations.
        """
        asked = ProjectWriteSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        made = projects.create(self.caller, **asked.validated_data)
        return Response(_shown(self.caller, made.pk), status=201)


class ProjectDetail(DocumentsView):
    @extend_schema(responses={200: ProjectSerializer, 404: ErrorSerializer})
    def get(self, request: Request, project_id: UUID) -> Response:
        """One project that you are a member of."""
        return Response(_shown(self.caller, project_id))

    @extend_schema(request=ProjectChangeSerializer, responses={200: ProjectSerializer, **ERRORS})
    def patch(self, request: Request, project_id: UUID) -> Response:
        """Another name or other instructions; by its owner only, 403 for other members. What is left out stays as it
        is.
        """
        projects.seen(self.caller, project_id)
        asked = ProjectChangeSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        projects.change(self.caller, project_id, **asked.validated_data)
        return Response(_shown(self.caller, project_id))

    @extend_schema(responses={204: None, **ERRORS})
    def delete(self, request: Request, project_id: UUID) -> Response:
        """Deletes the project; by its owner only. Documents and conversations stay with whoever they belong to."""
        projects.delete(self.caller, project_id)
        return Response(status=204)


class ProjectMembers(DocumentsView):
    @extend_schema(responses={200: MembersSerializer, 404: ErrorSerializer})
    def get(self, request: Request, project_id: UUID) -> Response:
        """The members, by name, the owner among them."""
        project = projects.seen(self.caller, project_id)
        return Response(whole_list(member_shape(person, project) for person in members_of(project)))

    @extend_schema(
        request=NewMemberSerializer,
        responses={201: MemberSerializer, 200: MemberSerializer, **ERRORS, 429: ErrorSerializer},
    )
    def post(self, request: Request, project_id: UUID) -> Response:
        """Makes the person with this e-mail address a member; by the owner only. 200 if they were one already.
        429 with `too_many_tries` for whoever tries many addresses.
        """
        project = projects.seen(self.caller, project_id)
        asked = NewMemberSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        email, address = asked.validated_data["email"], address_of(request)
        person, is_new = projects.add_by_address(self.caller, project_id, email, address=address)
        return Response(member_shape(person, project), status=201 if is_new else 200)


class ProjectMember(DocumentsView):
    @extend_schema(responses={204: None, **ERRORS})
    def delete(self, request: Request, project_id: UUID, member_id: UUID) -> Response:
        """Takes a member out; by the owner, or by the member: that is to leave. The member's own documents leave the
        project too.
        """
        projects.remove_member(self.caller, project_id, member_id)
        return Response(status=204)


class ProjectDocuments(DocumentsView, generics.GenericAPIView[Document]):
    serializer_class = DocumentSerializer
    pagination_class = Pages
    filter_backends = ()
    queryset = Document.objects.none()

    @extend_schema(responses=DocumentSerializer(many=True))
    def get(self, request: Request, project_id: UUID) -> Response:
        """The documents of the project, newest first."""
        page = self.paginate_queryset(documents_of(projects.seen(self.caller, project_id)))
        return self.get_paginated_response([document_shape(document, self.caller) for document in page or []])

    @extend_schema(request=AddDocumentsSerializer, responses={204: None, **ERRORS})
    def post(self, request: Request, project_id: UUID) -> Response:
        """Adds documents that the caller owns: every member sees them from then on."""
        projects.seen(self.caller, project_id)
        asked = AddDocumentsSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        projects.add_documents(self.caller, project_id, asked.validated_data["document_ids"])
        return Response(status=204)


class ProjectDocument(DocumentsView):
    @extend_schema(responses={204: None, **ERRORS})
    def delete(self, request: Request, project_id: UUID, document_id: UUID) -> Response:
        """Takes it out of the project: by the project's owner or the document's. It stays with its owner."""
        projects.take_out(self.caller, project_id, document_id)
        return Response(status=204)


def counted(rows: QuerySet[Project]) -> QuerySet[Project]:
    """With their owners, and how many members and documents they have."""

    def number_of(through: Any) -> Subquery:
        counts = through.objects.filter(project=OuterRef("pk")).order_by().values("project").annotate(n=Count("pk"))
        return Subquery(counts.values("n"), output_field=IntegerField())

    return rows.select_related("owner").annotate(
        members_count=number_of(Project.members.through), documents_count=number_of(Project.documents.through)
    )


def project_shape(project: Project, viewer: User) -> dict[str, Any]:
    """Needs what `counted` loads."""
    return {
        "id": str(project.pk),
        "name": project.name,
        "instructions": project.instructions,
        "owner": {"id": str(project.owner_id), "display_name": project.owner.display_name or project.owner.email},
        "is_owner": project.owner_id == viewer.pk,
        "members": getattr(project, "members_count", None) or 0,
        "documents": getattr(project, "documents_count", None) or 0,
        "created_at": project.created_at,
    }


def member_shape(person: User, project: Project) -> dict[str, Any]:
    return {
        "id": str(person.pk),
        "display_name": person.display_name or person.email,
        "email": person.email,
        "is_owner": person.pk == project.owner_id,
    }


def members_of(project: Project) -> QuerySet[User]:
    return project.members.order_by(*by_name("display_name"), "email")


def documents_of(project: Project) -> QuerySet[Document]:
    """As `document_shape` needs them, newest first."""
    rows = project.documents.select_related("owner").prefetch_related("groups")
    return rows.order_by("-created_at", "-id")


def _shown(user: User, project_id: UUID) -> dict[str, Any]:
    return project_shape(own_or_404(counted(Project.objects.seen_by(user)), pk=project_id), user)


urlpatterns = [
    path("projects", ProjectList.as_view(), name="projects"),
    path("projects/<uuid:project_id>", ProjectDetail.as_view(), name="project"),
    path("projects/<uuid:project_id>/members", ProjectMembers.as_view(), name="project-members"),
    path("projects/<uuid:project_id>/members/<uuid:member_id>", ProjectMember.as_view(), name="project-member"),
    path("projects/<uuid:project_id>/documents", ProjectDocuments.as_view(), name="project-documents"),
    path("projects/<uuid:project_id>/documents/<uuid:document_id>", ProjectDocument.as_view(), name="project-document"),
]
