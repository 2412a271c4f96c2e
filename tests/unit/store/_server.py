"""A PostgreSQL server of its own in a temporary folder, on a free port: started, killed and started again."""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg

MISSING = "no PostgreSQL: apt-get install postgresql"
PASSWORD = "s3cret%word"
"""Of the user ``locked``; in a URL it is ``s3cret%25word``."""


def programs() -> Path | None:
    """The folder of PostgreSQL's programs, which Debian keeps off the path; None where there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda each: int(each.parts[-3]))
    named = shutil.which("initdb")
    return found[-1].parent if found else Path(named).parent if named else None


class PostgresServer:
    """The server; its superuser ``tests`` needs no password, the user ``locked`` does."""

    def __init__(self, *settings: str, in_memory: bool = True) -> None:
        found = programs()
        assert found is not None, MISSING
        self._programs = found
        self._settings = settings
        shared = Path("/dev/shm")
        self.folder = Path(tempfile.mkdtemp(prefix="pg-", dir=shared if in_memory and shared.is_dir() else None))
        self._as_user: dict[str, Any] = {}
        if os.geteuid() == 0:  # which it refuses to run as
            user = next(pwd.getpwnam(name) for name in ("postgres", "nobody") if _is_user(name))
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self._as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        options = ("-U", "tests", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        self._run("initdb", "-D", str(self.folder / "data"), *options)
        rules = self.folder / "data" / "pg_hba.conf"
        rules.write_text("host all locked 127.0.0.1/32 scram-sha-256\n" + rules.read_text())
        self._numbers = itertools.count()
        self._process: subprocess.Popen[bytes] | None = None
        self.start()
        self.execute(f"CREATE ROLE locked LOGIN PASSWORD '{PASSWORD}'")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = ("-p", str(self.port), "-k", str(self.folder), "-c", "listen_addresses=127.0.0.1")
        tuned = ("max_connections=60", "shared_buffers=64MB", *self._settings)
        command = (str(self._programs / "postgres"), "-D", str(self.folder / "data"), *options)
        until = time.monotonic() + 30
        with open(self.folder / "log", "ab") as log:
            while True:
                self._process = subprocess.Popen(
                    [*command, *(word for each in tuned for word in ("-c", each))],
                    stdout=log, stderr=log, cwd=self.folder, **self._as_user,
                )  # fmt: skip
                while self._process.poll() is None:  # ended: the one before it has not let go of everything yet
                    try:
                        psycopg.connect(self.url("postgres"), connect_timeout=2).close()
                        return
                    except psycopg.OperationalError:
                        time.sleep(0.05)
                assert time.monotonic() < until, (self.folder / "log").read_text()
                time.sleep(0.1)

    def kill(self) -> None:
        """As a machine that fails: nothing is tidied up."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        """End it, and remove its folder."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT)  # at once
            self._process.wait(30)
        shutil.rmtree(self.folder, ignore_errors=True)

    def new_database(self) -> str:
        """Make a database; gives its URL."""
        name = f"store{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def url(self, database: str, user: str = "tests") -> str:
        """The URL of a database."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def execute(self, statement: str, database: str = "postgres") -> None:
        """Run a statement as the superuser."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            connection.execute(statement.encode())

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        subprocess.run(command, check=True, capture_output=True, cwd=self.folder, timeout=60, **self._as_user)


def _is_user(name: str) -> bool:
    try:
        return bool(pwd.getpwnam(name))
    except KeyError:
        return False
