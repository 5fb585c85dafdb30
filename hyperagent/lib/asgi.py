"""What an application may say to our web server beyond what ASGI knows."""

from typing import Any, Final

CUT_OFF: Final[dict[str, Any]] = {"type": "http.response.cut_off"}
"""Instead of the last piece of an answer: there should have been more, and whoever reads it is to see that."""
