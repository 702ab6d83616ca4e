"""A connection to an MLflow store that fails soon, says why, and leaves the process as it was.

MLflow is asked for inside the functions: the runtime's install does not have it.
"""

from __future__ import annotations

import logging
import os
import re
import sqlite3
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

if TYPE_CHECKING:
    from mlflow import MlflowClient

#: Where models are recorded unless the user says otherwise: MLflow's own default.
DEFAULT_STORE = "sqlite:///mlflow.db"

#: What holds while a store is asked, unless the user's environment says otherwise. By MLflow's defaults an
#: address where nobody answers costs 4 minutes (seven retries, 120 s each); by these 2 s, or 47 s where
#: packets vanish. Nothing is sent to MLflow's makers, and nothing but our own answer goes to stdout.
_ENVIRONMENT = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "15",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_HTTP_REQUEST_BACKOFF_JITTER": "0",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}

#: Seconds that a database server may take to answer at all.
_CONNECT_SECONDS = 10

#: What MLflow logs on the way that is no news: making tables, waiting for a version that is there.
_CHATTY = ("mlflow.store.db.utils", "mlflow.store.model_registry.abstract_store")

#: Seconds that another process may keep an SQLite store to itself. Recording a model takes .1 s and 29
#: commits to disk, making a new store 2 s.
_WAIT_SECONDS = 60.0

#: Of this process: MLflow reads its settings from the environment, which threads share.
_LOCK = threading.RLock()

#: Databases that have answered once; MLflow keeps their connections.
_answered: set[str] = set()


def import_mlflow() -> Any:
    """The package ``mlflow``, imported without its telemetry.

    Its tables of 3.17 use a loading strategy that SQLAlchemy 2.1 calls deprecated. It says so when the
    tables are first laid out, so that happens here, with this one warning left out.

    Raises
    ------
    ModuleNotFoundError
        When MLflow is not installed.
    """
    with _environment(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The ``noload`` loader strategy", DeprecationWarning)
        import mlflow

        if find_spec("sqlalchemy") is not None:
            import mlflow.store.tracking.sqlalchemy_store
    return mlflow


@contextmanager
def model_store(uri: str, *, create: bool = False) -> Iterator[MlflowClient]:
    """A client of the store at ``uri`` for a few calls.

    Inside, one thread of the process talks to MLflow at a time. An SQLite store on this machine is kept to
    one process at a time too, so that what is read inside still holds when something is written; with a
    server, others may write in between. Not to be nested.

    Parameters
    ----------
    uri
        ``sqlite:///FILE``, the address of an MLflow server, or another store that MLflow knows.
    create
        Make an SQLite store where there is none.

    Raises
    ------
    ValueError
        With the store's address (without passwords), what is wrong and what to do, for whatever the store
        refuses inside.
    ModuleNotFoundError
        When MLflow is not installed.
    """
    with ExitStack() as stack:
        stack.enter_context(_LOCK)
        stack.enter_context(_environment())
        mlflow = import_mlflow()
        stack.enter_context(_quiet())
        failures = _failures()
        where = absolute(uri)
        try:
            file = sqlite_file(where)
            if file is not None:
                stack.enter_context(_sole_user(file, create))
            _check_answer(where, file)
            client: MlflowClient = mlflow.MlflowClient(tracking_uri=where, registry_uri=where)
            yield client
        except failures as error:
            raise ValueError(f"MLflow store {shown(where)}: {_reason(error)}; {_remedy(where)}") from error


def absolute(uri: str) -> str:
    """``uri``; the file of an SQLite store as an absolute path, since a process may change its folder.

    Raises
    ------
    ValueError
        For what is no address of a store, or a database that ends with the process.
    """
    if not re.match(r"[a-z][a-z0-9+.-]*:", uri) and uri not in ("databricks", "databricks-uc"):
        raise ValueError(f"{uri!r} is not the address of an MLflow store; write e.g. {DEFAULT_STORE}")
    if uri.startswith("file:"):
        raise ValueError(
            f"{uri}: MLflow keeps no models in plain folders any more; write e.g. sqlite:///FOLDER/mlflow.db"
        )
    file = sqlite_file(uri)
    if file is None:
        return uri
    if file.name in ("", ":memory:") or file.is_dir():
        raise ValueError(f"{uri} names no file that could keep models; write e.g. {DEFAULT_STORE}")
    head, mark, query = uri.partition("?")
    scheme = head.partition(":")[0]
    return f"{scheme}:///{quote(Path(os.path.abspath(file)).as_posix())}{mark}{query}"


def shown(text: str) -> str:
    """``text`` without the users and passwords of the addresses in it."""
    text = re.sub(r"://[^/\s'\"]*@", "://***@", text)
    return re.sub(r"(?i)\b(password|passwd|secret|token)=[^&\s]+", r"\1=***", text)


def artifact_folder(uri: str) -> str | None:
    """Where an SQLite store's files belong: beside it. None where the store itself decides."""
    file = sqlite_file(absolute(uri))
    return None if file is None else (file.parent / "mlartifacts").as_uri()


def is_absent(error: Exception) -> bool:
    """Whether MLflow says that there is no such model, version or alias."""
    missing = ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE", "NOT_FOUND")
    return getattr(error, "error_code", None) in missing


def sqlite_file(uri: str) -> Path | None:
    """The file of an SQLite store; None for another store."""
    scheme, colon, rest = uri.partition(":")
    if scheme.partition("+")[0] != "sqlite" or not colon:
        return None
    return Path(unquote(rest.removeprefix("//").removeprefix("/").partition("?")[0]))


@contextmanager
def _environment() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in _ENVIRONMENT}
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = old


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the lines of :data:`_CHATTY`."""
    levels = {name: logging.getLogger(name).level for name in _CHATTY}
    for name in levels:
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


@contextmanager
def _sole_user(file: Path, create: bool) -> Iterator[None]:
    """Wait for, and hold, the lock of an SQLite store.

    Without it two processes that open a new store both make its tables and ruin it (MLflow locks this in its
    server only), and two promotions may each take the other's predecessor for their own.
    """
    if not file.exists() and not create:
        raise ValueError(f"there is no MLflow store at {file}; name the one that models are recorded in")
    try:
        import fcntl
    except ImportError:  # Windows has another kind of lock, and one process at a time must do
        yield
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle = os.open(file.with_name(f"{file.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except PermissionError:  # a store that may be read but not written needs no lock
        yield
        return
    try:
        until = time.monotonic() + _WAIT_SECONDS
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise ValueError(
                        f"another process has kept the MLflow store {file} to itself for "
                        f"{_WAIT_SECONDS:.0f} s; end it, or run an MLflow server for many writers"
                    ) from None
                time.sleep(0.02)
        yield
    finally:
        os.close(handle)


def _check_answer(uri: str, file: Path | None) -> None:
    """Ask a database once, briefly: MLflow tries ten times over 100 s whatever the reason."""
    if uri in _answered:
        return
    if file is not None:
        if file.exists():
            with closing(sqlite3.connect(file, timeout=_CONNECT_SECONDS)) as base:
                base.execute("PRAGMA schema_version").fetchone()
    elif uri.partition(":")[0].partition("+")[0] in ("postgresql", "postgres", "mysql", "mssql"):
        import sqlalchemy

        limited = not uri.startswith("mssql")
        options = {"connect_timeout": _CONNECT_SECONDS} if limited else {}
        engine = sqlalchemy.create_engine(uri, connect_args=options, poolclass=sqlalchemy.pool.NullPool)
        with engine.connect():
            pass
    else:
        return
    _answered.add(uri)


def _failures() -> tuple[type[Exception], ...]:
    """What MLflow and what is below it raise; its HTTP errors are OSErrors."""
    from mlflow.exceptions import MlflowException

    found: list[type[Exception]] = [MlflowException, OSError, sqlite3.Error]
    if find_spec("sqlalchemy") is not None:
        from sqlalchemy.exc import SQLAlchemyError

        found.append(SQLAlchemyError)
    return tuple(found)


def _reason(error: Exception) -> str:
    text = str(error)
    for sign, meaning in (
        ("Connection refused", "connection refused"),
        ("timed out", "no answer in time"),
        ("Name or service not known", "its name is not known"),
        ("Failed to resolve", "its name is not known"),
        ("nodename nor servname", "its name is not known"),
    ):
        if sign in text:
            return meaning
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return shown((lines or [type(error).__name__])[0])[:300]


def _remedy(uri: str) -> str:
    if urlsplit(uri).scheme in ("http", "https"):
        return "is it the address of a running MLflow server?"
    if uri.startswith("sqlite"):
        return "is it a file of MLflow's, and may it be written?"
    return "is it the address of a store that MLflow knows, and is it running?"
