"""The routes of documents, memories, projects and files in the API, below `/api/v1/`."""

from django.urls import path

import memory.addresses  # noqa: F401 - what stands between < and > below
from memory.api import connectors, documents, memories, projects, workspaces

urlpatterns = [
    path("documents", documents.DocumentList.as_view(), name="documents"),
    # The name that older programs know.
    path("upload", documents.DocumentList.as_view(http_method_names=["post", "options"]), name="upload"),
    path("documents/<uuid:document_id>", documents.DocumentDetail.as_view(), name="document"),
    path("documents/<uuid:document_id>/chunks", documents.DocumentChunks.as_view(), name="document-chunks"),
    path("documents/<uuid:document_id>/pages", documents.DocumentPages.as_view(), name="document-pages"),
    path("documents/<uuid:document_id>/file", documents.DocumentFile.as_view(), name="document-file"),
    path(
        "documents/<uuid:document_id>/pages/<int:number>/image",
        documents.DocumentPageImage.as_view(),
        name="document-page-image",
    ),
    path("documents/<uuid:document_id>/cancel", documents.DocumentCancel.as_view(), name="document-cancel"),
    path("documents/<uuid:document_id>/again", documents.DocumentAgain.as_view(), name="document-again"),
    path("files", workspaces.PlaceList.as_view(), name="file-places"),
    path("files/<workspace_scope:scope>/<uuid:scope_id>", workspaces.FileList.as_view(schema=None)),
    path("files/<workspace_scope:scope>/<uuid:scope_id>/", workspaces.FileList.as_view(), name="files"),
    path("files/<workspace_scope:scope>/<uuid:scope_id>/<path:path>", workspaces.FileDetail.as_view(), name="file"),
    path(
        "file-versions/<workspace_scope:scope>/<uuid:scope_id>/<path:path>",
        workspaces.FileVersions.as_view(),
        name="file-versions",
    ),
    path(
        "file-moves/<workspace_scope:scope>/<uuid:scope_id>/<path:path>",
        workspaces.FileMoves.as_view(),
        name="file-moves",
    ),
    *memories.urlpatterns,
    *projects.urlpatterns,
    *connectors.urlpatterns,
]
