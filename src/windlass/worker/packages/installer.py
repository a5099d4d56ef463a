"""Installs and removes versions: blocking, one step after the other, all or nothing.

    fetch → digest → inspect → signature → hooks allowed? → extract → environment → resources
          → install hooks → load every handler → rename into place

Everything up to the rename happens in a folder of its own below the root, which goes whatever
happens. So a version is in place and whole, or it is not there; other versions are never touched.
"""

import contextlib
import logging
import os
import shutil
import tempfile
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import msgspec

from windlass.model.errors import DefinitionError
from windlass.protocol.packages.archive import Contents, inspect
from windlass.protocol.packages.digest import plain
from windlass.protocol.packages.errors import (
    CONFLICT,
    FAILED,
    INVALID,
    PackageError,
    invalid,
)
from windlass.protocol.packages.manifest import Manifest
from windlass.protocol.packages.names import ENVIRONMENT, is_package_name
from windlass.protocol.packages.signature import Verdict, verify
from windlass.protocol.packages.versions import is_version
from windlass.worker.adapters.process import command_of
from windlass.worker.adapters.settings import clean_environment
from windlass.worker.packages.commands import run
from windlass.worker.packages.download import fetch, without_secrets
from windlass.worker.packages.environment import check_python, make_environment
from windlass.worker.packages.files import (
    check_resources,
    extract,
    sync_folder,
    sync_tree,
)
from windlass.worker.packages.hooks import check_hooks, run_hooks
from windlass.worker.packages.installed import (
    Installed,
    Receipt,
    read_installed,
    write_receipt,
)
from windlass.worker.packages.rootlock import RootLock
from windlass.worker.packages.settings import PackageSettings

log = logging.getLogger(__name__)

WORKSHOP = ".tmp"


class Loaded(msgspec.Struct, frozen=True):
    """What a host says after loading every handler."""

    problems: list[dict[str, str]]


class Installer:
    """Changes one root. Threads may use it at the same time, for different versions."""

    def __init__(self, settings: PackageSettings) -> None:
        self._settings = settings
        self._root = settings.root.resolve()
        self._root.mkdir(parents=True, exist_ok=True)
        self._lock = RootLock(self._root)

    @property
    def root(self) -> Path:
        return self._root

    def tidy(self) -> None:
        """Remove what an interrupted worker left, unless another is at work here."""
        try:
            with self._lock.held(0):
                _remove(self._root / WORKSHOP)
        except PackageError as error:
            log.info("not tidying up: %s", error)

    def install(
        self, name: str, version: str, source: str, sha256: str, stop: threading.Event
    ) -> Installed:
        """Put a version in place, or leave everything as it was and raise PackageError."""
        target = self.folder_of(name, version)
        with self._lock.held(self._settings.lock_s):
            workshop = self._root / WORKSHOP
            workshop.mkdir(exist_ok=True)
            bench = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=workshop))
            try:
                return self._install(bench, target, source, sha256, stop)
            except DefinitionError as error:
                raise PackageError(INVALID, f"the manifest is not right: {error}") from error
            except OSError as error:
                raise PackageError(FAILED, f"{name}@{version}: {error}") from error
            finally:
                _remove(bench)

    def uninstall(self, installed: Installed, stop: threading.Event) -> None:
        """Take a version away, after its hooks had their say."""
        with self._lock.held(self._settings.lock_s):
            try:
                hooks = installed.manifest.hooks.uninstall
                run_hooks(hooks, installed.manifest, installed.folder, self._settings, stop)
            except PackageError as error:
                # A package that cannot say goodbye must not become one that cannot be removed.
                log.warning("removing %s@%s without its hooks: %s", *installed.key, error)
            try:
                self._take_away(installed.folder)
            except OSError as error:
                raise PackageError(FAILED, f"{'@'.join(installed.key)}: {error}") from error
            self._drop_empty(installed.folder.parent)

    def folder_of(self, name: str, version: str) -> Path:
        if not is_package_name(name):
            raise invalid(f'"{name[:80]}" is no name of a package')
        if not is_version(version):
            raise invalid(f'"{version[:80]}" is no version')
        return self._root / name / version

    def _install(
        self, bench: Path, target: Path, source: str, sha256: str, stop: threading.Event
    ) -> Installed:
        archive = bench / "package.cwx"
        folder = bench / "package"
        settings = self._settings
        found = fetch(source, archive, settings, sha256=sha256, stop=stop)
        present = _present(target, found)
        if present is not None:
            return present
        with archive.open("rb") as file:
            contents, verdict = self._admit(file, target)
            folder.mkdir()
            extract(file, contents, folder, settings.limits)
        manifest = contents.manifest
        self._download_resources(manifest, folder, stop)
        make_environment(manifest, folder, settings, stop)
        run_hooks(manifest.hooks.install, manifest, folder, settings, stop)
        check_resources(manifest, folder)
        receipt = Receipt(
            name=manifest.name,
            version=manifest.version,
            sha256=found,
            digest=contents.digest,
            signature=verdict.status,
            signed_by=verdict.signed_by,
            installed_at=datetime.now(UTC).isoformat(timespec="seconds"),
            source=without_secrets(source),
        )
        write_receipt(folder, receipt)
        self._load(read_installed(folder), stop)
        self._put(folder, target)
        return read_installed(target)

    def _admit(self, file: BinaryIO, target: Path) -> tuple[Contents, Verdict]:
        """Everything that can be refused before a file of the package is on disk."""
        name, version = target.parent.name, target.name
        contents = inspect(file, self._settings.limits, name=name, version=version)
        verdict = verify(contents, self._settings.trust)
        verdict.check()
        check_python(contents.manifest)
        check_hooks(contents.manifest, self._settings)
        return contents, verdict

    def _download_resources(self, manifest: Manifest, folder: Path, stop: threading.Event) -> None:
        for resource in manifest.resources:
            if resource.url and not (folder / resource.path).exists():
                path = folder / resource.path
                path.parent.mkdir(parents=True, exist_ok=True)
                most = self._settings.limits.file_bytes
                digest = resource.digest
                fetch(resource.url, path, self._settings, sha256=digest, bytes_max=most, stop=stop)

    def _load(self, installed: Installed, stop: threading.Event) -> None:
        """Load every handler under the interpreter that will run it."""
        runnable = installed.runnable(site=self._settings.site_packages)
        entries = msgspec.to_builtins(installed.manifest.entries())
        request = {"folder": str(installed.folder), "entries": entries}
        answer = run(
            [*command_of(runnable), "--check"],
            what="loading the package's handlers",
            timeout_s=self._settings.load_s,
            cwd=installed.folder,
            env=clean_environment(),
            stop=stop,
            given=msgspec.json.encode(request),
        )
        loaded = msgspec.json.decode(answer, type=Loaded)
        if loaded.problems:
            told = "; ".join(f"{p['type']}: {p['reason']}" for p in loaded.problems)
            raise invalid(f"handlers cannot be loaded: {told}\n{loaded.problems[0]['trace']}")

    def _put(self, folder: Path, target: Path) -> None:
        """One rename makes the version visible; the syncs make it last."""
        if (folder / ENVIRONMENT).exists():
            os.sync()  # installers do not sync what they write, and there is a lot of it
        sync_tree(folder)
        target.parent.mkdir(exist_ok=True)
        if target.exists():
            self._take_away(target)  # a ruin: whole versions were found before
        try:
            folder.rename(target)
        except OSError:
            self._drop_empty(target.parent)
            raise
        sync_folder(target.parent)
        sync_folder(self._root)

    def _take_away(self, folder: Path) -> None:
        """Gone from sight at once, gone from disk a little later."""
        workshop = self._root / WORKSHOP
        workshop.mkdir(exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix="removed-", dir=workshop))
        if folder.exists():
            folder.rename(aside / "package")
            sync_folder(folder.parent)
        _remove(aside)

    def _drop_empty(self, folder: Path) -> None:
        with contextlib.suppress(OSError):  # other versions are in it
            folder.rmdir()


def _present(target: Path, sha256: str) -> Installed | None:
    """The same version from an earlier installation; other content under its number is refused."""
    try:
        found = read_installed(target)
    except (OSError, msgspec.MsgspecError, DefinitionError):
        return None
    if found.receipt.sha256 == plain(sha256):
        return found
    name = f"{target.parent.name}@{target.name}"
    hint = "give the new one another version, or uninstall this one first"
    raise PackageError(CONFLICT, f"{name} is installed with other content; {hint}")


def _remove(folder: Path) -> None:
    def make_writable(function: object, path: str, _info: object) -> None:
        Path(path).parent.chmod(0o700)
        assert callable(function)
        function(path)

    if folder.exists():
        shutil.rmtree(folder, onerror=make_writable)
