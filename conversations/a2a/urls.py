"""Where other programs' agents find us: the card at its well-known place, and the one address of the endpoint."""

from django.urls import path

from conversations.a2a.views import AgentCard, AgentToAgent

urlpatterns = [
    path(".well-known/agent-card.json", AgentCard.as_view()),
    path("a2a", AgentToAgent.as_view()),
    path("a2a/", AgentToAgent.as_view()),
]
