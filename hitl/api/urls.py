"""The requests' routes of the API, below `/api/v1/`."""

from django.urls import path

from hitl.api import views

urlpatterns = [
    path("hitl/requests", views.RequestList.as_view(), name="requests"),
    path("hitl/respond", views.Respond.as_view(), name="respond"),
]
