"""The web process: HTTP to Django, websockets to the consumers, each behind its own host and login checks."""

import os
from importlib import import_module

# Before Django reads its settings: this process, and no other, pools its database connections.
os.environ.setdefault("HYPERAGENT_PROCESS", "web")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hyperagent.settings")

from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.core.asgi import get_asgi_application

http = get_asgi_application()

# Models exist only now.
from agents.apps.proxy import Previews
from agents.sandbox.host.client import sandbox_host
from conversations.routing import websocket_urlpatterns
from hyperagent import eager_sockets
from hyperagent.accounts.middleware import SocketOrigin
from hyperagent.draining import Draining, leave_in_order
from hyperagent.lib import heap
from hyperagent.settings import CONFIG
from hyperagent.static_files import FilesFirst

eager_sockets.install()
routes = ProtocolTypeRouter(
    {
        "http": FilesFirst(http),
        # Origin, session and token are the consumer's to check: a program with a token has no Origin.
        "websocket": SocketOrigin(URLRouter(websocket_urlpatterns)),
    }
)
# What is asked of an app's own name never reaches Django.
application = Draining(Previews(routes, suffix=CONFIG.preview_name, host=sandbox_host))
leave_in_order(application)
# Else the first request would wait for the code of all pages.
import_module(settings.ROOT_URLCONF)
heap.settle()
