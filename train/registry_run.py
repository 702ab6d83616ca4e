"""What an MLflow store is told about one recalibration: a run, its data, and the model that came out."""

from __future__ import annotations

import json
import math
import shutil
import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import LoggedModel

#: Name of the model within its run.
MODEL_NAME = "value-model"

#: MLflow's stores refuse longer ones.
_PARAM_LETTERS = 500
_DIGEST_LETTERS = 36
_BATCH = 100

#: By this tag MLflow finds the tables of a run. Its own ``log_table`` asks the store before each one, and
#: that of 3.17 warns under pandas 3.
_TABLES_TAG = "mlflow.loggedArtifacts"

#: Rows of the input example: enough to see the shapes.
_EXAMPLE_ROWS = 2


@dataclass(frozen=True)
class Told:
    """What a run holds besides its model.

    Parameters
    ----------
    params
        Settings; what is not a scalar is stored as JSON.
    metrics
        Finite numbers; others are left out.
    dataset
        ``name``, ``digest`` and ``source`` of the data, and what else is known of them (numbers of cases).
    tables
        Name → column → values; stored as ``tables/NAME.json``, which MLflow shows as a table.
    plots
        File name → PNG or SVG bytes; stored under ``plots/``.
    files
        File name → text, bytes or a file to copy.
    """

    params: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    dataset: Mapping[str, Any] | None = None
    tables: Mapping[str, Mapping[str, Sequence[Any]]] = field(default_factory=dict)
    plots: Mapping[str, bytes] = field(default_factory=dict)
    files: Mapping[str, str | bytes | Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.dataset is not None and not {"name", "digest", "source"} <= set(self.dataset):
            raise ValueError(f"a dataset has a name, a digest and a source; got {sorted(self.dataset)}")
        for name in (*self.tables, *self.plots, *self.files):
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts or not path.name or "\\" in name:
                raise ValueError(f"{name!r} is not a file name within a run; write e.g. report.json")
        for name, table in self.tables.items():
            if len({len(column) for column in table.values()}) > 1:
                raise ValueError(f"the columns of table {name!r} differ in length")


def log_run(client: MlflowClient, run: str, told: Told) -> None:
    """Log everything of ``told`` but the figures, which belong to the model, to an open run."""
    from mlflow.entities import DatasetInput, InputTag, Param

    params = [Param(str(k), _text(v)[:_PARAM_LETTERS]) for k, v in told.params.items()]
    for start in range(0, len(params), _BATCH):
        client.log_batch(run, params=params[start : start + _BATCH])
    data = _dataset(told)
    if data is not None:
        assert told.dataset is not None
        tags = [
            InputTag("mlflow.data.context", "recalibration"),
            InputTag("memvalue.digest", str(told.dataset["digest"])),
        ]
        client.log_inputs(run, [DatasetInput(data, tags)])
    tables = {f"tables/{name}.json": _split(table) for name, table in told.tables.items()}
    plots = {f"plots/{name}": content for name, content in told.plots.items()}
    contents: dict[str, str | bytes | Path] = {**told.files, **plots, **tables}
    if contents:
        with tempfile.TemporaryDirectory() as folder:
            for name, content in contents.items():
                _put(Path(folder, name), content)
            client.log_artifacts(run, folder)
    if tables:
        client.set_tag(run, _TABLES_TAG, json.dumps([{"path": path, "type": "table"} for path in tables]))


def log_model(
    client: MlflowClient,
    experiment: str,
    run: str,
    content: bytes,
    golden: Mapping[str, Mapping[str, Sequence[Any]]],
    told: Told,
) -> LoggedModel:
    """Log a value model to an open run, its file byte for byte, with signature, example and figures.

    These are the steps of ``mlflow.onnx.log_model(name=…)``. Called as such it writes to the default
    experiment unless the run is the thread's active one, runs the example through a session whose warnings
    go to the terminal, and needs the process-wide tracking address.

    Parameters
    ----------
    experiment, run
        Their ids.
    content
        The model's file.
    golden
        ``inputs`` and ``outputs`` of the model's golden rows, by name.
    told
        Its metrics are logged for the model, the run and the data at once.
    """
    from mlflow.entities import LoggedModelOutput, LoggedModelStatus, Metric

    params = {str(k): _text(v)[:_PARAM_LETTERS] for k, v in told.params.items()}
    model = client.create_logged_model(
        experiment, name=MODEL_NAME, source_run_id=run, params=params, model_type="value-model"
    )
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model")
            _save(path, model, run, content, golden)
            client.log_model_artifacts(model.model_id, str(path))
        client.log_outputs(run, [LoggedModelOutput(model.model_id, step=0)])
        data = _dataset(told)
        moment = int(time.time() * 1000)
        metrics = [
            Metric(
                str(name), float(value), moment, 0, model_id=model.model_id,
                dataset_name=None if data is None else data.name,
                dataset_digest=None if data is None else data.digest,
                run_id=run,
            )
            for name, value in told.metrics.items()
            if value is not None and math.isfinite(value)
        ]  # fmt: skip
        for start in range(0, len(metrics), _BATCH):
            client.log_batch(run, metrics=metrics[start : start + _BATCH])
    except BaseException:
        client.finalize_logged_model(model.model_id, LoggedModelStatus.FAILED)
        raise
    return client.finalize_logged_model(model.model_id, LoggedModelStatus.READY)


def _save(
    path: Path,
    model: LoggedModel,
    run: str,
    content: bytes,
    golden: Mapping[str, Mapping[str, Sequence[Any]]],
) -> None:
    """A folder in MLflow's format of which the model's file is the very one that was accepted."""
    import onnx

    with warnings.catch_warnings():  # said of MLflow's own chat types, when they are imported
        warnings.filterwarnings("ignore", ".*Any type hint is inferred as AnyType", UserWarning)
        import mlflow.onnx
        import mlflow.pyfunc
    from mlflow.models import Model, infer_signature

    inputs = {k: np.asarray(v, np.float32)[:_EXAMPLE_ROWS] for k, v in golden["inputs"].items()}
    outputs = {
        k: np.asarray(v, np.int64 if k == "depth" else np.float32)[:_EXAMPLE_ROWS]
        for k, v in golden["outputs"].items()
    }
    mlflow.onnx.save_model(
        onnx.load_from_string(content),
        str(path),
        mlflow_model=Model(
            artifact_path=model.artifact_location,
            run_id=run,
            model_uuid=model.model_id,
            model_id=model.model_id,
        ),
        signature=infer_signature(inputs, outputs),
        input_example=inputs,
        pip_requirements=mlflow.onnx.get_default_pip_requirements(),
        onnx_execution_providers=["CPUExecutionProvider"],
        save_as_external_data=False,
    )
    # Another protobuf may write the same graph in other bytes, whose digest nobody has accepted.
    (path / "model.onnx").write_bytes(content)


def _dataset(told: Told) -> Any:
    """MLflow's entity of the data, None where there are none."""
    from mlflow.entities import Dataset

    if told.dataset is None:
        return None
    source = str(told.dataset["source"])
    scheme = urlsplit(source).scheme
    more = {k: v for k, v in told.dataset.items() if k not in ("name", "source")}
    return Dataset(
        name=str(told.dataset["name"]),
        digest=str(told.dataset["digest"])[:_DIGEST_LETTERS],
        source_type=scheme if len(scheme) > 1 else "local",
        source=json.dumps({"uri": source}),
        profile=_text(more),
    )


def _split(table: Mapping[str, Sequence[Any]]) -> str:
    """A table in pandas' "split" layout, in which MLflow keeps them; what is not finite is null."""

    def plain(value: Any) -> Any:
        value = value.item() if isinstance(value, np.generic) else value
        return None if isinstance(value, float) and not math.isfinite(value) else value

    rows = [[plain(v) for v in row] for row in zip(*table.values(), strict=True)]
    return json.dumps({"columns": list(table), "data": rows}, ensure_ascii=False, default=str)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value, default=str, ensure_ascii=False)
    return str(value)


def _put(path: Path, content: str | bytes | Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, Path):
        shutil.copyfile(content, path)
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
