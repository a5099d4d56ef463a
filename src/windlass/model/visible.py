"""Text from strangers as it may be shown: what a terminal would act upon is written out.

Names, messages and logs come from whoever could send them. An escape sequence in one of them would
colour, move or retitle the terminal it is shown on, a line break would forge a line, and a mark
that turns the writing direction would show another text than is there.
"""

import re

_ACTED_UPON = "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_IN_TEXT = re.compile(f"[{_ACTED_UPON}]")
_IN_CELLS = re.compile(f"(?!\t)[{_ACTED_UPON}]")
_IN_JSON = re.compile(f"(?!\n)[{_ACTED_UPON}]")
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def visible(text: str, *, tabs: bool = False) -> str:
    """One line of text, with tabs if it is a line of a table."""
    return (_IN_CELLS if tabs else _IN_TEXT).sub(_written_out, text)


def visible_lines(text: str) -> list[str]:
    """The lines of a text, each of which can be shown."""
    return [visible(line.removesuffix("\r"), tabs=True) for line in text.split("\n")]


def visible_json(text: str) -> str:
    """JSON that says the same: in it, only what stands in strings can be of this kind, and what
    stands below a blank is escaped already."""
    return _IN_JSON.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _written_out(match: re.Match[str]) -> str:
    character = match.group()
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
