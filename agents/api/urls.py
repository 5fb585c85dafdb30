"""The agents' routes of the API, below `/api/v1/`."""

from django.urls import path

from agents.api import agents, budgets, search, usage, views

urlpatterns = [
    path("agents", agents.AgentList.as_view(), name="agents"),
    path("agents/tree", agents.AgentTree.as_view(), name="agent-tree"),
    path("agents/<uuid:agent_id>", agents.AgentDetail.as_view(), name="agent"),
    path("agents/<uuid:agent_id>/intervene", agents.AgentIntervene.as_view(), name="agent-intervene"),
    # The spellings of the older agent-tree programs.
    path("agent/tree", agents.OlderTree.as_view(), name="older-agent-tree"),
    path("agent/<uuid:agent_id>", agents.OlderAgent.as_view(), name="older-agent"),
    path("agent/<uuid:agent_id>/intervene", agents.OlderIntervene.as_view(), name="older-agent-intervene"),
    path("search", search.Search.as_view(), name="search"),
    path("usage", usage.Usage.as_view(), name="usage"),
    path("budgets", budgets.OwnBudgets.as_view(), name="budgets"),
    path("budgets/all", budgets.AllBudgets.as_view(), name="all-budgets"),
    path("budgets/<int:budget_id>", budgets.BudgetDetail.as_view(), name="budget"),
    path("executions", views.ExecutionList.as_view(), name="executions"),
    path("executions/<uuid:execution_id>", views.ExecutionDetail.as_view(), name="execution"),
    path("executions/<uuid:execution_id>/events", views.ExecutionEvents.as_view(), name="execution-events"),
    path(
        "executions/<uuid:execution_id>/events/<int:seq>/result",
        views.ExecutionResult.as_view(),
        name="execution-result",
    ),
    path("executions/<uuid:execution_id>/cancel", views.ExecutionCancel.as_view(), name="execution-cancel"),
    path("executions/<uuid:execution_id>/steer", views.ExecutionSteer.as_view(), name="execution-steer"),
]
