"""The requests' routes of the API, below `/api/v1/`."""

from django.urls import include, path

from hitl.api import views

urlpatterns = [
    path("hitl/requests", views.RequestList.as_view(), name="requests"),
    path("hitl/requests/<uuid:request_id>", views.RequestDetail.as_view(), name="request"),
    path("hitl/respond", views.Respond.as_view(), name="respond"),
    path("hitl/respond/bulk", views.RespondToMany.as_view(), name="respond-to-many"),
    path("", include("hitl.api.rule_urls")),
]
