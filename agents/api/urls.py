"""The agents' routes of the API, below `/api/v1/`."""

from django.urls import path

from agents.api import views

urlpatterns = [
    path("agents", views.AgentList.as_view(), name="agents"),
    path("executions", views.ExecutionList.as_view(), name="executions"),
    path("executions/<uuid:execution_id>", views.ExecutionDetail.as_view(), name="execution"),
    path("executions/<uuid:execution_id>/events", views.ExecutionEvents.as_view(), name="execution-events"),
    path("executions/<uuid:execution_id>/cancel", views.ExecutionCancel.as_view(), name="execution-cancel"),
]
