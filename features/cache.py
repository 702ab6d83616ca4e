"""A folder of computed evidence: one file a key, written whole or not at all, checked when read.

Files are those of :mod:`memvalue.features.packed`; nothing is ever unpickled. Whatever is not exactly such a
file is reported, removed and computed anew.
"""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import logging
import os
import re
import time
from collections.abc import Mapping
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from memvalue.features.packed import pack, unpack

MAGIC = b"MVEVID\n"
#: Number of the layout; files of another are computed anew.
LAYOUT = 1
#: An unfinished file of a process that was killed is swept up after this many seconds.
STALE_SECONDS = 3600.0

_KEY = re.compile(r"[0-9a-f]{8,128}")
_log = logging.getLogger(__name__)


class EvidenceCache:
    """Arrays by key. Safe with several processes on one folder; losing the folder costs only time.

    Parameters
    ----------
    folder
        Made on the first write.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._counter = itertools.count()
        self._complained = False
        self._sweep()

    def path(self, key: str) -> Path:
        """Where ``key`` lies: ``FOLDER/ab/abcd….mve``.

        Raises
        ------
        ValueError
            ``key`` is not 8 to 128 lower-case hexadecimal digits.
        """
        if not isinstance(key, str) or not _KEY.fullmatch(key):
            raise ValueError(f"a cache key is 8 to 128 lower-case hexadecimal digits, got {key!r}")
        return self.folder / key[:2] / f"{key}.mve"

    def get(self, key: str) -> dict[str, NDArray[np.generic]] | None:
        """The arrays stored under ``key``, or None when there are none or they cannot be trusted."""
        path = self.path(key)
        try:
            blob = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            _log.warning("cannot read the cache file %s (%s); computing anew", path, error)
            return None
        try:
            return _unpack(blob)
        except Exception as error:  # whatever a damaged file provokes in the readers, the answer is the same
            _log.warning("the cache file %s is damaged (%s); removed, computing anew", path, error)
            try:
                path.unlink(missing_ok=True)
            except OSError as failure:
                _log.warning("could not remove %s (%s)", path, failure)
            return None

    def put(self, key: str, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        """Store ``arrays`` under ``key``, replacing what was there.

        A folder that cannot be written is reported once and otherwise ignored.

        Raises
        ------
        ValueError
            A bad key, a name that is no identifier, or an array of Python objects.
        """
        path = self.path(key)
        blob = _pack(arrays)
        part = path.with_name(f".{key}.{os.getpid()}.{next(self._counter)}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                part.write_bytes(blob)
                os.replace(part, path)
            finally:
                part.unlink(missing_ok=True)
        except OSError as error:
            if not self._complained:
                _log.warning("cannot write to the cache %s (%s); results are not kept", self.folder, error)
                self._complained = True

    def _sweep(self) -> None:
        """Remove unfinished files that no living writer can still want."""
        limit = time.time() - STALE_SECONDS
        for part in self.folder.glob("[0-9a-f][0-9a-f]/.*.part"):
            try:
                if part.stat().st_mtime < limit:
                    part.unlink(missing_ok=True)
            except OSError:
                continue


def default_cache_dir() -> Path:
    """``$MEMVALUE_CACHE``, else ``$XDG_CACHE_HOME/memvalue``, else ``~/.cache/memvalue``.

    An ``XDG_CACHE_HOME`` that is not absolute is ignored, as its specification asks.
    """
    if own := os.environ.get("MEMVALUE_CACHE"):
        return Path(own).expanduser()
    shared = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(shared) if os.path.isabs(shared) else Path.home() / ".cache") / "memvalue"


def code_digest(*parts: ModuleType | str | os.PathLike[str]) -> str:
    """SHA-256 over the source of modules and the bytes of files, so that a change of either changes a key.

    Parameters
    ----------
    parts
        A module; a module's dotted name (it is located, and only its parents are imported); or a
        :class:`~pathlib.Path` to a file or folder (every file in it, byte code excepted). Their order and
        where they are installed do not matter.

    Raises
    ------
    ValueError
        A part that is not there or of another kind, or a module without a file.
    """
    found: dict[str, bytes] = {}
    for part in parts:
        if isinstance(part, (ModuleType, str)):
            name, content = _source(part)
            found[f"module:{name}"] = content
            continue
        if not isinstance(part, os.PathLike):
            raise ValueError(f"code_digest: {part!r} is no module, module name or path")
        path = Path(part)
        if path.is_dir():
            for file in sorted(path.rglob("*")):
                if file.is_file() and "__pycache__" not in file.parts:
                    found[f"file:{path.name}/{file.relative_to(path).as_posix()}"] = file.read_bytes()
        elif path.is_file():
            found[f"file:{path.name}"] = path.read_bytes()
        else:
            raise ValueError(f"code_digest: there is no file or folder {path}")
    h = hashlib.sha256()
    for name, content in sorted(found.items()):
        h.update(f"{name}|{len(content)}|".encode())
        h.update(content)
    return h.hexdigest()


def _source(module: ModuleType | str) -> tuple[str, bytes]:
    """A module's name and source bytes, read through its loader (a zip archive works too)."""
    name = module if isinstance(module, str) else module.__name__
    try:
        spec: ModuleSpec | None = (
            importlib.util.find_spec(module) if isinstance(module, str) else module.__spec__
        )
    except (ImportError, ValueError) as error:
        raise ValueError(f"code_digest: there is no module {name!r}") from error
    read = getattr(spec.loader, "get_data", None) if spec is not None else None
    if spec is None or spec.origin is None or read is None:
        raise ValueError(f"code_digest: the module {name!r} has no file to read")
    return name, bytes(read(spec.origin))


def _pack(arrays: Mapping[str, NDArray[np.generic]]) -> bytes:
    return pack(arrays, MAGIC, LAYOUT)


def _unpack(blob: bytes) -> dict[str, NDArray[np.generic]]:
    return unpack(blob, MAGIC, LAYOUT)
