from django.urls import path

from agents.apps import views

urlpatterns = [path("<uuid:app_id>/", views.preview, name="preview")]
