"""The chat page's addresses."""

from django.urls import path

from conversations import views

urlpatterns = [
    path("", views.chat, name="chat"),
    path("c/<uuid:conversation_id>/", views.chat, name="chat-conversation"),
]
