"""The pages of documents, of what is remembered, and of projects."""

from django.urls import path

from memory import connector_views, memory_views, project_views, views

app_name = "memory"
urlpatterns = [
    path("documents/", views.documents, name="documents"),
    path("documents/search/", views.search, name="search"),
    path("documents/<uuid:document_id>/", views.document, name="document"),
    path("documents/<uuid:document_id>/pages/", views.document_pages, name="document-pages"),
    *memory_views.urlpatterns,
    *project_views.urlpatterns,
    *connector_views.urlpatterns,
]
