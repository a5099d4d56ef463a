"""Services as local executions: the same handlers a worker hosts, without a worker process."""

import asyncio

import msgspec

from windlass.drivers.dispatch.runner import AttemptError, Done, Execute
from windlass.model.assignment import Assignment
from windlass.model.rows import Failure
from windlass.worker import outcome
from windlass.worker.context import Context
from windlass.worker.registry import Service, Worker


def executions(worker: Worker, *transports: str) -> dict[str, Execute]:
    """Every service of a worker, by the queues of these transports."""
    return {
        f"{transport}:{name}": execution(service)
        for name, service in worker.services.items()
        for transport in transports
    }


def execution(service: Service) -> Execute:
    async def execute(assignment: Assignment) -> Done:
        params = msgspec.json.decode(assignment.params)
        context = Context(
            run_id=assignment.run_id,
            task_id=assignment.task_id,
            attempt_id=assignment.attempt_id,
            number=assignment.number,
            node=assignment.node,
            params=params,
            role=str(assignment.role),
            feedback=msgspec.json.decode(assignment.feedback) if assignment.feedback else (),
        )
        try:
            given = msgspec.json.decode(assignment.input)
            positional, named = service.binder.arguments(context, given, params)
            if service.is_async:
                value = await service.handler(*positional, **named)
            else:
                value = await asyncio.to_thread(service.handler, *positional, **named)
        except Exception as error:  # noqa: BLE001  whatever a handler raises is its outcome
            ended = outcome.failed(error, context)
        else:
            ended = outcome.succeeded(value)
        if ended.fault is not None:
            fault = ended.fault
            failure = Failure(fault.kind, fault.message, retry_after_ms=fault.retry_after_ms)
            raise AttemptError(failure, context.log_text, context.usage)
        assert ended.output is not None
        return Done(bytes(ended.output).decode(), context.log_text, context.usage)

    return execute
