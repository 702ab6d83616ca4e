"""Arrays as bytes: a mark of the kind of file, a checksum, and the arrays. Nothing is ever unpickled.

``MAGIC``, the layout's number (1 byte), SHA-256 of the rest (32 bytes), and an uncompressed ``.npz``.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

_DIGEST = hashlib.sha256().digest_size


def pack(arrays: Mapping[str, NDArray[np.generic]], magic: bytes, layout: int) -> bytes:
    """The arrays as bytes; equal arrays in equal order give equal bytes.

    Raises
    ------
    ValueError
        A name that is no identifier, or an array of Python objects.
    """
    for name, array in arrays.items():
        if not name.isidentifier():
            raise ValueError(f"the array name {name!r} is no identifier")
        if np.asarray(array).dtype.hasobject:
            raise ValueError(
                f"the array {name!r} holds Python objects; only plain numbers and text are stored"
            )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)
    body = buffer.getvalue()
    return magic + bytes([layout]) + hashlib.sha256(body).digest() + body


def unpack(blob: bytes, magic: bytes, layout: int) -> dict[str, NDArray[np.generic]]:
    """What `pack` was given.

    Raises
    ------
    Exception
        Of any kind, for bytes that are not exactly that: a damaged body makes the readers fail in many ways.
    """
    header = len(magic) + 1 + _DIGEST
    if not blob.startswith(magic) or len(blob) < header:
        raise ValueError("not a file of this kind, or cut short")
    if blob[len(magic)] != layout:
        raise ValueError(f"layout {blob[len(magic)]} instead of {layout}")
    body = memoryview(blob)[header:]
    if hashlib.sha256(body).digest() != blob[len(magic) + 1 : header]:
        raise ValueError("its content does not match its SHA-256")
    # The digest guards against accidents, not against malice: sizes are checked before they are believed.
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        members = archive.infolist()
        stored = all(member.compress_type == zipfile.ZIP_STORED for member in members)
        if not stored or sum(member.file_size for member in members) > len(body):
            raise ValueError("its arrays are compressed or larger than the file")
    with np.load(io.BytesIO(body), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}
