import pytest

from windlass.kube.api import refused


@pytest.mark.parametrize(
    ("after", "wait_s"), [("7", 7.0), ("\xb2", None), ("-1", None), ("soon", None), ("", None)]
)
def test_a_refusal_says_how_long_to_wait_if_it_reads_as_a_number(
    after: str, wait_s: float | None
) -> None:
    assert refused(429, b"too many", {"retry-after": after}).retry_after_s == wait_s
