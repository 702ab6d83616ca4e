"""Who made this model: detached Ed25519 signatures, checked with a key that the caller gives.

The digest inside a model file shows that it is whole; whoever changes the file can change the digest with it.
A signature shows that the holder of a private key signed exactly these bytes. It lies beside the model as 64
raw bytes (RFC 8032, section 5.1.6), so any tool that signs with Ed25519 can make one; here it is
`memvalue.train.sign`. Needs the package ``cryptography`` (extra ``signature``), and only when a key is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memvalue.serve.errors import ModelError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

#: Length of an Ed25519 signature and of a raw public key (RFC 8032, section 5.1).
SIGNATURE_BYTES = 64
KEY_BYTES = 32

#: The signature of FILE is looked for here unless the caller says otherwise.
SUFFIX = ".sig"


def check_signature(content: bytes, signature: bytes, public_key: bytes | str) -> None:
    """Return when ``signature`` is that of ``content`` by the holder of ``public_key``; else raise.

    Parameters
    ----------
    content
        The signed bytes.
    signature
        64 bytes.
    public_key
        32 raw bytes, or a PEM text ("-----BEGIN PUBLIC KEY-----").

    Raises
    ------
    ModelError
        The signature is malformed or not that of these bytes and this key, or ``cryptography`` is missing.
    ValueError
        ``public_key`` is no Ed25519 public key.
    """
    try:
        from cryptography.exceptions import InvalidSignature
    except ImportError:
        raise ModelError(
            'checking a signature needs the package cryptography: pip install "memvalue[signature]"'
        ) from None
    key = _public(public_key)
    if len(signature) != SIGNATURE_BYTES:
        raise ModelError(
            f"the signature has {len(signature)} bytes; an Ed25519 signature has {SIGNATURE_BYTES}, raw"
        )
    try:
        key.verify(signature, content)
    except InvalidSignature:
        raise ModelError(
            "the signature does not match: the file was changed after it was signed, or another key signed it"
        ) from None


def _public(key: bytes | str) -> Ed25519PublicKey:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    if not isinstance(key, bytes | str):
        raise ValueError(f"public_key is {KEY_BYTES} bytes or a PEM text, got {type(key).__name__}")
    if isinstance(key, bytes) and len(key) == KEY_BYTES:
        return Ed25519PublicKey.from_public_bytes(key)
    data = key.encode("utf-8", "replace") if isinstance(key, str) else key
    try:
        found = load_pem_public_key(data)
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError(
            f"public_key is neither {KEY_BYTES} raw bytes nor a PEM text of a public key"
        ) from None
    if not isinstance(found, Ed25519PublicKey):
        raise ValueError(f"public_key is a {type(found).__name__}; only Ed25519 keys are checked")
    return found
