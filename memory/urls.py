"""The pages of documents, of files, of what is remembered, and of projects."""

from django.urls import path

import memory.addresses  # noqa: F401 - what stands between < and > in the addresses of files
from memory import connector_views, file_views, memory_views, project_views, views

app_name = "memory"
urlpatterns = [
    path("documents/", views.documents, name="documents"),
    path("documents/search/", views.search, name="search"),
    path("documents/<uuid:document_id>/", views.document, name="document"),
    path("documents/<uuid:document_id>/pages/", views.document_pages, name="document-pages"),
    *file_views.urlpatterns,
    *memory_views.urlpatterns,
    *project_views.urlpatterns,
    *connector_views.urlpatterns,
]
