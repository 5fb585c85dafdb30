"""The web process: HTTP to Django, websockets to the consumers, each behind its own host and login checks."""

import os

# Before Django reads its settings: this process, and no other, pools its database connections.
os.environ.setdefault("HYPERAGENT_PROCESS", "web")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hyperagent.settings")

from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application

http = get_asgi_application()

# The consumers' models exist only now.
from conversations.routing import websocket_urlpatterns

application = ProtocolTypeRouter(
    {
        "http": http,
        # Origin, session and token are the consumer's to check: a program with a token has no Origin.
        "websocket": URLRouter(websocket_urlpatterns),
    }
)
