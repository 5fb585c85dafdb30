"""The conversations' routes of the API, below `/api/v1/`."""

from django.urls import path

from conversations.ag_ui.views import AgUi
from conversations.api import projects, query, runs, search, sharing, views
from conversations.schedules import api as schedules

urlpatterns = [
    path("query", query.Query.as_view(), name="query"),
    path("query/stream", query.QueryStream.as_view(), name="query-stream"),
    path("ag-ui", AgUi.as_view(), name="ag-ui"),
    path("agent/stream", query.OlderStream.as_view(), name="older-agent-stream"),
    path("executions/<uuid:execution_id>/retry", runs.ExecutionRetry.as_view(), name="execution-retry"),
    path("executions/<uuid:execution_id>/fork", runs.ExecutionFork.as_view(), name="execution-fork"),
    path("conversations", views.ConversationList.as_view(), name="conversations"),
    path("conversations/<uuid:conversation_id>", views.ConversationDetail.as_view(), name="conversation"),
    path("conversations/<uuid:conversation_id>/messages", views.ConversationMessages.as_view(), name="messages"),
    path("conversations/<uuid:conversation_id>/export", views.ConversationExport.as_view(), name="conversation-export"),
    path(
        "conversations/<uuid:conversation_id>/share", sharing.ConversationShares.as_view(), name="conversation-shares"
    ),
    path(
        "conversations/<uuid:conversation_id>/share/<uuid:share_id>",
        sharing.ConversationShare.as_view(),
        name="conversation-share",
    ),
    path("search/all", search.SearchAll.as_view(), name="search-all"),
    path(
        "projects/<uuid:project_id>/conversations",
        projects.ProjectConversations.as_view(),
        name="project-conversations",
    ),
    path("schedules", schedules.ScheduleList.as_view(), name="schedules-api"),
    path("schedules/<uuid:schedule_id>", schedules.ScheduleDetail.as_view(), name="schedule-api"),
    path("schedules/<uuid:schedule_id>/run", schedules.ScheduleRun.as_view(), name="schedule-api-run"),
    path("schedules/<uuid:schedule_id>/pause", schedules.SchedulePause.as_view(), name="schedule-api-pause"),
    path("schedules/<uuid:schedule_id>/resume", schedules.ScheduleResume.as_view(), name="schedule-api-resume"),
    path("schedules/<uuid:schedule_id>/runs", schedules.ScheduleRuns.as_view(), name="schedule-api-runs"),
    path("messages/<uuid:message_id>/retry", views.MessageRetry.as_view(), name="message-retry"),
]
