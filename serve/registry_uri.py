"""Read a registered model: ``models:/acme@champion`` or ``models:/acme/3``."""

from __future__ import annotations

import hashlib
import re
import tempfile
from typing import TYPE_CHECKING

from memvalue.serve.errors import ModelError, RefusedFile
from memvalue.serve.files import read_file
from memvalue.serve.model_store import import_mlflow, is_absent, model_store, shown
from memvalue.serve.verify import MAX_BYTES

if TYPE_CHECKING:
    from mlflow import MlflowClient

#: Name of a model's file among a version's artefacts.
MODEL_FILE = "model.onnx"

#: Tag of a version: SHA-256 of its model's file, as hex.
SHA256_TAG = "memvalue.sha256"

_ADDRESS = re.compile(r"models:/+(?P<name>[^/@:]+)(?:@(?P<alias>[\w-]+)|/(?P<version>[0-9]+))/?")


def read_registered(uri: str) -> bytes:
    """Content of a registered model's file, as it was recorded.

    Parameters
    ----------
    uri
        ``models:/NAME@ALIAS`` or ``models:/NAME/VERSION``. The store is the one that MLflow's own loaders
        would ask: set by ``mlflow.set_registry_uri`` or ``set_tracking_uri``, else ``MLFLOW_REGISTRY_URI`` or
        ``MLFLOW_TRACKING_URI``, else the file ``mlflow.db`` in the working directory.

    Raises
    ------
    RefusedFile
        Without a path: another address, MLflow is not installed, the store cannot be asked, there is no such
        model, version or alias, or the file is gone or not the one that was recorded.
    """
    parts = _ADDRESS.fullmatch(uri)
    if parts is None:
        raise ModelError("a registered model is named models:/NAME@champion or models:/NAME/VERSION")
    try:
        mlflow = import_mlflow()
    except ImportError:
        raise ModelError(
            "reading a model from a registry needs MLflow: pip install 'memvalue[train]'. The runtime alone "
            "loads plain files, such as those that `memvalue recalibrate --out FILE` and "
            "`memvalue rollback --out FILE` write"
        ) from None
    store = mlflow.get_registry_uri()
    try:
        with model_store(store) as client:
            name, alias = parts["name"], parts["alias"]
            return fetch(client, name, parts["version"] or _aliased(client, name, alias))
    except RefusedFile:
        raise
    except ValueError as error:
        raise ModelError(f"{error} (MLFLOW_TRACKING_URI names the store)") from error


def fetch(client: MlflowClient, name: str, version: str) -> bytes:
    """Content of the model's file of a version.

    Raises
    ------
    RefusedFile
        There is no such version, or its file is gone or not the one that was recorded.
    """
    from mlflow.artifacts import download_artifacts
    from mlflow.exceptions import MlflowException

    try:
        found = client.get_model_version(name, version)
    except MlflowException as error:
        if not is_absent(error):
            raise
        raise ModelError(f"the registry has no version {version} of {name!r}") from None
    where = client.get_model_version_download_uri(name, version).rstrip("/")
    with tempfile.TemporaryDirectory() as folder:
        try:
            path = download_artifacts(
                f"{where}/{MODEL_FILE}", dst_path=folder, tracking_uri=client.tracking_uri
            )
        except (MlflowException, OSError) as error:
            raise ModelError(
                f"the file of version {version} of {name!r} cannot be had from {shown(where)}: "
                f"{shown(str(error).splitlines()[0])[:200]}"
            ) from error
        content = read_file(path, MAX_BYTES)
    recorded = found.tags.get(SHA256_TAG)
    if recorded is not None and hashlib.sha256(content).hexdigest() != recorded:
        raise ModelError(
            f"the file of version {version} of {name!r} at {shown(where)} is not the one that was recorded "
            "(another SHA-256); put the recorded one back or use another version"
        )
    return content


def _aliased(client: MlflowClient, name: str, alias: str) -> str:
    from mlflow.exceptions import MlflowException

    try:
        return str(client.get_model_version_by_alias(name, alias).version)
    except MlflowException as error:
        if not is_absent(error):
            raise
        raise ModelError(
            f"the registry has no {alias} of {name!r}; `memvalue history {name}` lists what there is"
        ) from None
