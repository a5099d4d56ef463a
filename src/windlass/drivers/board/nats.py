"""NATS as a copy of the blackboard: a key-value bucket that keeps the newest of each key.

NATS numbers writes itself, and does not know our revisions: ours stands in front of the value, and
a write goes through only where what was looked at is still there.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from nats.errors import Error, MaxPayloadError
from nats.js.api import KeyValueConfig, StorageType
from nats.js.errors import (
    BucketNotFoundError,
    KeyDeletedError,
    KeyNotFoundError,
    NoKeysError,
    NotFoundError,
)
from nats.js.errors import KeyWrongLastSequenceError as Overtaken
from nats.js.kv import KeyValue

from windlass.client.nats import NatsConnection
from windlass.model.errors import Unavailable
from windlass.ports.board import BoardCopy
from windlass.ports.bus import Unpublishable

_TRIES = 20
_NOT_PLAIN = re.compile(r"[^-_./a-zA-Z0-9]")
_SPELT = re.compile(r"=([0-9A-F]{2})")
_GONE = b"-"


class NatsBoard:
    """The bucket `PREFIX_BLACKBOARD`, connected to when it is first needed."""

    def __init__(self, urls: Sequence[str], prefix: str) -> None:
        self._nats = NatsConnection(urls)
        self._name = f"{prefix.replace('.', '_').upper()}_BLACKBOARD"

    async def put(self, entries: Sequence[BoardCopy]) -> None:
        bucket = await self._bucket()
        for entry in entries:
            try:
                await self._put(bucket, entry)
            except MaxPayloadError as error:
                size = len(entry.body)
                raise Unpublishable(f"{size:,} bytes are more than NATS takes at once") from error
            except (Error, OSError, TimeoutError) as error:
                raise Unavailable(f"NATS keeps nothing: {error!r}") from error

    async def _put(self, bucket: KeyValue, entry: BoardCopy) -> None:
        name = spelt(entry.key)
        for _ in range(_TRIES):
            known, number = await _read(bucket, name)
            if known is not None and known.revision >= entry.revision:
                return
            try:
                await bucket.update(name, written(entry), last=number)
                return
            except Overtaken:
                continue
        raise Unavailable(f'"{entry.key}" changes too often')

    async def get(self, key: str) -> BoardCopy | None:
        try:
            found, _ = await _read(await self._bucket(), spelt(key))
        except (Error, OSError, TimeoutError) as error:
            raise Unavailable(f"NATS says nothing: {error!r}") from error
        return None if found is None or found.deleted else found._replace(key=key)

    async def list(self, prefix: str) -> Mapping[str, int]:
        bucket = await self._bucket()
        try:
            names: list[str] = await bucket.keys()  # pyright: ignore[reportUnknownMemberType]
        except NoKeysError:
            return {}
        except (Error, OSError, TimeoutError) as error:
            raise Unavailable(f"NATS says nothing: {error!r}") from error
        found: dict[str, int] = {}
        for key in sorted(map(read, names)):
            if key.startswith(prefix) and (entry := await self.get(key)) is not None:
                found[key] = entry.revision
        return found

    async def close(self) -> None:
        await self._nats.close()

    async def _bucket(self) -> KeyValue:
        stream = await self._nats.jetstream()
        try:
            return await stream.key_value(self._name)
        except (BucketNotFoundError, NotFoundError):
            config = KeyValueConfig(bucket=self._name, history=1, storage=StorageType.FILE)
            return await stream.create_key_value(config)  # pyright: ignore[reportUnknownMemberType]
        except (Error, OSError, TimeoutError) as error:
            raise Unavailable(f"NATS is away: {error!r}") from error


async def _read(bucket: KeyValue, name: str) -> tuple[BoardCopy | None, int]:
    """What stands under a name, and NATS's own number of it."""
    try:
        found = await bucket.get(name)
    except KeyDeletedError as gone:
        # By somebody else: we write that a key is gone.
        entry: Any = getattr(gone, "entry")  # noqa: B009  its type is half unknown
        return None, int(entry.revision or 0)
    except KeyNotFoundError:
        return None, 0
    number, _, body = (found.value or b"").partition(b"\n")
    gone_too = body == _GONE
    return BoardCopy(name, int(number), b"" if gone_too else body, gone_too), found.revision or 0


def written(entry: BoardCopy) -> bytes:
    return b"%d\n%s" % (entry.revision, _GONE if entry.deleted else entry.body)


def spelt(key: str) -> str:
    """A key in the few signs that NATS takes: others as `=7E`."""
    return _NOT_PLAIN.sub(lambda sign: "".join(f"={byte:02X}" for byte in sign[0].encode()), key)


def read(name: str) -> str:
    """A key as it was before it was spelt."""
    plain = _SPELT.sub(lambda sign: f"%{sign[1]}", name.replace("%", "%25"))
    return unquote(plain)
