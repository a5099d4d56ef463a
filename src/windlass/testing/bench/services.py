"""The worker of the benchmark's served mode."""

from windlass.worker import Worker

worker = Worker()


@worker.service("noop")
async def noop() -> dict[str, bool]:
    return {"ok": True}
