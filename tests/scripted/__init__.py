"""The one fake model of the whole suite: it speaks the providers' protocols over HTTP and does as it is told."""

from tests.scripted.script import Call, Script, ScriptedCall, ScriptedUsage
from tests.scripted.server import ScriptedServer

__all__ = ["Call", "Script", "ScriptedCall", "ScriptedServer", "ScriptedUsage"]
