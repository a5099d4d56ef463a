"""What a push worker's answer asks for: to be left alone for a while, or nothing."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest

from windlass.drivers.dispatch.push import retry_after_ms


def answer(status: int, said: str | None = None) -> httpx.Response:
    return httpx.Response(status, headers={} if said is None else {"Retry-After": said})


@pytest.mark.parametrize(
    ("status", "said", "pause_ms"),
    [
        (429, "30", 30_000),
        (503, "2", 2_000),
        (429, None, 1_000),
        (429, "soon", 1_000),
        (429, "0", 1_000),
        (429, "-5", 1_000),
        (429, "9" * 5_000, 3_600_000),
        (429, "Sun, 06 Nov 1994 08:49:37 GMT", 1_000),
        (503, None, None),
        (500, "30", None),
        (200, "30", None),
    ],
)
def test_how_long_it_wants_to_be_left_alone(
    status: int, said: str | None, pause_ms: int | None
) -> None:
    assert retry_after_ms(answer(status, said)) == pause_ms


def test_a_date_is_a_time_from_now() -> None:
    said = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    pause_ms = retry_after_ms(answer(429, said))
    assert pause_ms is not None
    assert 80_000 <= pause_ms <= 90_000
