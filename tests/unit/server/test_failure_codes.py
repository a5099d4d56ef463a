"""What follows from the codes that AstraFlow's documents and workers have for failures."""

import pytest

from windlass.server.link.outcomes import failure_of_code

NEVER, ELSEWHERE, LATER, POLICY = "fatal", "unreachable", "returned", "failed"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("E.RESOURCE.MISSING", NEVER),
        ("E.DISPATCH.INVALID_METADATA", NEVER),
        ("E.CMD.UNKNOWN", ELSEWHERE),
        ("E.PKG.INVALID", ELSEWHERE),
        ("E.PKG.PERMISSION", ELSEWHERE),
        ("E.SESSION.STALE_BINDING", ELSEWHERE),
        ("E.DISPATCH.UNAVAILABLE", ELSEWHERE),
        ("E.CMD.CONCURRENCY_VIOLATION", LATER),
        ("E.TIMEOUT", "timeout"),
        ("E.RUNNER.FAILURE", POLICY),
        ("E.INTERNAL", POLICY),
        ("E.OF.SOMEBODY.ELSE", POLICY),
    ],
)
def test_a_code_says_whether_to_try_again_and_stays_with_the_failure(code: str, kind: str) -> None:
    failure = failure_of_code(code, "why")
    assert (failure.kind, failure.code, failure.message) == (kind, code, "why")
    assert (failure.retry_after_ms is not None) is (kind == LATER)
