"""`windlass env shell`: one line after the other in a place, in the folder the last one left.

Each line is a command of its own, so variables that one sets are gone for the next; a line that
begins with `cd` moves all that follow. Whatever runs is ended by an interrupt; the shell goes on.
"""

import contextlib
import importlib
import sys
from collections.abc import Iterator

from windlass.cli.outputs import LinePrinter
from windlass.cli.printing import print_line, print_text
from windlass.client import Client
from windlass.client.env_shapes import EnvExecuted
from windlass.client.envs import exec_env_session

SHELL_S = 3_600.0


class Shell:
    """Runs lines in a session."""

    def __init__(self, client: Client, session: str) -> None:
        self._client = client
        self._session = session
        self.folder = ""
        self.code = 0

    def run(self, line: str) -> None:
        """Run a line; an interrupt ends it and no more."""
        try:
            if line.split()[0] == "cd":
                self._move(line)
            else:
                self.code = told_code(self._listen(line))
        except KeyboardInterrupt:
            print_line("^C", err=True)
            self.code = 130

    def _listen(self, line: str) -> EnvExecuted:
        return listen(self._client, self._session, ["sh", "-c", line], SHELL_S, self.folder)

    def _move(self, line: str) -> None:
        """The folder that a shell is in afterwards is its last word."""
        words = ["sh", "-c", f"{line} && pwd"]
        done = self._client.exec_env_session(self._session, words, workdir=self.folder)
        said = done.out.decode(errors="replace").removesuffix("\n")
        before, _, folder = said.rpartition("\n")
        if done.code == 0 and folder.startswith("/"):
            self.folder, said = folder, before
        for text, err in ((said, False), (done.err.decode(errors="replace"), True)):
            if text:
                print_text(text.removesuffix("\n"), err=err)
        self.code = done.code


def listen(
    client: Client, session: str, words: list[str], timeout_s: float, folder: str = ""
) -> EnvExecuted:
    """Run a command and print what it says as it says it; an interrupt ends it."""
    printer = LinePrinter()
    call = exec_env_session(session, words, workdir=folder, timeout_s=timeout_s)
    try:
        return client.listen(call, printer.hear)
    finally:
        printer.end()


def told_code(done: EnvExecuted) -> int:
    if done.timed_out:
        print_line("it took too long and was ended; see --timeout", err=True)
        return 124
    return done.code


def lines_of(shell: Shell, name: str) -> Iterator[str]:
    """What is typed, with history where there is a terminal, until the input or the shell ends."""
    typed = sys.stdin.isatty()
    if typed:
        with contextlib.suppress(ImportError):
            importlib.import_module("readline")  # gives input() line editing and history
    while True:
        try:
            line = input(f"{name}:{shell.folder or '~'}$ ") if typed else next_line()
        except EOFError:
            return
        except KeyboardInterrupt:
            print_line("", err=True)
            continue
        if line.strip() in ("exit", "logout"):
            return
        if line.strip():
            yield line


def next_line() -> str:
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")
