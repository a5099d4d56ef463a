"""What `windlass worker TARGET` runs: `builtin`, or `module:name` of a Worker."""

from pathlib import Path

from windlass.model.errors import BadRequest
from windlass.worker.builtin import worker as builtin
from windlass.worker.modules import load_module
from windlass.worker.registry import Worker


def load_worker(target: str, services: tuple[str, ...] = ()) -> Worker:
    """The worker a target names; only some of its services if they are listed."""
    worker = builtin if target == "builtin" else _import(target)
    if not worker.services:
        raise BadRequest(f'"{target}" has no services; decorate functions with @worker.service')
    if not services:
        return worker
    try:
        return worker.select(services)
    except ValueError as error:
        raise BadRequest(str(error)) from error


def _import(target: str) -> Worker:
    module_name, _, name = target.partition(":")
    if module_name.endswith(".py"):
        raise BadRequest(f'"{target}" is a file; write {Path(module_name).stem}:worker')
    module = load_module(module_name)
    found = getattr(module, name or "worker", None)
    if not isinstance(found, Worker):
        hint = f"write {module_name}:NAME where NAME is a windlass.Worker"
        raise BadRequest(f'"{target}" is not a worker; {hint}')
    return found
