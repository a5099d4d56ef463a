"""What `windlass worker TARGET` runs: `builtin`, or `module:name` of a Worker."""

import importlib
import sys
from pathlib import Path

from windlass.model.errors import BadRequest
from windlass.worker.builtin import worker as builtin
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
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)  # as `python -m` does: people start workers beside their code
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise  # the module is there, but something it needs is not
        hint = "write module:worker, and start in the folder that holds the module"
        raise BadRequest(f'there is no module "{module_name}"; {hint}') from error
    found = getattr(module, name or "worker", None)
    if not isinstance(found, Worker):
        hint = f"write {module_name}:NAME where NAME is a windlass.Worker"
        raise BadRequest(f'"{target}" is not a worker; {hint}')
    return found
