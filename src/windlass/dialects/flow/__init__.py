"""The `flow` dialect: action graphs of eight node kinds, as the PocketFlow scheduler defines them.

    text ── read_definition ──▶ plain JSON value ── compile_flow ──▶ Graph

Both raise DefinitionError, with every problem they can find at once.
"""

from windlass.dialects.flow.lower import compile_flow
from windlass.dialects.flow.source import read_definition
from windlass.dialects.plain import Limits

__all__ = ["Limits", "compile_flow", "read_definition"]
