"""The pages of connected servers, below `/settings/mcp/`."""

from django.urls import path

from agents.mcp import views

app_name = "mcp"
urlpatterns = [
    path("", views.Servers.as_view(), name="servers"),
    path("program/", views.Program.as_view(), name="program"),
    path("signed-in/", views.SignedIn.as_view(), name="signed_in"),
    path("<uuid:server_id>/sign-in/", views.SignIn.as_view(), name="sign_in"),
    path("<uuid:server_id>/", views.Server.as_view(), name="server"),
    path("<uuid:server_id>/connect/", views.Connect.as_view(), name="connect"),
    path("<uuid:server_id>/enable/", views.Enable.as_view(), name="enable"),
    path("<uuid:server_id>/disable/", views.Disable.as_view(), name="disable"),
    path("<uuid:server_id>/review/", views.Review.as_view(), name="review"),
    path("<uuid:server_id>/delete/", views.Delete.as_view(), name="delete"),
]
