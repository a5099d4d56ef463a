"""Reads of a workflow's objects: as in the flow dialect, but names are taken as they are spelt."""

import re
from collections.abc import Collection

from windlass.dialects.fields import Fields
from windlass.dialects.plain import under

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

_WORD = re.compile(r"\w([\w .:,()+-]{0,98}[\w.:,()+-])?")


def is_uuid(text: str) -> bool:
    return _UUID.fullmatch(text) is not None


class Exact(Fields):
    """One object of a workflow definition."""

    def _take(self, name: str, item: object, known: Collection[str]) -> None:
        if name in known:
            self._values[name] = item
            self._spelt[name] = name
            return
        hint = (
            self.problems.closest(name, known)
            or 'keep notes of your own under "metadata" or "extensions"'
        )
        self.problems.add(under(self.where, name), "this field is not known here", hint)

    def within(self, name: str, known: Collection[str]) -> "Exact":
        return Exact(self.raw(name), self.at(name), known, self.problems)

    def needed(self, name: str, hint: str) -> str:
        """A text that must be there."""
        text = self.text(name)
        if not text and isinstance(self.raw(name), str | None):
            self.problems.add(self.at(name), "is missing", hint)
        return text

    def uuid(self, name: str) -> str:
        """An id that should be a UUID, so that it means the same thing wherever it is taken; the
        first editors wrote plain words."""
        text = self.needed(name, "give a UUID, such as 2b2c3fcb-9c18-4ca2-9b5a-8ad4deb1f164")
        if text and not is_uuid(text):
            hint = "workflow and node ids are UUIDs; an editor makes them, `uuidgen` does too"
            note = self.problems.warn if _WORD.fullmatch(text) else self.problems.add
            note(self.at(name), f'"{text:.60}" is not a UUID', hint)
        return text
