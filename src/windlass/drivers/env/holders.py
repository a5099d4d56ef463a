"""Who holds each place, as far as a driver must know: the latest epoch seen, over restarts.

One small file a place, in a folder that the driver was given. Processes that share the folder take
turns, and a new epoch is on disk before anything is done for its holder.
"""

import contextlib
import fcntl
import os
from collections.abc import Generator
from pathlib import Path

import msgspec

from windlass.drivers.env.names import checked_name
from windlass.ports.env import StalePlace


class Holder(msgspec.Struct, frozen=True):
    epoch: int = 0
    """The latest seen."""
    ran: int = 0
    """The earliest that ran something since the place was last started or stilled; 0 if none."""


class Holders:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def admit(self, name: str, epoch: int, *, runs: bool = False) -> Holder:
        """Let a holder in, or refuse one that another has followed; returns what was so before."""
        with self._turn():
            before = self._read(name)
            if epoch < before.epoch:
                seen = f"epoch {before.epoch} has been seen, this is {epoch}"
                raise StalePlace(f"{name} has another holder: {seen}")
            ran = (before.ran or epoch) if runs else before.ran
            if (after := Holder(epoch, ran)) != before:
                self._write(name, after)
            return before

    def still(self, name: str) -> None:
        """Nothing of any holder runs there now."""
        with self._turn():
            self._write(name, Holder(self._read(name).epoch))

    def latest(self, name: str) -> int:
        return self._read(name).epoch

    def forget(self, name: str) -> None:
        self._file(name).unlink(missing_ok=True)

    def names(self) -> list[str]:
        return sorted(path.stem for path in self._folder.glob("*.holder"))

    def _file(self, name: str) -> Path:
        return self._folder / f"{checked_name(name)}.holder"

    def _read(self, name: str) -> Holder:
        try:
            return msgspec.json.decode(self._file(name).read_bytes(), type=Holder)
        except FileNotFoundError:
            return Holder()

    def _write(self, name: str, holder: Holder) -> None:
        scratch = self._folder / f"{checked_name(name)}.new"
        with scratch.open("wb") as file:
            file.write(msgspec.json.encode(holder))
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(self._file(name))

    @contextlib.contextmanager
    def _turn(self) -> Generator[None]:
        with (self._folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
