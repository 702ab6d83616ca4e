"""A key that the caller gives decides whose model files are accepted."""

import builtins
import subprocess
import sys

import pytest
from serve_models import content

from memvalue.serve import ModelError, ValueModel
from memvalue.serve.signature import check_signature
from memvalue.train.sign import sign

ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")

#: RFC 8032, section 7.1, test 2: secret key, public key, message and signature.
SECRET = bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
PUBLIC = bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
MESSAGE = b"\x72"
SIGNATURE = bytes.fromhex(
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
    "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
)
OTHER = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def raw(key):
    return key.public_key().public_bytes_raw()


def public_pem(key):
    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def private_pem(key, password=None):
    hidden = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, hidden)


@pytest.fixture
def signed(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(content())
    assert sign(path, SECRET) == tmp_path / "model.onnx.sig"
    return path


def test_the_published_example_is_accepted_and_made(tmp_path):
    check_signature(MESSAGE, SIGNATURE, PUBLIC)
    (tmp_path / "message").write_bytes(MESSAGE)
    assert sign(tmp_path / "message", SECRET).read_bytes() == SIGNATURE


def test_a_signed_file_loads_with_the_key_in_every_form(signed):
    key = ed25519.Ed25519PrivateKey.from_private_bytes(SECRET)
    assert raw(key) == PUBLIC
    for form in (PUBLIC, public_pem(key), public_pem(key).decode()):
        assert ValueModel.load(signed, public_key=form).kind == "linear"


def test_signing_takes_the_key_in_every_form_and_gives_the_same_bytes(signed, tmp_path):
    key = ed25519.Ed25519PrivateKey.from_private_bytes(SECRET)
    want = (tmp_path / "model.onnx.sig").read_bytes()
    assert len(want) == 64
    for form, password in (
        (private_pem(key), None),
        (private_pem(key).decode(), None),
        (private_pem(key, b"secret"), b"secret"),
    ):
        made = sign(signed, form, password=password, signature=tmp_path / "mark")
        assert made == tmp_path / "mark"
        assert made.read_bytes() == want
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mark", "model.onnx", "model.onnx.sig"]
    assert ValueModel.load(signed, public_key=PUBLIC, signature=tmp_path / "mark").digest


def refuse(path, reason, **options):
    with pytest.raises(ModelError, match=reason) as caught:
        ValueModel.load(path, **{"public_key": PUBLIC, **options})
    assert caught.value.path == str(path)


def test_what_is_not_signed_by_that_key_is_refused(signed, tmp_path):
    refuse(signed, "does not match", public_key=raw(OTHER))
    mark = tmp_path / "model.onnx.sig"
    good = mark.read_bytes()
    for bad, reason in (
        (good[:-1] + bytes([good[-1] ^ 1]), "does not match"),
        (bytes(64), "does not match"),
        (good[:63], "has 63 bytes"),
        (b"", "has 0 bytes"),
        (good + b"\n", "65 bytes, more than the 64"),
    ):
        mark.write_bytes(bad)
        refuse(signed, reason)
    mark.unlink()
    refuse(signed, r"model.onnx.sig cannot be used: there is no such file")
    mark.mkdir()
    refuse(signed, "cannot be used: this is a directory")


def test_a_tampered_file_is_refused_even_where_nothing_else_would_notice(signed):
    # Another sound model of ours, whose own digest fits: only the signature tells.
    signed.write_bytes(content("mlp"))
    assert ValueModel.load(signed).kind == "mlp"
    refuse(signed, "changed after it was signed")
    refuse(signed, "changed after it was signed", verify=False)


def test_a_signature_without_a_key_is_a_mistake(signed):
    with pytest.raises(ValueError, match="pass public_key"):
        ValueModel.load(signed, signature=f"{signed}.sig")


@pytest.mark.parametrize("key", [b"short", b"", "no PEM", 7, SECRET.hex()])
def test_what_is_no_public_key_is_named(signed, key):
    with pytest.raises(ValueError, match="public_key"):
        ValueModel.load(signed, public_key=key)


def test_keys_of_another_kind_are_refused(signed):
    x25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.x25519")
    key = x25519.X25519PrivateKey.generate()
    with pytest.raises(ValueError, match="only Ed25519"):
        ValueModel.load(signed, public_key=public_pem(key))
    with pytest.raises(ValueError, match="sign with an Ed25519 key"):
        sign(signed, private_pem(key))


def test_signing_says_what_is_wrong(signed, tmp_path):
    key = ed25519.Ed25519PrivateKey.from_private_bytes(SECRET)
    for arguments, options, message in (
        ((tmp_path / "none", SECRET), {}, "cannot be read"),
        ((signed, b"short"), {}, "neither 32 raw bytes nor a PEM"),
        ((signed, private_pem(key, b"secret")), {}, "password|encrypted"),
        ((signed, private_pem(key, b"secret")), {"password": b"wrong"}, "neither"),
        ((signed, SECRET), {"signature": tmp_path / "no" / "folder"}, "cannot be written"),
        ((signed, SECRET), {"signature": tmp_path}, "cannot be written"),
    ):
        with pytest.raises(ValueError, match=message):
            sign(*arguments, **options)


def test_without_the_package_the_remedy_is_named(signed, monkeypatch):
    original = builtins.__import__

    def missing(name, *arguments, **options):
        if name.startswith("cryptography"):
            raise ImportError(name)
        return original(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", missing)
    refuse(signed, r'pip install "memvalue\[signature\]"')
    with pytest.raises(ValueError, match=r'pip install "memvalue\[signature\]"'):
        sign(signed, SECRET)
    assert ValueModel.load(signed).kind == "linear"  # no key, no need


def test_the_runtime_loads_cryptography_only_when_asked():
    code = "import sys, memvalue.serve; print('cryptography' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
