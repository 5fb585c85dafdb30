"""The web process: HTTP to Django, websockets to the consumers, both behind the same host and login checks."""

import os

# Before Django reads its settings: this process, and no other, pools its database connections.
os.environ.setdefault("HYPERAGENT_PROCESS", "web")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hyperagent.settings")

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.core.asgi import get_asgi_application

http = get_asgi_application()

# The consumers' models exist only now.
from conversations.routing import websocket_urlpatterns

application = ProtocolTypeRouter(
    {
        "http": http,
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
    }
)
