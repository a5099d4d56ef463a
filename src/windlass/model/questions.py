"""Questions: what a checkpoint asks a person beyond yes or no."""

from typing import Any

import msgspec

from windlass.model.rows import Json


class Option(msgspec.Struct, frozen=True, omit_defaults=True):
    """One answer to choose, or the invitation to write one."""

    id: str
    label: str = ""
    kind: str = "choice"
    description: str = ""


class Question(msgspec.Struct, frozen=True, omit_defaults=True):
    """The parts of a checkpoint that are not columns."""

    options: tuple[Option, ...] = ()
    default_action: dict[str, Any] | None = None
    """The answer that counts when nobody gave one in time."""
    severity: str = ""
    reason_code: str = ""
    blocks_run: bool = False
    resume_policy: dict[str, Any] | None = None

    def json(self) -> Json:
        return msgspec.json.encode(self).decode()


def read_question(details: Json | None) -> Question:
    return Question() if details is None else msgspec.json.decode(details, type=Question)
