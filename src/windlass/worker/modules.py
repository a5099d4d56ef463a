"""Modules that people name on the command line: workers, and flows written in Python."""

import importlib
import sys
import traceback
from pathlib import Path
from types import ModuleType

from windlass.model.errors import BadRequest


def load_module(name: str) -> ModuleType:
    """Import a module beside which the command was started, or any other on the path."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)  # as `python -m` does: people start workers beside their code
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise _broken(name, error) from error  # it is there, but something it needs is not
        hint = "start in the folder that holds it, or install it"
        raise BadRequest(f'there is no module "{name}"; {hint}') from error
    except Exception as error:
        raise _broken(name, error) from error


def _broken(name: str, error: Exception) -> BadRequest:
    """What is wrong with somebody's module, without the frames that are ours or Python's."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_theirs(frame)]
    lines = [*traceback.format_list(frames), *traceback.format_exception_only(error)]
    text = "".join(lines).rstrip()
    return BadRequest(f'the module "{name}" cannot be imported; mend it first:\n{text}')


def _is_theirs(frame: traceback.FrameSummary) -> bool:
    ours = (__file__, importlib.__file__)
    return not frame.filename.startswith("<frozen importlib") and frame.filename not in ours
