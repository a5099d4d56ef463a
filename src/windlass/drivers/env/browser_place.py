"""One browser session on disk: what it is to be, its profile, its workspace and its snapshots."""

import secrets
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from windlass.drivers.env import browser_config
from windlass.drivers.env.browser_memory import MIB, used_bytes
from windlass.drivers.env.browser_process import BrowserProcess
from windlass.drivers.env.browser_state import BrowserState
from windlass.drivers.env.folders import WorkspaceFolder
from windlass.drivers.env.names import checked_label, checked_name
from windlass.ports.env import PlaceGone, PlaceSpec

_REMOVALS = 100
_PAUSE_S = 0.02


class BrowserPlace:
    """Everything here blocks, and is called in a thread."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = checked_name(name)
        self.folder = folder / name
        self.process = BrowserProcess(self.folder)
        self.files = self.folder / "files"
        self.workspace = WorkspaceFolder(self.files)
        self._snapshots = self.folder / "snapshots"
        self._newest = self.folder / "newest"
        self._ended = self.folder / "ended"

    def state(self) -> str:
        if not self.process.profile.is_dir():
            return "gone"
        return "running" if self.process.pid() else "stopped"

    def endpoint(self) -> str:
        """Where it answers, or `PlaceGone`."""
        found = self.process.endpoint()
        if not found:
            raise PlaceGone(self.what_became())
        return found

    def what_became(self) -> str:
        """For whoever does not find it running."""
        why = self.why_ended()
        return f"the browser {self.name} is {self.state()}{f': {why}' if why else ''}"

    def why_ended(self) -> str:
        """Why we have ended it; empty if we have not."""
        try:
            return self._ended.read_text()
        except FileNotFoundError:
            return ""

    def end_if_large(self, sessions: Mapping[int, list[int]]) -> bool:
        """End it if it uses more memory than it may, with its parts."""
        pid, spec = self.process.pid(), self.spec()
        if not pid or spec is None:
            return False
        most = browser_config.memory_bytes_max(spec.config)
        used = used_bytes(sessions.get(pid, ()), most)
        if used <= most:
            return False
        text = f"it used {used // MIB:,} MiB of memory and may use {most // MIB:,};"
        with self.process.turn():
            # Before its end, so that whoever sees that finds out why.
            self._ended.write_text(f'{text} "memory_mb" of its resource says how much')
            self.process.end()
        return True

    def spec(self) -> PlaceSpec | None:
        try:
            return msgspec.json.decode((self.folder / "spec").read_bytes(), type=PlaceSpec)
        except FileNotFoundError:
            return None

    def start(self, program: str, spec: PlaceSpec) -> tuple[bool, BrowserState | None]:
        """Have it run; tells whether it had to be started, and what it was when last seen."""
        self._prepare(spec)
        with self.process.turn():
            known = self.process.profile.is_dir()
            if self.process.endpoint():
                return False, None
            self._start(program, spec)
        return True, self._kept(self._newest) if known else None

    def start_anew(self, program: str, spec: PlaceSpec, state: BrowserState) -> None:
        """Have it run with nothing of before but these files."""
        self._prepare(spec)
        with self.process.turn():
            self.process.end()
            for folder in (self.process.profile, self.files):
                _remove(folder)
            self.files.mkdir()
            for path, data in state.files.items():
                self.workspace.write(path, data)
            self._start(program, spec)

    def keep(self, label: str, state: BrowserState) -> int:
        """Keep a state under a label, and as the newest; returns its size."""
        self._keep(self._newest, state)
        return self._keep(self._file(label), state)

    def keep_newest(self, state: BrowserState) -> None:
        self._keep(self._newest, state)

    def kept(self, label: str) -> BrowserState | None:
        return self._kept(self._file(label))

    def _keep(self, file: Path, state: BrowserState) -> int:
        data = msgspec.msgpack.encode(state)
        try:
            # Only this folder: one that was released meanwhile must not come back.
            file.parent.mkdir(exist_ok=True)
            scratch = file.with_suffix(".new")
            scratch.write_bytes(data)
            scratch.replace(file)
        except FileNotFoundError as error:
            raise PlaceGone(f"there is no browser {self.name}") from error
        return len(data)

    def _kept(self, file: Path) -> BrowserState | None:
        try:
            return msgspec.msgpack.decode(file.read_bytes(), type=BrowserState)
        except FileNotFoundError:
            return None

    def remove(self) -> None:
        if self.folder.is_dir():
            with self.process.turn():
                self.process.end()
            _remove(self.folder)

    def _prepare(self, spec: PlaceSpec) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.files.mkdir(exist_ok=True)
        scratch = self.folder / f"spec.{secrets.token_hex(8)}"
        scratch.write_bytes(msgspec.json.encode(spec))
        scratch.replace(self.folder / "spec")

    def _start(self, program: str, spec: PlaceSpec) -> None:
        profile = self.process.profile
        if not profile.is_dir():
            (profile / "Default").mkdir(parents=True)
            downloads = {"default_directory": str(self.files), "prompt_for_download": False}
            wanted: dict[str, Any] = {"download": downloads}
            (profile / "Default" / "Preferences").write_bytes(msgspec.json.encode(wanted))
        command = browser_config.command(program, profile, spec.config)
        self._ended.unlink(missing_ok=True)
        env = browser_config.variables(self.folder, spec.config)
        self.process.start(command, env, apart=browser_config.is_apart(spec.config))

    def _file(self, label: str) -> Path:
        return self._snapshots / f"{checked_label(label)}.state"


def _remove(folder: Path) -> None:
    # Parts of a browser that was killed from outside end a moment after it, and may still write.
    for _ in range(_REMOVALS):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(_PAUSE_S)
    shutil.rmtree(folder)
