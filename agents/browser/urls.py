from django.urls import path

from agents.browser import views

urlpatterns = [
    path("<uuid:conversation_id>/", views.watch, name="browser"),
    path("<uuid:conversation_id>/frame.jpg", views.frame, name="browser-frame"),
]
