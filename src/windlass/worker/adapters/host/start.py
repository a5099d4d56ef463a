"""Starts a host by path: `python -I start.py …`, whatever that interpreter has installed.

The host's modules are found by their full names although the packages above them are not there;
once they are loaded, those names are free again for a package that brings its own windlass.
"""

import importlib
import sys
import types
from pathlib import Path

HOME = "windlass.worker.adapters.host"


def load(name: str) -> types.ModuleType:
    """A module of the host, under empty stand-ins for the packages above it."""
    parts = HOME.split(".")
    above = [".".join(parts[:count]) for count in range(1, len(parts) + 1)]
    for package in above:
        module = types.ModuleType(package)
        module.__path__ = []
        sys.modules[package] = module
    sys.modules[HOME].__path__ = [str(Path(__file__).parent)]
    found = importlib.import_module(f"{HOME}.{name}")
    for package in above[:-1]:
        del sys.modules[package]
    return found


if __name__ == "__main__":
    # A script's folder comes first on the path, and ours must not lend its names to a package.
    here = str(Path(__file__).parent)
    sys.path[:] = [entry for entry in sys.path if entry != here]
    load("main").main(sys.argv[1:])
