"""The pages of one's mailboxes, below `/mail/`."""

from django.urls import path

from agents.mail import views

app_name = "mail"
urlpatterns = [
    path("", views.Mailboxes.as_view(), name="mailboxes"),
    path("servers/", views.usual_servers, name="servers"),
    path("gmail/", views.to_google, name="gmail"),
    path("gmail/callback/", views.from_google, name="gmail_callback"),
    path("<uuid:account_id>/", views.change, name="change"),
    path("<uuid:account_id>/again/", views.Again.as_view(), name="again"),
    path("<uuid:account_id>/gmail/", views.to_google, name="gmail_again"),
]
