"""Approvals in a brief: tokens people handed over, for the agent to use and its model not to see.

A person who is asked for an approval gives one (`windlass action approve`) and answers with its
token. It is for one attempt and counts once, so what stands in the brief is of use to nobody else.
"""

import re

from windlass.model.ledger import approval_named

_WORD = re.compile(r"[\w-]+", re.ASCII)
BLOTTED = "[approval token]"


def without_approvals(text: str) -> tuple[str, list[str]]:
    """A text with every approval's token blotted out, and the tokens in the order they stood."""
    tokens = list(dict.fromkeys(word for word in _WORD.findall(text) if approval_named(word)))
    for token in tokens:
        text = text.replace(token, BLOTTED)
    return text, tokens
