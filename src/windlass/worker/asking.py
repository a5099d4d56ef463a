"""What a pull worker may ask for: never more, over all its requests, than it can begin at once.

A place that is asked for is taken until the request is answered. So a second request can ask for
places that became free after the first was sent, and a service with a bound of its own is never
handed more than it can begin.
"""

from collections.abc import Mapping

import msgspec

from windlass.worker.runtime import Runtime


class Ask(msgspec.Struct):
    """The places one request asks for: slots in all, and of bounded services at most so many."""

    number: int
    slots: int
    caps: dict[str, int]

    @property
    def more_of_a_bounded_service(self) -> bool:
        return self.slots > 0 and any(self.caps.values())


class Asking:
    """The requests that are under way. Belongs to one event loop."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._number = 0
        self._open: dict[int, Ask] = {}

    def ask(self) -> Ask:
        """Take every place that is free and that no other request asks for."""
        self._number += 1
        taken = sum(ask.slots for ask in self._open.values())
        ask = Ask(self._number, max(0, self._runtime.free - taken), {})
        for service, room in self._runtime.room.items():
            asked = sum(ask.caps.get(service, 0) for ask in self._open.values())
            ask.caps[service] = max(0, room - asked)
        self._open[ask.number] = ask
        return ask

    def none(self) -> Ask:
        return Ask(0, 0, {})

    def settle(self, ask: Ask) -> None:
        """The request was answered, or never will be."""
        self._open.pop(ask.number, None)

    def join(self, ask: Ask, number: int) -> bool:
        """What one request asked for is now asked for by another; false if that was answered."""
        self.settle(ask)
        other = self._open.get(number)
        if other is None:
            return False
        other.slots += ask.slots
        other.caps = added(other.caps, ask.caps)
        return True


def added(one: Mapping[str, int], two: Mapping[str, int]) -> dict[str, int]:
    return {service: one.get(service, 0) + two.get(service, 0) for service in {**one, **two}}
