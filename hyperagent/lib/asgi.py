"""What an application may say to our web server beyond what ASGI knows."""

from typing import Any, Final

CUT_OFF: Final[dict[str, Any]] = {"type": "http.response.cut_off"}
"""Instead of the last piece of an answer: there should have been more, and whoever reads it is to see that."""

PACED: Final[dict[str, Any]] = {"paced": True}
"""Said with a message for a websocket: to send it returns once whoever is at the other end has read enough of what was
sent before. For those alone who speak to one socket each: whoever tells many would wait for the slowest."""
