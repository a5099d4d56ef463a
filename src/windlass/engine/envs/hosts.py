"""Who has runtimes: this process itself, or hosts that are connected to it."""

from collections.abc import Callable, Iterator, Mapping

from windlass.model.env_advice import nothing_makes
from windlass.model.envs import IMAGES, host_address, kind_address
from windlass.model.errors import Unavailable
from windlass.model.reasons import Reason, ReasonCode, ReasonValues
from windlass.ports.env import EnvBackend, ImageBackend

Backends = Mapping[str, EnvBackend]


class Hosts:
    """Runtimes that can be reached from here, by host and kind."""

    def __init__(self) -> None:
        self._hosts: dict[str, Backends] = {}
        self._images: dict[str, ImageBackend] = {}
        self._connections: dict[str, list[tuple[Backends, ImageBackend | None]]] = {}
        """A host may be connected more than once, as by two names of one server; the last counts,
        and when it ends the one before."""
        self._turn = 0
        self.on_new: list[Callable[[], None]] = []
        """Told when there is a host more."""

    def add(self, name: str, backends: Backends, images: ImageBackend | None = None) -> None:
        self._connections.setdefault(name, []).append((backends, images))
        self._use_last(name)
        for tell in self.on_new:
            tell()

    def drop(self, name: str, backends: Backends) -> None:
        """A connection of a host is gone, and so is the host if it has no other."""
        before = self._connections.get(name, [])
        self._connections[name] = [one for one in before if one[0] is not backends]
        self._use_last(name)

    def _use_last(self, name: str) -> None:
        self._hosts.pop(name, None)
        self._images.pop(name, None)
        if not self._connections[name]:
            del self._connections[name]
            return
        self._hosts[name], images = self._connections[name][-1]
        if images is not None:
            self._images[name] = images

    def addresses(self) -> list[str]:
        """For whom effects can be done here."""
        found = {kind_address(kind) for some in self._hosts.values() for kind in some}
        found |= {kind_address(IMAGES) for _ in self._images}
        return sorted(found) + [host_address(name) for name in sorted(self._hosts)]

    def all(self) -> Iterator[tuple[str, EnvBackend]]:
        for name, backends in list(self._hosts.items()):
            for backend in backends.values():
                yield name, backend

    def pick(self, kind: str) -> tuple[str, EnvBackend] | None:
        """A host that can make a place of a kind; each in turn."""
        able = sorted(name for name, backends in self._hosts.items() if kind in backends)
        if not able:
            return None
        self._turn += 1
        name = able[self._turn % len(able)]
        return name, self._hosts[name][kind]

    def images(self) -> tuple[str, ImageBackend] | None:
        """Who can pull and build images, if anybody can."""
        return next(iter(sorted(self._images.items(), key=lambda item: item[0])), None)

    def get(self, host: str, kind: str) -> EnvBackend:
        backend = self._hosts.get(host, {}).get(kind)
        if backend is None:
            text = f'the environment\'s host "{host}" is not connected to this server just now'
            raise Unavailable(text)
        return backend

    def kinds(self) -> set[str]:
        return {kind for backends in self._hosts.values() for kind in backends}

    def lacks(self, kind: str) -> Reason | None:
        """Why there are no places of a kind; None if there are."""
        if kind in self.kinds():
            return None
        return Reason(ReasonCode.ENV_NO_RUNTIME, ReasonValues(kind=kind))

    def missing(self, kind: str) -> str:
        """The same in English, for whoever is refused; empty if there are places."""
        return "" if self.lacks(kind) is None else nothing_makes(kind)
