"""A real PostgreSQL server of our own, on a socket in a folder of its own, for as long as the tests run."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path


def binaries() -> Path | None:
    """The folder of initdb and postgres: Debian keeps them outside the path."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((f for f in folders if (f / "initdb").exists() and (f / "postgres").exists()), None)


class PostgresServer:
    """Start with :meth:`start`; root runs it as ``nobody``, since PostgreSQL refuses root."""

    def __init__(self, binaries: Path) -> None:
        self._binaries = binaries
        self._user = "nobody" if os.geteuid() == 0 else None
        # A socket's path may have 107 letters: pytest's folders are too deep for it.
        self.folder = Path(tempfile.mkdtemp(prefix="memvalue-pg-"))
        if self._user:
            entry = pwd.getpwnam(self._user)
            os.chown(self.folder, entry.pw_uid, entry.pw_gid)
        options = ("-D", str(self._data), "-U", "memvalue", "-A", "trust", "-E", "UTF8", "--no-sync")
        self._run("initdb", *options, "--no-locale")

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    @property
    def conninfo(self) -> str:
        return f"host={self.folder} user=memvalue dbname=postgres"

    def start(self) -> None:
        # A crash loses what is only in the server's memory, fsync or not; the tests need no power cut.
        options = f"-c listen_addresses='' -c unix_socket_directories={self.folder} -c fsync=off"
        log = str(self.folder / "log")
        self._run("pg_ctl", "start", "-w", "-s", "-D", str(self._data), "-l", log, "-o", options)

    def stop(self, mode: str = "fast") -> None:
        """``immediate`` is a crash: no checkpoint, no goodbye to the clients."""
        self._run("pg_ctl", "stop", "-w", "-s", "-D", str(self._data), "-m", mode)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._binaries / program), *arguments]
        # Not capture_output: the server would inherit the pipe, and the call would wait for it to end.
        with tempfile.TemporaryFile() as out:
            done = subprocess.run(command, user=self._user, cwd="/", stdout=out, stderr=out, check=False)
            out.seek(0)
            assert done.returncode == 0, out.read().decode(errors="replace")
