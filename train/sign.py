"""Sign a model file, so that a runtime can tell who made it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

#: The signature of FILE is written to FILE.sig, where the runtime looks for it.
SUFFIX = ".sig"

#: Length of a raw Ed25519 private key (RFC 8032, section 5.1.5).
KEY_BYTES = 32


def sign(
    path: str | os.PathLike[str],
    private_key: bytes | str,
    *,
    password: bytes | None = None,
    signature: str | os.PathLike[str] | None = None,
) -> Path:
    """Write the detached Ed25519 signature of ``path``: 64 raw bytes, checked by ``ValueModel.load``.

    The same key and content give the same signature (RFC 8032).

    Parameters
    ----------
    path
        The model file.
    private_key
        32 raw bytes, or a PEM text ("-----BEGIN PRIVATE KEY-----").
    password
        Of an encrypted PEM.
    signature
        Where to write; default ``path`` with ``.sig`` appended. Replaced in one step.

    Returns
    -------
    The signature's path.

    Raises
    ------
    ValueError
        A key that is none, is of another kind or needs a password; a file that is not there; or the package
        ``cryptography`` is missing (extra ``signature``).
    """
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    except ImportError:
        raise ValueError(
            'signing needs the package cryptography: pip install "memvalue[signature]"'
        ) from None
    if isinstance(private_key, bytes) and len(private_key) == KEY_BYTES:
        key = Ed25519PrivateKey.from_private_bytes(private_key)
    else:
        data = private_key.encode("utf-8", "replace") if isinstance(private_key, str) else private_key
        try:
            loaded = load_pem_private_key(data, password)
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise ValueError(
                f"private_key is neither {KEY_BYTES} raw bytes nor a PEM text that can be read ({error})"
            ) from None
        if not isinstance(loaded, Ed25519PrivateKey):
            raise ValueError(f"private_key is a {type(loaded).__name__}; sign with an Ed25519 key")
        key = loaded
    source = Path(path)
    try:
        content = source.read_bytes()
    except OSError as error:
        raise ValueError(f"{source} cannot be signed: it cannot be read ({error.strerror})") from None
    target = Path(signature) if signature is not None else source.with_name(source.name + SUFFIX)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    except OSError as error:
        raise ValueError(f"{target} cannot be written ({error.strerror})") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(key.sign(content))
        os.chmod(name, 0o644)
        os.replace(name, target)
    except OSError as error:
        raise ValueError(f"{target} cannot be written ({error.strerror})") from None
    finally:
        Path(name).unlink(missing_ok=True)
    return target
