"""A backup of a database and of the files beside it, taken while servers run.

The database comes first. Files are named by what is in them and never change, so whatever the
copied database refers to is still there when they are copied.
"""

import os
import shutil
import sqlite3
import subprocess
from pathlib import Path
from urllib.parse import unquote, urlsplit

from windlass.model.errors import BadRequest, Unavailable
from windlass.wiring.stores import check_url, sqlite_path

SQLITE_FILE = "windlass.db"
POSTGRES_FILE = "windlass.dump"
FILES = "files"


def back_up(url: str, files: Path, target: Path) -> list[Path]:
    """Write a backup into a new or empty folder; what it holds."""
    check_url(url)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise BadRequest(f"{target} is there already; name a folder that is new or empty")
    path = sqlite_path(url)
    if path is not None and not Path(path).exists():
        raise BadRequest(f"there is no database {path}")
    target.mkdir(parents=True, exist_ok=True)
    made = target / (SQLITE_FILE if path is not None else POSTGRES_FILE)
    if path is not None:
        copy_sqlite(path, made)
    else:
        dump_postgres(url, made)
    kept = files / "kept"
    if not kept.is_dir():
        return [made]
    shutil.copytree(kept, target / FILES / "kept")
    return [made, target / FILES]


def copy_sqlite(source: str, target: Path) -> None:
    """A copy of one moment; the newest commits may still be beside the file, so it is not enough
    to copy that."""
    reading = sqlite3.connect(f"{Path(source).resolve().as_uri()}?mode=ro", uri=True)
    writing = sqlite3.connect(target)
    try:
        reading.backup(writing)
    except sqlite3.Error as error:
        raise Unavailable(f"{source} could not be copied: {error}") from error
    finally:
        writing.close()
        reading.close()


def dump_postgres(url: str, target: Path) -> None:
    program = shutil.which("pg_dump")
    if program is None:
        raise Unavailable("pg_dump is not on PATH; install PostgreSQL's client programs")
    parts = urlsplit(url)
    # A command line is there for everybody to see, so the password does not go there.
    address = parts._replace(netloc=parts.netloc.replace(f":{parts.password}@", "@")).geturl()
    env = {**os.environ, **({"PGPASSWORD": unquote(parts.password)} if parts.password else {})}
    command = [program, "--format=custom", f"--file={target}", f"--dbname={address}"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Unavailable(f"pg_dump failed: {done.stderr.strip()[-500:]}")
