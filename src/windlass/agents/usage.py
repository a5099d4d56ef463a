"""What an attempt has used up, told to budgets however the attempt ends."""

from collections.abc import Generator
from contextlib import contextmanager

from pydantic_ai.usage import RunUsage

from windlass.worker.context import Context


@contextmanager
def accounted(context: Context, price_per_mtoken: float) -> Generator[RunUsage]:
    """Report what was used inside the block: also when it fails or is cancelled, since tokens that
    were spent in vain were spent."""
    used = RunUsage()
    try:
        yield used
    finally:
        tokens = used.total_tokens
        if tokens:
            context.report_usage(tokens=tokens, money=tokens * price_per_mtoken / 1_000_000)
