"""Networks of their own for processes, with nothing in them but themselves.

A network belongs to a thread, and what a thread starts or opens is in the thread's network. So each
thing is done in a thread that moves there first and ends afterwards. It takes root.
"""

import ctypes
import fcntl
import os
import socket
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
_NEW_NETWORK = 0x40000000
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1
_CONNECT_S = 5.0


def apart(work: Callable[[], T]) -> T:
    """Do something in a new network where only its own loopback answers; `OSError` if it may not
    be made."""

    def moved() -> T:
        _check(_libc().unshare(_NEW_NETWORK))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            asked = struct.pack("16sH14s", b"lo", 0, b"")
            flags = struct.unpack("16sH14s", fcntl.ioctl(any_socket, _GET_FLAGS, asked))[1]
            fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sH14s", b"lo", flags | _UP, b""))
        return work()

    return _in_a_thread(moved)


def is_apart(pid: int) -> bool:
    """Whether a process is in another network than we are."""
    try:
        theirs, ours = (Path(f"/proc/{who}/ns/net").stat() for who in (pid, "self"))
    except OSError:
        return False
    return theirs.st_ino != ours.st_ino


def connected(pid: int, port: int) -> socket.socket:
    """A connection to a port of a process's own loopback."""

    def moved() -> socket.socket:
        network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
        try:
            _check(_libc().setns(network, _NEW_NETWORK))
        finally:
            os.close(network)
        return socket.create_connection(("127.0.0.1", port), timeout=_CONNECT_S)

    return _in_a_thread(moved)


def _in_a_thread(work: Callable[[], T]) -> T:
    found: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:  # noqa: BLE001  raised where it is waited for
            failed.append(error)

    thread = threading.Thread(target=run, name="network")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return found[0]


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
