"""Agents: planners, workers and verifiers that think with a language model.

They are pull workers like any other and know only the public contract of briefs and answers. What
runs them needs the extra `windlass[agents]`; declaring tools for them needs nothing.
"""

from windlass.agents.effects import tool

__all__ = ["tool"]
