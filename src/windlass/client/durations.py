"""Spans of time as people write them: 30, "30s", "10m", "2h", "1d"."""

import re

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?")

Duration = float | str


def seconds(span: Duration) -> float:
    """A span in seconds; a bare number already is."""
    if not isinstance(span, str):
        return float(span)
    match = _SPAN.fullmatch(span.strip())
    if match is None:
        raise ValueError(f'"{span}" is not a span of time; write 30s, 10m or 2h')
    return float(match[1]) * _UNITS[match[2] or "s"]
