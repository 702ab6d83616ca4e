"""Loading a registered model by its address, where MLflow is installed and where it is not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memvalue import models
from memvalue.serve import ModelError, ValueModel
from memvalue.serve.model_store import absolute, artifact_folder, shown

ONE, OTHER = models.path("default"), models.path("longmemeval")


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store where version 1 of ``acme`` is champion and version 2 the challenger."""
    pytest.importorskip("mlflow", reason="MLflow is not installed (extra train)")
    from memvalue.train.registry import Registry

    registry = Registry(f"sqlite:///{tmp_path_factory.mktemp('store')}/mlflow.db")
    registry.record("acme", model_path=ONE, decision="promote", promoted=True)
    registry.record("acme", model_path=OTHER, decision="keep-current", promoted=False)
    assert registry.uri is not None
    return registry.uri


@pytest.fixture
def asked(uri: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The store, named as a user names it."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    return uri


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("models:/acme@champion", ONE),
        ("models:/acme@challenger", OTHER),
        ("models:/acme/1", ONE),
        ("models:/acme/2", OTHER),
        (Path("models:/acme/2"), OTHER),
    ],
)
def test_an_alias_or_a_version_loads_the_file_that_was_recorded(
    asked: str, address: str | Path, path: Path
) -> None:
    assert ValueModel.load(address).digest == ValueModel.load(path).digest


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("models:/acme@nobody", "the registry has no nobody of 'acme'; `memvalue history acme`"),
        ("models:/acme/7", "the registry has no version 7 of 'acme'"),
        ("models:/unknown@champion", "the registry has no champion of 'unknown'"),
        ("models:/acme", "named models:/NAME@champion or models:/NAME/VERSION"),
        ("models:/acme/Production", "named models:/NAME@champion or models:/NAME/VERSION"),
        ("models:/acme@champion/model.onnx", "named models:/NAME@champion"),
    ],
)
def test_what_is_not_there_is_told(asked: str, address: str, message: str) -> None:
    with pytest.raises(ModelError) as told:
        ValueModel.load(address)
    assert message in str(told.value)
    assert str(told.value).startswith(f"{address}: ")


def test_a_store_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mlflow", reason="MLflow is not installed (extra train)")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match=r"no MLflow store at .*mlflow\.db.*MLFLOW_TRACKING_URI"):
        ValueModel.load("models:/acme@champion")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://me:secret@127.0.0.1:9")
    with pytest.raises(ModelError, match="connection refused") as told:
        ValueModel.load("models:/acme@champion")
    assert "secret" not in str(told.value)
    assert not list(tmp_path.iterdir())


def test_a_changed_file_is_refused(asked: str, tmp_path: Path) -> None:
    import mlflow

    from memvalue.train.registry import Registry

    Registry(asked).record("changed", model_path=ONE, decision="promote", promoted=True)
    client = mlflow.MlflowClient(tracking_uri=asked)
    where = Path(client.get_model_version_download_uri("changed", "1").removeprefix("file://"))
    (where / "model.onnx").write_bytes(OTHER.read_bytes())
    with pytest.raises(ModelError, match="is not the one that was recorded"):
        ValueModel.load("models:/changed@champion")


def test_a_signature_is_checked_when_its_file_is_named(asked: str, tmp_path: Path) -> None:
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    key = ed25519.Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes_raw()
    mark = tmp_path / "acme.sig"
    mark.write_bytes(key.sign(ONE.read_bytes()))
    assert ValueModel.load("models:/acme@champion", public_key=public, signature=mark)
    with pytest.raises(ModelError):
        ValueModel.load("models:/acme@challenger", public_key=public, signature=mark)
    with pytest.raises(ModelError, match=r"its signature models:/acme@champion\.sig cannot be used"):
        ValueModel.load("models:/acme@champion", public_key=public)


def test_the_runtime_alone_names_what_to_install_and_the_plain_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)  # as if it were not installed
    with pytest.raises(ModelError) as told:
        ValueModel.load("models:/acme@champion")
    assert "pip install 'memvalue[train]'" in str(told.value)
    assert "memvalue rollback --out FILE" in str(told.value)
    assert ValueModel.load(ONE)


QUIET = """
import os, warnings
for name in [n for n in os.environ if n == "CI" or n.startswith(("PYTEST", "MLFLOW", "GITHUB"))]:
    del os.environ[name]
warnings.simplefilter("error")
from memvalue.serve.model_store import import_mlflow
import_mlflow()
from mlflow.telemetry import get_telemetry_client
assert get_telemetry_client() is None
assert not [n for n in os.environ if n.startswith("MLFLOW")]
"""


def test_mlflow_is_imported_without_telemetry_and_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("mlflow", reason="MLflow is not installed (extra train)")
    done = subprocess.run(
        [sys.executable, "-c", QUIET], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("postgresql://me:p%40ss@host/db", "postgresql://***@host/db"),
        ("http://token@host:5000/x y http://a:b@c", "http://***@host:5000/x y http://***@c"),
        ("postgresql://host/db?user=me&password=hush&sslmode=off", None),
        ("sqlite:////data/mlflow.db", "sqlite:////data/mlflow.db"),
    ],
)
def test_an_address_is_shown_without_who_and_password(text: str, seen: str | None) -> None:
    found = shown(text)
    assert found == seen if seen is not None else "hush" not in found and "sslmode=off" in found


def test_an_sqlite_store_keeps_its_place_when_the_process_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    there = absolute("sqlite:///sub/mlflow.db?timeout=5")
    assert there == f"sqlite:///{tmp_path}/sub/mlflow.db?timeout=5"
    assert absolute(there) == there
    assert artifact_folder("sqlite:///sub/mlflow.db") == (tmp_path / "sub" / "mlartifacts").as_uri()
    assert artifact_folder("http://host:5000") is None
    assert absolute("http://host:5000") == "http://host:5000"


def test_loading_leaves_the_environment_as_it_was(asked: str) -> None:
    before = dict(os.environ)
    ValueModel.load("models:/acme@champion")
    assert dict(os.environ) == before
