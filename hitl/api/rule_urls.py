"""The routes of rules and switches, below `/api/v1/`."""

from django.urls import path

from hitl.api import rule_views, switch_views

urlpatterns = [
    path("hitl/rules", rule_views.RuleList.as_view(), name="rules"),
    path("hitl/rules/preview", rule_views.RulePreview.as_view(), name="rule-preview"),
    path("hitl/rules/<uuid:rule_id>", rule_views.RuleDetail.as_view(), name="rule-detail"),
    path("hitl/switches", switch_views.SwitchList.as_view(), name="switches"),
    path("hitl/switches/<uuid:switch_id>", switch_views.SwitchDetail.as_view(), name="switch-detail"),
]
