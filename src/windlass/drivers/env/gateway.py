"""The way from a holder's DevTools client to the browser, for as long as the lease lasts."""

import asyncio
from collections.abc import Coroutine

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import WebSocketException

from windlass.drivers.env.cdp import open_socket
from windlass.drivers.env.screening import Screen
from windlass.ports.env import MessageSocket, SocketEnded


async def pipe(client: MessageSocket, url: str, screen: Screen, revoked: asyncio.Event) -> str:
    """Carry messages both ways until a side ends or the lease is revoked; returns which it was:
    `client`, `browser` or `revoked`."""
    browser = await open_socket(url)
    try:
        return await _first(
            revoked=revoked.wait(),
            client=_from_client(client, browser, screen),
            browser=_from_browser(client, browser),
        )
    finally:
        await browser.close()


async def _from_client(client: MessageSocket, browser: ClientConnection, screen: Screen) -> None:
    try:
        while True:
            screened = screen.screen(await client.recv())
            if screened.forward:
                await browser.send(screened.forward)
            else:
                await client.send(screened.answer)
    except (SocketEnded, WebSocketException):
        return


async def _from_browser(client: MessageSocket, browser: ClientConnection) -> None:
    try:
        async for message in browser:
            await client.send(message if isinstance(message, str) else message.decode())
    except (SocketEnded, WebSocketException):
        return


async def _first(**sides: Coroutine[object, object, object]) -> str:
    """The name of whichever ends first; the others are stopped."""
    tasks = {asyncio.create_task(side, name=name): name for name, side in sides.items()}
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in ended:
        task.result()
    return next(name for task, name in tasks.items() if task in ended)
