"""`windlass init`: a folder with a flow and a worker that run as they are."""

from pathlib import Path

import click

from windlass.cli.printing import print_line, print_text
from windlass.cli.starter import FILES


@click.command()
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
def init(folder: Path) -> None:
    """Write a flow, a worker and a README to DIR (default: here), as a beginning.

    Files that are there are never overwritten.
    """
    taken = [name for name in FILES if (folder / name).exists()]
    if taken:
        raise click.UsageError(f"{folder} has {', '.join(taken)} already; name another folder")
    if folder.exists() and not folder.is_dir():
        raise click.UsageError(f"{folder} is a file; name a folder")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
        print_line(str(folder / name))
    print_text(next_steps(folder), err=True)


def next_steps(folder: Path) -> str:
    enter = "" if folder == Path() else f"cd {folder} && "
    return (
        "next, in three terminals:\n"
        f"  {enter}windlass dev\n"
        f"  {enter}windlass worker worker\n"
        f"  {enter}windlass flow push greet.yaml && windlass run start greet"
        """ -p names:='["Ada", "Grace"]' --watch"""
    )
