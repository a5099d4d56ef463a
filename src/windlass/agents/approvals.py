"""Approvals in a brief.

A person who is asked for an approval gives one (`windlass action approve`) and answers with its
token. The run keeps a reference in place of the token; an agent's tools use it once, whatever the
model makes of it.
"""

import re

from windlass.model.ledger import reference

_REFERENCE = re.compile(re.escape(reference("")) + r"[0-9a-f-]{36}")


def approvals_in(text: str) -> list[str]:
    """References to approvals that were handed over, in the order they stand."""
    return list(dict.fromkeys(_REFERENCE.findall(text)))
