"""What a command in a place says, printed line by line as it comes."""

import codecs

from windlass.cli.printing import print_text

_LINE_CHARS_MAX = 64 * 1024
"""A line that does not end is printed in parts this long."""


class LinePrinter:
    """Prints whole lines of both streams; `end` prints what has no end of line."""

    def __init__(self) -> None:
        new = codecs.getincrementaldecoder("utf-8")
        self._decoders = {stream: new(errors="replace") for stream in ("out", "err")}
        self._begun = {"out": "", "err": ""}

    def hear(self, stream: str, data: bytes) -> None:
        *lines, begun = (self._begun[stream] + self._decoders[stream].decode(data)).split("\n")
        if lines:
            print_text("\n".join(lines), err=stream == "err")
        if len(begun) > _LINE_CHARS_MAX:
            print_text(begun, err=stream == "err")
            begun = ""
        self._begun[stream] = begun

    def end(self) -> None:
        for stream in ("out", "err"):
            rest = self._begun[stream] + self._decoders[stream].decode(b"", final=True)
            self._begun[stream] = ""
            if rest:
                print_text(rest, err=stream == "err")
