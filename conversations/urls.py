"""The chat page's addresses."""

from django.urls import path

from conversations import search_views, shared_views, views
from conversations.schedules import views as schedules

urlpatterns = [
    path("", views.chat, name="chat"),
    path("c/<uuid:conversation_id>/", views.chat, name="chat-conversation"),
    path("search/", search_views.search, name="search-everything"),
    path("schedules/", schedules.schedules, name="schedules"),
    path("schedules/new/", schedules.New.as_view(), name="schedule-new"),
    path("schedules/times/", schedules.times, name="schedule-times"),
    path("schedules/<uuid:schedule_id>/", schedules.schedule, name="schedule"),
    path("schedules/<uuid:schedule_id>/edit/", schedules.Change.as_view(), name="schedule-edit"),
    path("s/<str:token>/", shared_views.shared, name="shared"),
    path("s/<str:token>/continue/", shared_views.go_on, name="shared-go-on"),
]
