"""Files of a container, read and written through the runtime, whatever the image has inside."""

import base64
import posixpath

import msgspec

from windlass.drivers.env import tars
from windlass.drivers.env.docker import DockerApi, Refused, path_of
from windlass.ports.env import FILE_BYTES_MAX, NoSuchFile, PlaceError

_LINKS_MAX = 16
_USERS = "/etc/passwd"
_ALPHABETS = str.maketrans("-_", "+/")
_LINK = 1 << 27
_FOLDER = 1 << 31
"""How the runtime's language marks links and folders in a file's mode."""


class _Stat(msgspec.Struct):
    size: int
    mode: int
    link_target: str = msgspec.field(default="", name="linkTarget")


class ContainerFiles:
    def __init__(self, api: DockerApi) -> None:
        self._api = api

    async def read(self, name: str, path: str) -> bytes:
        """A file; links are followed inside the container."""
        asked = path
        for _ in range(_LINKS_MAX):
            stat = await self._stat(name, path)
            if stat is None:
                raise NoSuchFile(f'there is no file "{asked}" in {name}')
            if not stat.mode & _LINK:
                return await self._content(name, path, stat)
            path = posixpath.normpath(posixpath.join(posixpath.dirname(path), stat.link_target))
        raise PlaceError(f'"{asked}" leads from link to link in {name}')

    async def write(self, name: str, path: str, data: bytes, owner: tuple[int, int]) -> None:
        if len(data) > FILE_BYTES_MAX:
            raise PlaceError(
                f'"{path}" has {len(data)} bytes, at most {FILE_BYTES_MAX} are written'
            )
        folder, base = posixpath.split(path)
        # Folders that are there keep their owner and mode; an archive would change them.
        made: list[str] = []
        while folder != "/" and await self._stat(name, folder) is None:
            folder, last = posixpath.split(folder)
            made = [last, *(posixpath.join(last, deeper) for deeper in made)]
        inner = posixpath.join(made[-1], base) if made else base
        await self.put(name, folder, tars.archive_of(made, inner, data, owner))

    async def put(self, name: str, folder: str, archive: bytes) -> None:
        params = {"path": folder}
        await self._api.call(
            "PUT", path_of("containers", name, "archive"), params=params, content=archive
        )

    async def owner(self, name: str, user: str) -> tuple[int, int]:
        """The numbers of a container's user, looked up in its own table if it has a name."""
        first, _, group = user.partition(":")
        if first.isdigit():
            return int(first), int(group or first)
        table = (await self.read(name, _USERS)).decode(errors="replace")
        for line in table.splitlines():
            parts = line.split(":")
            if parts[0] == first and len(parts) > 3:
                return int(parts[2]), int(parts[3])
        raise PlaceError(f'config "user" is "{user}", which the image does not know')

    async def _stat(self, name: str, path: str) -> _Stat | None:
        try:
            answer = await self._api.call(
                "HEAD", path_of("containers", name, "archive"), params={"path": path}
            )
        except Refused as refused:
            if refused.status == 404:
                return None
            raise
        # Docker's alphabet has "+" and "/" where podman's has "-" and "_".
        stat = answer.headers["X-Docker-Container-Path-Stat"].translate(_ALPHABETS)
        told = base64.b64decode(stat)
        return msgspec.json.decode(told, type=_Stat)

    async def _content(self, name: str, path: str, stat: _Stat) -> bytes:
        if stat.mode & _FOLDER:
            raise PlaceError(f'"{path}" is a folder in {name}')
        if stat.size > FILE_BYTES_MAX:
            raise PlaceError(f'"{path}" has {stat.size} bytes, at most {FILE_BYTES_MAX} are read')
        answer = await self._api.call(
            "GET", path_of("containers", name, "archive"), params={"path": path}
        )
        found = tars.only_file(answer.content)
        if found is None:
            raise PlaceError(f'"{path}" is no file in {name}')
        return found
