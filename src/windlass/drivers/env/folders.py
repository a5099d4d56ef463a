"""A place's workspace as a folder of this machine: files by their path in it, and never outside."""

from pathlib import Path

from windlass.drivers.env.names import WORKSPACE, whole_path
from windlass.ports.env import FILE_BYTES_MAX, NoSuchFile, PlaceError

TOTAL_BYTES_MAX = 256 << 20
"""How much of a workspace a snapshot keeps."""


class WorkspaceFolder:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, path: str) -> bytes:
        file = self._file(path)
        if file.is_dir():
            raise PlaceError(f'"{path}" is a folder')
        if not file.is_file():
            raise NoSuchFile(f'there is no file "{path}"')
        if file.stat().st_size > FILE_BYTES_MAX:
            raise PlaceError(f'"{path}" is larger than {FILE_BYTES_MAX} bytes')
        return file.read_bytes()

    def write(self, path: str, data: bytes) -> None:
        if len(data) > FILE_BYTES_MAX:
            raise PlaceError(
                f'"{path}" has {len(data)} bytes, at most {FILE_BYTES_MAX} are written'
            )
        file = self._file(path)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        except OSError as error:
            raise PlaceError(f'"{path}" cannot be written: {error.strerror}') from error

    def all(self) -> dict[str, bytes]:
        """Every file by its path."""
        found: dict[str, bytes] = {}
        room = TOTAL_BYTES_MAX
        for file in sorted(self._folder.rglob("*")):
            if file.is_symlink() or not file.is_file():
                continue
            room -= file.stat().st_size
            if room < 0:
                raise PlaceError(f"the workspace is larger than {TOTAL_BYTES_MAX} bytes")
            found[file.relative_to(self._folder).as_posix()] = file.read_bytes()
        return found

    def _file(self, path: str) -> Path:
        whole = whole_path(path)
        if not whole.startswith(f"{WORKSPACE}/"):
            raise PlaceError(f'"{path}" is outside {WORKSPACE}, which is all there is')
        file = self._folder / whole.removeprefix(f"{WORKSPACE}/")
        if not file.resolve().is_relative_to(self._folder.resolve()):
            raise PlaceError(f'"{path}" leads outside {WORKSPACE}')
        return file
