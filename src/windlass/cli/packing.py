"""Makes an archive of a package's folder, after saying everything that is wrong with it."""

from collections.abc import Iterator
from pathlib import Path

from windlass.model.errors import BadRequest, DefinitionError, Problem
from windlass.protocol.packages.archive import build
from windlass.protocol.packages.checks import examine
from windlass.protocol.packages.digest import is_digest, sha256
from windlass.protocol.packages.manifest import Manifest
from windlass.protocol.packages.names import MANIFEST, SIGNATURE

LEFT_OUT = ("__pycache__", "node_modules")
LEFT_OUT_SUFFIXES = (".pyc", ".cwx")


def pack(folder: Path) -> tuple[Manifest, bytes]:
    """The package in a folder as an archive; DefinitionError with all problems if it has any."""
    if not (folder / MANIFEST).is_file():
        hint = "write one, or begin with `windlass pkg new NAME`"
        raise BadRequest(f"{folder} has no {MANIFEST}; {hint}")
    problems: list[Problem] = []
    files = dict(_files(folder, problems))
    manifest, found = examine(files[MANIFEST])
    problems = [*found, *problems]
    if manifest is not None:
        problems += _missing(manifest, files)
    if manifest is None or problems:
        raise DefinitionError(problems)
    return manifest, build(files.items())


def _files(folder: Path, problems: list[Problem]) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        below = path.relative_to(folder)
        if any(part in LEFT_OUT or part.startswith(".") for part in below.parts):
            continue
        if path.is_symlink():
            problems.append(Problem(str(below), "this is a link", "put the file itself here"))
        elif below.as_posix() == SIGNATURE:
            continue  # it would be that of an earlier build
        elif path.is_file() and not path.name.endswith(LEFT_OUT_SUFFIXES):
            yield below.as_posix(), path.read_bytes()


def _missing(manifest: Manifest, files: dict[str, bytes]) -> Iterator[Problem]:
    """What the manifest names and the folder does not have."""
    for kind, paths in (
        ("install", manifest.hooks.install),
        ("uninstall", manifest.hooks.uninstall),
    ):
        for index, path in enumerate(paths):
            if path not in files:
                yield Problem(f"hooks.{kind}[{index}]", f'there is no file "{path}"')
    for index, resource in enumerate(manifest.resources):
        where = f"resources[{index}]"
        if resource.type == "file" and not _is_there(resource.path, files):
            yield Problem(f"{where}.path", f'there is no file "{resource.path}"')
        elif resource.path in files and is_digest(resource.sha256):
            found = sha256(files[resource.path])
            if found != resource.digest:
                yield Problem(f"{where}.sha256", f"the file has {found}", "put that in")
    if manifest.python.dependencies or "requirements.txt" in files:
        return  # a module may come from there
    for index, adapter in enumerate(manifest.adapters):
        module = adapter.entrypoint.partition(":")[0].replace(".", "/")
        places = [f"{top}{module}" for top in ("", "adapters/")]
        names = [f"{place}{end}" for place in places for end in (".py", "/__init__.py")]
        if not any(name in files for name in names):
            hint = f"write {names[2]}, or name the dependency that brings it"
            yield Problem(f"adapters[{index}].entrypoint", "there is no such module", hint)


def _is_there(path: str, files: dict[str, bytes]) -> bool:
    return path in files or any(name.startswith(f"{path}/") for name in files)
