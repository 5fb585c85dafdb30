"""The routes of documents, memories and projects in the API, below `/api/v1/`."""

from django.urls import path

from memory.api import connectors, documents, memories, projects

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
    *memories.urlpatterns,
    *projects.urlpatterns,
    *connectors.urlpatterns,
]
