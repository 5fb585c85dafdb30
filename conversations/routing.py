"""The addresses of the websockets. Who may open one is decided by the consumer."""

from django.urls import re_path

from conversations.consumers import ConversationConsumer
from conversations.inbox import InboxConsumer
from conversations.personal_socket import NowhereConsumer

_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

websocket_urlpatterns = [
    re_path(rf"^ws/conversations/(?P<conversation_id>{_UUID})/$", ConversationConsumer.as_asgi()),
    re_path(r"^ws/inbox/$", InboxConsumer.as_asgi()),
    # Without it an unknown address would be an exception in the log.
    re_path(r"", NowhereConsumer.as_asgi()),
]
