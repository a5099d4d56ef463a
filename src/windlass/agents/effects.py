"""Tools that people bring along: plain functions, each marked with what calling it does."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from windlass.model.errors import BadRequest
from windlass.model.ledger import EffectClass, read_effect
from windlass.worker.modules import load_module

F = TypeVar("F", bound=Callable[..., Any])
_MARK = "__windlass_tool__"


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A function a model may call; its name, parameters and docstring are what the model sees."""

    name: str
    function: Callable[..., Any]
    effect: EffectClass


def tool(*, effect: EffectClass | str, name: str = "") -> Callable[[F], F]:
    """Offer the function below to agents: `@tool(effect="external_read")`. It stays an ordinary
    function."""
    kind = read_effect(str(effect))

    def mark(function: F) -> F:
        own = str(getattr(function, "__name__", ""))
        setattr(function, _MARK, AgentTool(name or own, function, kind))
        return function

    return mark


def load_tools(modules: Iterable[str]) -> list[AgentTool]:
    """Every marked function of some modules. What is not marked has no effect class, and is not
    offered."""
    found: dict[str, AgentTool] = {}
    for module_name in modules:
        module = load_module(module_name)
        marked = [
            mark
            for value in vars(module).values()
            if isinstance(mark := getattr(value, _MARK, None), AgentTool)
        ]
        if not marked:
            hint = 'mark functions with @windlass.agents.tool(effect="external_read")'
            raise BadRequest(f"--tools {module_name}: no tools in this module; {hint}")
        for each in marked:
            if each.name in found or each.name in RESERVED:
                hint = 'give one of them another: @tool(effect=…, name="…")'
                raise BadRequest(f'--tools {module_name}: "{each.name}" is a name twice; {hint}')
            found[each.name] = each
    return list(found.values())


RESERVED = frozenset(
    {"add_artifact", "ask_human", "finish", "list_board", "read_board", "write_board"}
    | {"env_run", "env_read", "env_write"}
    | {"browser_open", "browser_read", "browser_click", "browser_fill"}
)
"""The names of what every agent has."""
