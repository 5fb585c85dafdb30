"""Where other programs' agents find us: without a slash at the end, as their settings have it, and with one."""

from django.urls import path

from conversations.mcp.views import ModelContextProtocol

urlpatterns = [path("mcp", ModelContextProtocol.as_view()), path("mcp/", ModelContextProtocol.as_view())]
