"""Scripts: a program named in a definition, run on the server if the operator allows it."""

import asyncio
import contextlib
import logging
import os
import signal
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import msgspec

from windlass.drivers.dispatch.runner import AttemptError, Done
from windlass.model.assignment import Assignment
from windlass.model.errors import WindlassError
from windlass.model.rows import Failure, Json
from windlass.model.values import is_object
from windlass.protocol.exchange import LOG_CHARS_MAX, Said

log = logging.getLogger(__name__)

Keep = Callable[[Sequence[Said]], Awaitable[None]]
"""Writes down what a script has said so far."""

_INTERPRETERS = {"python": "python3", "javascript": "node", "": "bash"}
_TIMEOUT_MS = 10_000
_OUTPUT_BYTES_MAX = 1024 * 1024
_TOLD_S = 1.0
"""How often what a script has written is written down."""
_PRIVATE = ("WINDLASS_", "SCHEDULER_", "PG")


async def run_script(assignment: Assignment, keep: Keep) -> Done:
    """Run the script of an attempt; its output is the result, its exit code the verdict.

    The output is the attempt's log as well: of a script that failed it is all there is to read. It
    is kept while the script runs, so whoever waits for it reads it, and it outlives this process.
    """
    script = assignment.script or {}
    with contextlib.ExitStack() as stack:
        command = _command(script, stack)
        stdin: bytes | None = None
        if script.get("stdin_mode") == "json":
            stdin = f'{{"input":{assignment.input},"params":{assignment.params}}}'.encode()
        process = await _start(command, script, wants_input=stdin is not None)
        out = bytearray()
        timeout_s = (script.get("timeout_ms") or _TIMEOUT_MS) / 1000
        try:
            async with asyncio.timeout(timeout_s):
                async with anyio.create_task_group() as group:
                    group.start_soon(_tell, assignment.attempt_id, out, keep)
                    await _talk(process, stdin, out)
                    group.cancel_scope.cancel()
        except TimeoutError as error:
            text = f"script took longer than {timeout_s:g} s"
            raise AttemptError(Failure("timeout", text), out.decode(errors="replace")) from error
        finally:
            _kill(process)
    if len(out) > _OUTPUT_BYTES_MAX:
        raise AttemptError(Failure("fatal", f"script wrote more than {_OUTPUT_BYTES_MAX} bytes"))
    text = out.decode(errors="replace")
    if process.returncode != 0:
        tail = text[-2000:].strip()
        failure = Failure("failed", f"script exited with {process.returncode}: {tail}")
        raise AttemptError(failure, text)
    return Done(_result(text, str(script.get("output_mode") or "")), text)


def _command(script: dict[str, Any], stack: contextlib.ExitStack) -> list[str]:
    args = [str(arg) for arg in script.get("args") or ()]
    code = script.get("code")
    if not code:
        return [str(script["cmd"]), *args]
    language = str(script.get("language") or "")
    interpreter = script.get("cmd") or _INTERPRETERS.get(language, language)
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="windlass-script-"))
    file = Path(folder) / "script"
    file.write_text(str(code))
    return [str(interpreter), str(file), *args]


async def _talk(process: asyncio.subprocess.Process, stdin: bytes | None, out: bytearray) -> None:
    """Write the input, if there is one, and read all output into `out`.

    A script may well exit without reading its input. That is its right, but uvloop answers a write
    to the closed pipe with a RuntimeError.
    """
    assert process.stdout is not None
    if stdin is not None:
        assert process.stdin is not None
        with contextlib.suppress(RuntimeError, BrokenPipeError, ConnectionResetError):
            process.stdin.write(stdin)
            await process.stdin.drain()
            process.stdin.close()
    while chunk := await process.stdout.read(65536):
        out += chunk
        if len(out) > _OUTPUT_BYTES_MAX:
            return
    await process.wait()


async def _tell(attempt_id: str, out: bytearray, keep: Keep) -> None:
    """Keep the lines that have come since the last time; the rest comes with the result."""
    kept = chars = 0
    while chars < LOG_CHARS_MAX:
        await asyncio.sleep(_TOLD_S)
        # Whole lines: no character of several bytes is cut.
        end = out.rfind(b"\n") + 1
        if end <= kept:
            continue
        text = out[kept:end].decode(errors="replace")[: LOG_CHARS_MAX - chars]
        try:
            await keep([Said(attempt_id=attempt_id, token="", offset=chars, text=text)])
        except WindlassError as error:
            log.warning("what the script of %s says is kept later: %s", attempt_id, error)
        else:
            kept, chars = end, chars + len(text)


async def _start(
    command: list[str], script: dict[str, Any], *, wants_input: bool
) -> asyncio.subprocess.Process:
    given = script.get("env")
    extra = {k: str(v) for k, v in given.items()} if is_object(given) else {}
    # Our own settings, tokens among them, are none of a script's business.
    env = {k: v for k, v in os.environ.items() if not k.startswith(_PRIVATE)}
    try:
        return await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE if wants_input else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=env | extra,
            cwd=script.get("work_dir") or None,
            start_new_session=True,
        )
    except OSError as error:
        raise AttemptError(Failure("fatal", f"cannot start {command[0]}: {error}")) from error


def _kill(process: asyncio.subprocess.Process) -> None:
    """End the script and whatever it started, which may outlive it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _result(text: str, mode: str) -> Json:
    if mode == "json":
        with contextlib.suppress(msgspec.DecodeError):
            return msgspec.json.encode(msgspec.json.decode(text)).decode()
    return msgspec.json.encode(text).decode()
