"""A scripted model: an OpenAI-compatible server on loopback that says what a script tells it to."""

from windlass.testing.models.script import Line, Script, ScriptedCall, read_script
from windlass.testing.models.server import ScriptedModels

__all__ = ["Line", "Script", "ScriptedCall", "ScriptedModels", "read_script"]
