"""The pages of what waits for people, and of the rules that stand."""

from django.urls import path

from hitl import views

app_name = "hitl"
urlpatterns = [
    path("inbox/", views.inbox, name="inbox"),
    path("inbox/<uuid:request_id>/", views.one_request, name="request"),
    path("rules/", views.standing_rules, name="rules"),
    path("rules/<uuid:rule_id>/revoke/", views.revoke_rule, name="revoke-rule"),
]
