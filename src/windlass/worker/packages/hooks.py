"""Scripts of a package that run when it is installed or removed, if the operator allows them."""

import threading
from pathlib import Path

from windlass.protocol.packages.errors import PERMISSION, PackageError, invalid
from windlass.protocol.packages.manifest import Manifest
from windlass.worker.adapters.settings import clean_environment
from windlass.worker.packages.commands import run
from windlass.worker.packages.environment import interpreter_of
from windlass.worker.packages.settings import PackageSettings

ANY = "*"


def check_hooks(manifest: Manifest, settings: PackageSettings) -> None:
    """Refuse a package whose hooks are not allowed, before anything of it is written."""
    if ANY in settings.hooks:
        return
    wanted = [*manifest.hooks.install, *manifest.hooks.uninstall]
    refused = [path for path in wanted if path not in settings.hooks]
    if refused:
        name = f"{manifest.name}@{manifest.version}"
        hint = "the worker's operator can allow them"
        raise PackageError(PERMISSION, f"{name} wants to run {', '.join(refused)}; {hint}")


def run_hooks(
    paths: tuple[str, ...],
    manifest: Manifest,
    folder: Path,
    settings: PackageSettings,
    stop: threading.Event,
) -> None:
    """Run hooks in their order; the first that fails ends it."""
    for path in paths:
        if ANY not in settings.hooks and path not in settings.hooks:
            raise PackageError(PERMISSION, f"the hook {path} is not allowed on this worker")
        script = folder / path
        if not script.is_file():
            raise invalid(f"the hook {path} is not in the package")
        environment = {
            "WINDLASS_PACKAGE": manifest.name,
            "WINDLASS_PACKAGE_VERSION": manifest.version,
            "WINDLASS_PACKAGE_DIR": str(folder),
        }
        run(
            [*_interpreter(script, folder), str(script)],
            what=f"the hook {path}",
            timeout_s=settings.hook_s,
            cwd=folder,
            env=clean_environment(environment),
            stop=stop,
        )


def _interpreter(script: Path, folder: Path) -> list[str]:
    """Scripts run by what their name says; the archive does not carry who may execute what."""
    if script.suffix == ".py":
        return [str(interpreter_of(folder)), "-I"]
    return ["/bin/sh"]
