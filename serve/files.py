"""Read a file that somebody else may have put there; write one whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import time
from pathlib import Path

from memvalue.serve.errors import RefusedFile

#: Asked for where the system has them: no waiting for the other end of a pipe, no link at the last step.
_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_PLAIN = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)

#: An unfinished file of a writer that was killed is swept up after this many seconds.
STALE_SECONDS = 3600.0


def read_file(
    path: str | os.PathLike[str], limit: int, *, what: str = "a value model", follow_links: bool = False
) -> bytes:
    """Content of a regular file of at most ``limit`` bytes, read once.

    What is checked is the open file, not its name, so nothing can be put in its place in between. A file
    that grows while it is read is read to ``limit`` and refused, one that never ends is not read at all.

    Parameters
    ----------
    path
        The file.
    limit
        Most bytes it may have.
    what
        What the file should be, for messages.
    follow_links
        Accept a symbolic link to such a file.

    Raises
    ------
    RefusedFile
        Without a path: nothing there, a link, a loop of links, a directory, a pipe, socket or device, no
        permission, too large.
    """
    name = os.fsdecode(path)
    try:
        if stat.S_ISLNK(os.lstat(name).st_mode) and not follow_links:
            raise RefusedFile(_link(name))
        _check_kind(os.stat(name).st_mode, what)
        handle = os.open(name, os.O_RDONLY | _NO_WAIT | _PLAIN | (0 if follow_links else _NO_LINK))
    except ValueError as error:
        if isinstance(error, RefusedFile):
            raise
        raise RefusedFile("there is no such file (its name holds a NUL)") from None
    except OSError as error:
        if error.errno == errno.ELOOP and not follow_links and os.path.islink(name):
            raise RefusedFile(_link(name)) from None
        raise RefusedFile(_reason(error)) from None
    with open(handle, "rb") as file:
        status = os.fstat(handle)
        _check_kind(status.st_mode, what)
        if status.st_size > limit:
            raise RefusedFile(
                f"the file has {status.st_size} bytes, more than the {limit} that {what} may have"
            )
        try:
            content = file.read(limit + 1)
        except OSError as error:
            raise RefusedFile(_reason(error)) from None
    if len(content) > limit:
        raise RefusedFile(f"the file grew beyond the {limit} bytes that {what} may have while it was read")
    return content


def _check_kind(mode: int, what: str) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise RefusedFile(f"this is a directory, not the file of {what}")
    kinds = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device"}
    kind = kinds.get(stat.S_IFMT(mode), "a device")
    raise RefusedFile(f"this is {kind}, not a regular file; copy the content to a file first")


def _link(name: str) -> str:
    return (
        f"this is a symbolic link to {os.path.realpath(name)}; name that file itself, "
        "or allow links with follow_links=True"
    )


def _reason(error: OSError) -> str:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return "there is no such file"
    if error.errno == errno.ELOOP:
        return "symbolic links lead in a circle"
    return f"cannot be read ({error.strerror or type(error).__name__})"


def write_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Put ``content`` at ``path`` in one step: after a crash at any moment the old file is there or the new.

    Raises
    ------
    ValueError
        The folder does not exist or cannot be written to, or ``path`` is a directory.
    """
    target = Path(os.fsdecode(path))
    if os.path.isdir(target):  # unlike Path.is_dir, also False for a name that is too long
        raise ValueError(f"{target} is a directory; name a file in it")
    if not os.path.isdir(target.parent):
        raise ValueError(f"the folder {target.parent} does not exist; make it first")
    _sweep(target)
    part = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
    try:
        with open(part, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
        _settle(target.parent)
    except OSError as error:
        raise ValueError(f"{target} cannot be written ({error.strerror or type(error).__name__})") from None
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


def _sweep(target: Path) -> None:
    """Remove unfinished files beside ``target`` that no living writer can still want."""
    limit = time.time() - STALE_SECONDS
    for entry in os.scandir(target.parent):
        if entry.name.startswith(f".{target.name}.") and entry.name.endswith(".part"):
            try:
                if entry.stat(follow_symlinks=False).st_mtime < limit:
                    os.unlink(entry.path)
            except OSError:
                continue


def _settle(folder: Path) -> None:
    """Have the new name survive a loss of power too, where the system can open folders."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    with contextlib.suppress(OSError):  # some file systems refuse to; the content itself is safe
        os.fsync(handle)
    os.close(handle)
