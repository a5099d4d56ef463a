"""Places that are only pretended: for tests, the simulator, and whoever tries without a runtime.

A command is one of a few built in. Waiting is done on the loop alone, so that a loop with a
pretended clock decides how long it takes. `Interfere` is called around every step and may wait, or
raise: before the step for a runtime that refuses, after it for an answer that is lost.
"""

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

from windlass.drivers.env import fields
from windlass.drivers.env.contents import changes_of
from windlass.drivers.env.names import WORKSPACE, checked_label, checked_name, whole_path
from windlass.drivers.env.pretended import Files, Kept, PretendedPlaces, digest_of
from windlass.ports.env import (
    FILE_BYTES_MAX,
    OUTPUT_BYTES_MAX,
    PIECE_BYTES_MAX,
    Config,
    Executed,
    FileChanges,
    NoSuchFile,
    OnOutput,
    Place,
    PlaceError,
    PlaceGone,
    PlaceSpec,
    Snapshot,
    StalePlace,
)

Interfere = Callable[[Literal["before", "after"], str, str], Awaitable[None]]
"""Is told when, which method and which place."""

_DELAY_MAX_S = 3_600
_ENDED = 143
"""What a shell says of a command that was asked to end."""
_FIELDS: dict[str, fields.Check] = {
    "files": fields.table(fields.text("", lambda _: True), "a table of files: path to text"),
    "delays": fields.table(fields.number(0, _DELAY_MAX_S), "seconds by method"),
    "failures": fields.table(fields.text(), "reasons by method"),
}


def problems(config: Config) -> list[str]:
    """What is wrong with a pretended place's config."""
    return fields.problems(config, _FIELDS)


class NoopBackend:
    """Implements `EnvBackend`; under any kind's name, if a test wants it to stand for that."""

    def __init__(
        self,
        places: PretendedPlaces | None = None,
        *,
        kind: str = "noop",
        interfere: Interfere | None = None,
    ) -> None:
        self.kind = kind
        self.places = places or PretendedPlaces()
        self._interfere = interfere

    async def capabilities(self) -> dict[str, Any]:
        return {"runtime": "noop", "version": "1"}

    def check(self, config: Config) -> list[str]:
        if self.kind != "noop":
            return []  # it stands for another, whose config it does not know
        return problems(config)

    async def allocate(self, spec: PlaceSpec) -> Place:
        name = checked_name(spec.name)
        await self._step("before", "allocate", name, spec.config)
        with self.places.turn():
            kept = self.places.get(name)
            if kept is None or kept.state == "gone":
                kept = self._made(spec, kept)
            kept.state = "running"
            self.places.put(kept)
        await self._step("after", "allocate", name, {})
        return _place(kept)

    async def execute(
        self,
        name: str,
        epoch: int,
        command: Sequence[str],
        *,
        stdin: bytes = b"",
        workdir: str = "",
        env: Mapping[str, str] | None = None,
        timeout_s: float = 60.0,
        on_output: OnOutput | None = None,
    ) -> Executed:
        kept = await self._held("execute", name, epoch)
        if not command:
            raise PlaceError("there is no command")
        until = asyncio.get_running_loop().time() + timeout_s
        done = Executed(code=0)
        for words in _commands(command):
            left_s = max(0.0, until - asyncio.get_running_loop().time())
            ran = await self._run(kept, epoch, words, stdin, env or {}, left_s)
            await _pass_on(ran, on_output)
            done = _joined(done, ran)
        await self._step("after", "execute", name, {})
        return done

    async def read(self, name: str, epoch: int, path: str) -> bytes:
        kept = await self._held("read", name, epoch)
        found = kept.files.get(whole_path(path))
        if found is None:
            raise NoSuchFile(f'there is no file "{path}" in {name}')
        return found

    async def write(self, name: str, epoch: int, path: str, data: bytes) -> None:
        if len(data) > FILE_BYTES_MAX:
            raise PlaceError(
                f'"{path}" has {len(data)} bytes, at most {FILE_BYTES_MAX} are written'
            )
        await self._held("write", name, epoch)
        self._change(name, epoch, whole_path(path), data)
        await self._step("after", "write", name, {})

    async def snapshot(self, name: str, label: str) -> Snapshot:
        await self._step("before", "snapshot", name)
        with self.places.turn():
            kept = self.places.get(checked_name(name))
            if kept is None or kept.state == "gone":
                raise PlaceGone(f"there is no place {name}")
            kept.snapshots[checked_label(label)] = kept.files
            self.places.put(kept)
        await self._step("after", "snapshot", name, {})
        size = sum(map(len, kept.files.values()))
        return Snapshot(ref=f"{name}:{label}", digest=digest_of(kept.files), size_bytes=size)

    async def changes(self, name: str, since: str, label: str) -> FileChanges:
        await self._step("before", "changes", name)
        kept = self.places.get(checked_name(name))
        if kept is None or not {since, label} <= kept.snapshots.keys():
            raise PlaceGone(f'there are no snapshots "{since}" and "{label}" of {name}')
        before, after = (
            {path.lstrip("/"): data for path, data in kept.snapshots[one].items()}
            for one in (since, label)
        )
        return changes_of(before, after)

    async def restore(self, spec: PlaceSpec, snapshot: Snapshot) -> Place:
        name = checked_name(spec.name)
        await self._step("before", "restore", name, spec.config)
        whose, _, label = snapshot.ref.partition(":")
        with self.places.turn():
            source = self.places.get(checked_name(whose))
            if source is None or label not in source.snapshots:
                raise PlaceGone(f'there is no snapshot "{snapshot.ref}"')
            kept = self.places.get(name)
            if kept is None or kept.state == "gone":
                kept = self._made(spec, kept)
            kept.state, kept.files = "running", source.snapshots[label]
            self.places.put(kept)
        await self._step("after", "restore", name, {})
        return _place(kept)

    async def inspect(self, name: str) -> str:
        await self._step("before", "inspect", name)
        kept = self.places.get(checked_name(name))
        return "gone" if kept is None else kept.state

    async def still(self, name: str, epoch: int) -> None:
        await self._step("before", "still", name)
        with self.places.turn():
            kept = self.places.get(checked_name(name))
            if kept is None or kept.state == "gone":
                raise PlaceGone(f"there is no place {name}")
            _admit(kept, epoch)
            self.places.put(kept)
        self._end(name, epoch)
        await self._step("after", "still", name, {})

    async def release(self, name: str) -> None:
        await self._step("before", "release", name)
        self.places.drop(checked_name(name))
        self._end(name, None)
        await self._step("after", "release", name, {})

    async def list(self) -> list[Place]:
        await self._step("before", "list", "")
        return [_place(kept) for name in self.places.names() if (kept := self.places.get(name))]

    async def close(self) -> None:
        return None

    async def _step(
        self,
        when: Literal["before", "after"],
        method: str,
        name: str,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        if config is None:
            kept = self.places.get(name) if name else None
            config = kept.config if kept else {}
        if delay_s := config.get("delays", {}).get(method):
            await asyncio.sleep(delay_s)
        if reason := config.get("failures", {}).get(method):
            raise PlaceError(reason)
        if self._interfere is not None:
            await self._interfere(when, method, name)

    def _made(self, spec: PlaceSpec, before: Kept | None) -> Kept:
        """A new place; what outlived the one before it is kept."""
        given: Mapping[str, str] = spec.config.get("files", {})
        files: Files = {whole_path(path): content.encode() for path, content in given.items()}
        kept = before or Kept(name=spec.name)
        kept.labels, kept.config, kept.files = dict(spec.labels), dict(spec.config), files
        return kept

    async def _held(self, method: str, name: str, epoch: int) -> Kept:
        """The place, for one of its holders; a later one than any before is remembered."""
        await self._step("before", method, checked_name(name))
        with self.places.turn():
            kept = self.places.get(name)
            if kept is None or kept.state == "gone":
                raise PlaceGone(f"there is no place {name}")
            if _admit(kept, epoch):
                self.places.put(kept)
        if kept.state != "running":
            raise PlaceGone(f"{name} is {kept.state}")
        return kept

    def _change(self, name: str, epoch: int, path: str, data: bytes | None) -> None:
        # Asked again: while the caller waited, another may have become the holder.
        with self.places.turn():
            kept = self.places.get(name)
            if kept is None or kept.state != "running":
                raise PlaceGone(f"there is no place {name}")
            _admit(kept, epoch)
            if data is None:
                kept.files.pop(path, None)
            else:
                kept.files[path] = data
            self.places.put(kept)

    async def _run(
        self,
        kept: Kept,
        epoch: int,
        command: Sequence[str],
        stdin: bytes,
        env: Mapping[str, str],
        timeout_s: float,
    ) -> Executed:
        match command:
            case ["true", *_]:
                return Executed(code=0)
            case ["false", *_]:
                return Executed(code=1)
            case ["echo", *said]:
                return Executed(code=0, out=" ".join(said).encode() + b"\n")
            case ["env"]:
                lines = "".join(f"{key}={value}\n" for key, value in env.items())
                return Executed(code=0, out=lines.encode())
            case ["cat", *paths]:
                return _cat(kept.files, paths) if paths else Executed(code=0, out=stdin)
            case ["tee", path]:
                self._change(kept.name, epoch, whole_path(path), stdin)
                return Executed(code=0, out=stdin)
            case ["rm", path]:
                self._change(kept.name, epoch, whole_path(path), None)
                return Executed(code=0)
            case ["sleep", seconds]:
                return await self._sleep(kept.name, epoch, float(seconds), timeout_s)
            case _:
                return Executed(code=127, err=f"{command[0]}: not found\n".encode())

    async def _sleep(self, name: str, epoch: int, seconds: float, timeout_s: float) -> Executed:
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        mine = (epoch, ended)
        self.places.running.setdefault(name, set()).add(mine)
        try:
            async with asyncio.timeout(min(seconds, timeout_s)):
                await ended
        except TimeoutError:
            pass
        finally:
            self.places.running[name].discard(mine)
            if not self.places.running[name]:
                del self.places.running[name]
        kept = self.places.get(name)
        if kept is None or kept.state != "running":
            raise PlaceGone(f"there is no place {name}")
        if epoch < kept.epoch:
            raise StalePlace(_stale(name, epoch, kept.epoch))
        late = timeout_s < seconds
        return Executed(code=_ENDED if late else 0, timed_out=late)

    def _end(self, name: str, before: int | None) -> None:
        """End what runs there, if wanted only what was begun before an epoch."""
        for epoch, ended in list(self.places.running.get(name, ())):
            if (before is None or epoch < before) and not ended.done():
                ended.set_result(None)


def _admit(kept: Kept, epoch: int) -> bool:
    """Whether it is a new holder; an old one is refused."""
    if epoch < kept.epoch:
        raise StalePlace(_stale(kept.name, epoch, kept.epoch))
    new = epoch > kept.epoch
    kept.epoch = epoch
    return new


def _stale(name: str, epoch: int, latest: int) -> str:
    return f"{name} has another holder: epoch {latest} has been seen, this is {epoch}"


async def _pass_on(ran: Executed, on_output: OnOutput | None) -> None:
    if on_output is None:
        return
    for stream, said in (("out", ran.out), ("err", ran.err)):
        for start in range(0, len(said), PIECE_BYTES_MAX):
            await on_output(stream, said[start : start + PIECE_BYTES_MAX])


def _joined(before: Executed, ran: Executed) -> Executed:
    """Two commands, one after the other, as one."""
    out, err = before.out + ran.out, before.err + ran.err
    return Executed(
        code=ran.code,
        out=out[:OUTPUT_BYTES_MAX],
        err=err[:OUTPUT_BYTES_MAX],
        cut=before.cut or max(len(out), len(err)) > OUTPUT_BYTES_MAX,
        timed_out=before.timed_out or ran.timed_out,
    )


def _commands(command: Sequence[str]) -> list[list[str]]:
    """A command, or those of a line for a shell where they are plain and follow each other;
    whatever else a shell can do, it cannot do here."""
    if len(command) != 3 or list(command[:2]) != ["sh", "-c"]:
        return [list(command)]
    lexer = shlex.shlex(command[2], posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    found: list[list[str]] = [[]]
    try:
        for word in lexer:
            if word == ";":
                found.append([])
            elif set(word) <= set("();<>|&") or (word == "sh" and not found[-1]):
                return [list(command)]
            else:
                found[-1].append(word)
    except ValueError:
        return [list(command)]
    return [words for words in found if words]


def _cat(files: Files, paths: Sequence[str]) -> Executed:
    missing = [path for path in paths if whole_path(path) not in files]
    if missing:
        return Executed(code=1, err=f"cat: {missing[0]}: No such file or directory\n".encode())
    return Executed(code=0, out=b"".join(files[whole_path(path)] for path in paths))


def _place(kept: Kept) -> Place:
    return Place(name=kept.name, details={"workspace": WORKSPACE}, labels=dict(kept.labels))
