"""The routes below `/v1/`."""

from django.urls import path

from conversations.completions import views

urlpatterns = [
    path("models", views.Models.as_view()),
    path("models/<path:name>", views.OneModel.as_view()),
    path("chat/completions", views.ChatCompletions.as_view()),
    path("<path:rest>", views.NotHere.as_view()),
]
