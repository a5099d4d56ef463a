"""Start a run, answer its question, and print what came of it."""

# ruff: noqa: INP001, T201

from flow import flow

from windlass import Client


def main() -> None:
    with Client() as client:
        run = client.start(flow, {"names": ["Ada", "Grace", "Edsger"]})
        print("run", run.id)
        for event in run.events():
            print(f"{event.seq:3} {event.type}")
            waiting = [item for item in client.inbox().items if item.run_id == run.id]
            if waiting:
                client.approve(waiting[0].id, note="they look fine")
        print(run.result(timeout="1m"))


if __name__ == "__main__":
    main()
