"""The Python of a package version: its own environment if it has dependencies, else ours."""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

from packaging.specifiers import SpecifierSet

from windlass.protocol.packages.errors import invalid
from windlass.protocol.packages.manifest import Manifest
from windlass.protocol.packages.names import ENVIRONMENT
from windlass.worker.adapters.settings import clean_environment
from windlass.worker.packages.commands import run
from windlass.worker.packages.settings import PackageSettings

REQUIREMENTS = "requirements.txt"
_INSTALLER_VARIABLES = ("UV_", "PIP_")
_NETWORK_VARIABLES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy", "netrc")


def check_python(manifest: Manifest) -> None:
    """Refuse a package that is not for this Python."""
    here = ".".join(str(part) for part in sys.version_info[:3])
    if not SpecifierSet(manifest.python.requires).contains(here, prereleases=True):
        wanted = manifest.python.requires
        raise invalid(f"{manifest.name} needs Python {wanted}, and this is {here}")


def interpreter_of(folder: Path) -> Path:
    """What runs an installed version."""
    own = folder / ENVIRONMENT / "bin" / "python"
    return own if own.exists() else Path(sys.executable)


def find_uv(given: str = "") -> list[str]:
    """How to call uv, or nothing if it is not here."""
    named = given or os.environ.get("WINDLASS_UV", "") or shutil.which("uv") or ""
    if named:
        return [named]
    command = [sys.executable, "-m", "uv"]
    probe = subprocess.run([*command, "--version"], capture_output=True, check=False)
    return command if probe.returncode == 0 else []


def make_environment(
    manifest: Manifest, folder: Path, settings: PackageSettings, stop: threading.Event
) -> None:
    """Give a version the dependencies it names; nothing is made if it names none."""
    dependencies = list(manifest.python.dependencies)
    if _has_requirements(folder):
        dependencies += ["-r", REQUIREMENTS]
    if not dependencies:
        return
    uv = find_uv(settings.uv)
    for what, command in _commands(uv, folder / ENVIRONMENT, dependencies, settings):
        run(
            command,
            what=what,
            timeout_s=settings.environment_s,
            cwd=folder,  # requirements may name files of the package
            env=installer_environment(),
            stop=stop,
        )


def _has_requirements(folder: Path) -> bool:
    path = folder / REQUIREMENTS
    if not path.is_file():
        return False
    lines = path.read_text("utf-8", errors="replace").splitlines()
    return any(line.strip() and not line.lstrip().startswith("#") for line in lines)


def _commands(
    uv: list[str], place: Path, dependencies: list[str], settings: PackageSettings
) -> list[tuple[str, list[str]]]:
    """What to run: first the environment, then what goes into it."""
    python = str(place / "bin" / "python")
    site = ["--system-site-packages"] if settings.site_packages else []
    if uv:
        # Relocatable: it is made in one place and used in another.
        make = [*uv, "venv", "--quiet", "--no-project", "--relocatable", *site]
        make += ["--no-python-downloads", "--python", sys.executable, str(place)]
        fill = [*uv, "pip", "install", "--quiet", "--no-config", "--python", python]
    else:
        make = [sys.executable, "-m", "venv", *site, str(place)]
        fill = [python, "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    return [
        ("making the package's environment", make),
        ("installing the package's dependencies", [*fill, *dependencies]),
    ]


def installer_environment() -> dict[str, str]:
    """Ours without its secrets, but with what tells installers where packages come from."""
    more = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(_INSTALLER_VARIABLES) or name.lower() in _NETWORK_VARIABLES
    }
    return clean_environment(more)
