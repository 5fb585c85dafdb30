"""The chat page's addresses."""

from django.urls import path

from conversations import search_views, shared_views, views

urlpatterns = [
    path("", views.chat, name="chat"),
    path("c/<uuid:conversation_id>/", views.chat, name="chat-conversation"),
    path("search/", search_views.search, name="search-everything"),
    path("s/<str:token>/", shared_views.shared, name="shared"),
    path("s/<str:token>/continue/", shared_views.go_on, name="shared-go-on"),
]
