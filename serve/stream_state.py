"""The file of a saved stream."""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from memvalue.features.packed import pack, unpack
from memvalue.serve.errors import RefusedFile, StateError
from memvalue.serve.files import read_file, write_file

#: Begins every file, followed by the layout's number; a file of another layout is refused.
MAGIC = b"MVSTRM\n"
LAYOUT = 1

#: A full history takes some 80 MB.
MAX_BYTES = 1 << 28


def write_state(path: str | os.PathLike[str], arrays: Mapping[str, NDArray[np.generic]]) -> None:
    """Write the arrays to ``path`` in one step. Raises ValueError where that cannot be done."""
    write_file(path, pack(arrays, MAGIC, LAYOUT))


def read_state(path: str | os.PathLike[str]) -> dict[str, NDArray[np.generic]]:
    """The arrays that were written. Raises StateError, with the reason, for any other file."""
    name = os.fsdecode(path)
    try:
        blob = read_file(name, MAX_BYTES, what="a saved stream")
        if not blob.startswith(MAGIC):
            raise RefusedFile("not a saved stream (MemoryStream.save writes one)")
        try:
            return unpack(blob, MAGIC, LAYOUT)
        except Exception as error:  # whatever a damaged file provokes in the readers, the answer is the same
            raise RefusedFile(f"damaged, or of another version: {_first_line(error)}") from None
    except RefusedFile as error:
        raise StateError(error.reason, name) from None


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
