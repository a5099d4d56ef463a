"""The host process: opens its package, runs calls until its worker is gone, then ends for sure."""

import argparse
import asyncio
import json
import os
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

from windlass.worker.adapters.host import capture, shims
from windlass.worker.adapters.host.ask import Ask
from windlass.worker.adapters.host.calls import Calls
from windlass.worker.adapters.host.link import Link
from windlass.worker.adapters.host.loading import Loader
from windlass.worker.adapters.host.registry import Objects
from windlass.worker.adapters.host.text import encoded, message_of, trace_of

GRACE_S = 8.0
"""How long a host whose worker is gone may take to close what it holds."""


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--link", type=int)
    parser.add_argument("--ask", type=int)
    parser.add_argument("--life", type=int)
    options = parser.parse_args(arguments)
    shims.install()
    if options.check:
        check(json.load(sys.stdin))
        return
    for number in (options.link, options.ask, options.life):
        os.set_inheritable(number, False)  # what a package starts must not hold us open
    threading.Thread(target=outlive, args=(options.life,), daemon=True).start()
    capture.install()
    link = socket.socket(fileno=options.link)
    ask = Ask(socket.socket(fileno=options.ask))
    asyncio.run(serve(link, ask))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # threads stuck in a handler must not keep us


def outlive(life: int) -> None:
    """Wait until the worker is gone, and make sure that this process follows it."""
    os.read(life, 1)
    time.sleep(GRACE_S)
    os._exit(1)


async def serve(sock: socket.socket, ask: Ask) -> None:
    """Run calls until the link is closed."""
    closed = asyncio.Event()
    objects = Objects()
    calls: list[Calls] = []

    def receive(message: dict[str, Any]) -> None:
        match message["t"]:
            case "call":
                calls[0].start(message)
            case "cancel":
                calls[0].cancel(message["id"])
            case "answer":
                calls[0].answered(message)
            case "evict":
                objects.drop(message["id"])
            case "open":
                calls.append(Calls(message, link, ask, objects))
                link.post({"t": "ready"})
            case _:
                pass  # from a newer worker

    loop = asyncio.get_running_loop()
    link = Link(receive, closed.set)
    await loop.create_unix_connection(lambda: link, sock=sock)
    await closed.wait()
    if calls:
        await calls[0].close()
    await objects.close()


def check(request: dict[str, Any]) -> None:
    """Load every entry and print what went wrong, for an installation to decide."""
    real, sys.stdout = sys.stdout, sys.stderr  # what the package prints is no answer
    loader = Loader(Path(request["folder"]), request["entries"])
    problems: list[dict[str, str]] = []
    for entry in request["entries"]:
        try:
            asyncio.run(_load(loader, entry["type"]))
        except (Exception, SystemExit) as error:  # noqa: BLE001  theirs, and told
            trace = trace_of(error)
            problems.append({"type": entry["type"], "reason": message_of(error), "trace": trace})
    real.write(encoded({"problems": problems}).decode() + "\n")
    real.flush()
    os._exit(0)  # a package may have started threads


async def _load(loader: Loader, node_type: str) -> None:
    loader.handler(node_type)
