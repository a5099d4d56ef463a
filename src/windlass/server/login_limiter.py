"""How often somebody may sign in in vain before having to wait.

Tries count by user and address, by user alone, and by address alone. The first is strict: it is
how people mistype, and it holds up nobody but them. The other two leave more room: they are for
whoever has many addresses for one name, or many names at one address.
"""

import ipaddress
from collections import OrderedDict

from windlass.server.http import TooMany

_KEYS_MAX = 10_000
_KEY_CHARS_MAX = 300
_WIDER = 10
"""How many times the tries of one user at one address are taken of all addresses, or all users."""


class TryCounter:
    """Counts tries by key within a window; a success forgives them."""

    def __init__(self, most: int, window_s: float = 60.0) -> None:
        self._most = most
        self._window_ms = int(window_s * 1000)
        self._began: OrderedDict[str, tuple[int, int]] = OrderedDict()

    def take(self, key: str, now: int) -> None:
        """Count one more try, or `TooMany` with the time to wait."""
        key = key[:_KEY_CHARS_MAX]  # it holds what a stranger typed
        since, count = self._began.pop(key, (now, 0))
        if now - since >= self._window_ms:
            since, count = now, 0
        self._began[key] = (since, count + 1)
        while len(self._began) > _KEYS_MAX:
            self._began.popitem(last=False)
        if count >= self._most:
            wait_s = max(1.0, (since + self._window_ms - now) / 1000)
            raise TooMany(f"too many tries; wait {wait_s:.0f} s", wait_s)

    def give_back(self, key: str) -> None:
        """A try that was none after all."""
        key = key[:_KEY_CHARS_MAX]
        known = self._began.get(key)
        if known is not None:
            self._began[key] = (known[0], max(0, known[1] - 1))

    def forgive(self, key: str) -> None:
        self._began.pop(key[:_KEY_CHARS_MAX], None)


class LoginLimiter:
    """Slows down whoever guesses passwords."""

    def __init__(self, tries: int) -> None:
        self._by_both = TryCounter(tries)
        self._by_user = TryCounter(_WIDER * tries)
        self._by_address = TryCounter(_WIDER * tries)
        self._changes = TryCounter(tries)

    def take_login(self, user: str, address: str, now: int) -> None:
        """Count a try to sign in as a user, by the name the store knows it by."""
        network = network_of(address)
        self._by_address.take(network, now)
        self._by_both.take(f"{network} {user}", now)
        self._by_user.take(user, now)

    def signed_in(self, user: str, address: str) -> None:
        network = network_of(address)
        self._by_both.forgive(f"{network} {user}")
        self._by_user.give_back(user)
        self._by_address.give_back(network)

    def take_change(self, user_id: str, now: int) -> None:
        """Count a try to name the password one has, to get another."""
        self._changes.take(user_id, now)

    def changed(self, user_id: str) -> None:
        self._changes.forgive(user_id)


def network_of(address: str) -> str:
    """What one caller has of addresses: with IPv6 everybody has 2^64 of them."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.version == 4:
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, 64), strict=False))
