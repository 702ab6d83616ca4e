"""The registry of models: what is recorded, which version is champion, and the way back."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mlflow_server import MlflowServer

from memvalue import models
from memvalue.serve import ValueModel
from memvalue.train.plots import reliability_plot, reliability_table, retention_plot
from memvalue.train.registry import Registry
from memvalue.train.version import Version

mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed (extra train)")

ONE, OTHER = models.path("default"), models.path("longmemeval")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    """One SQLite store for the module, since making one takes seconds; each test has its own businesses."""
    return Registry(f"sqlite:///{tmp_path_factory.mktemp('registry')}/new/mlflow.db")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MlflowServer]:
    with MlflowServer(tmp_path_factory.mktemp("server")) as running:
        yield running


def client(registry: Registry) -> Any:
    return mlflow.MlflowClient(tracking_uri=registry.uri, registry_uri=registry.uri)


def promote(registry: Registry, business: str, path: Path = ONE, **more: Any) -> Version:
    found = registry.record(business, model_path=path, decision="promote", promoted=True, **more)
    assert found is not None
    return found


def refuse(registry: Registry, business: str, path: Path = OTHER) -> Version:
    found = registry.record(business, model_path=path, decision="keep-current", promoted=False)
    assert found is not None
    return found


def standing(registry: Registry, business: str) -> tuple[list[int], list[int]]:
    """Numbers of the champion and of the challenger."""
    found = registry.history(business)
    return [v.number for v in found if v.champion], [v.number for v in found if v.challenger]


def full(registry: Registry, business: str) -> Version:
    """A version with everything that can be told."""
    return promote(
        registry,
        business,
        reasons=["keeps 0.02 more than\nthe base", "over 90 cases"],
        gain=0.02,
        ci=(0.004, float("inf")),
        params={"seed": 3, "budgets": [0.1, 0.3]},
        metrics={"cases": 90, "nothing": None, "odd": float("nan")},
        dataset={"name": "log", "digest": "ab" * 32, "source": "postgresql://me:secret@db/x", "cases": 120},
        tables={"weights": {"factor": ["a", "b"], "weight": np.array([0.25, np.nan])}},
        plots={"kept.png": b"\x89PNG"},
        files={"report.json": "{}", "models/base.onnx": OTHER},
    )


def check_full(registry: Registry, business: str, version: Version, folder: Path) -> None:
    found = client(registry)
    run = found.get_run(version.run_id)
    assert run.info.status == "FINISHED"
    assert run.data.params == {
        "decision": "promote", "promoted": "True", "seed": "3", "budgets": "[0.1, 0.3]"
    }  # fmt: skip
    assert run.data.metrics == {"gain": 0.02, "ci_low": 0.004, "cases": 90.0}
    (data,) = run.inputs.dataset_inputs
    assert data.dataset.name == "log"
    assert data.dataset.digest == "ab" * 18
    assert "ab" * 32 in {t.value for t in data.tags}
    assert "secret" not in data.dataset.source and "db/x" in data.dataset.source
    assert json.loads(data.dataset.profile)["cases"] == 120

    (logged,) = run.outputs.model_outputs
    model = found.get_logged_model(logged.model_id)
    assert (model.name, model.status.value, model.source_run_id) == ("value-model", "READY", run.info.run_id)
    assert {m.key: m.dataset_digest for m in model.metrics}["gain"] == "ab" * 18

    def paths(within: str | None = None) -> set[str]:
        return {a.path for a in found.list_artifacts(run.info.run_id, within)}

    assert paths() == {"models", "plots", "report.json", "tables"}
    assert paths("plots") == {"plots/kept.png"}
    shown = json.loads(run.data.tags["mlflow.loggedArtifacts"])  # where MLflow's load_table looks
    assert shown == [{"path": "tables/weights.json", "type": "table"}]
    table = Path(found.download_artifacts(run.info.run_id, "tables/weights.json", str(folder)))
    assert json.loads(table.read_text()) == {
        "columns": ["factor", "weight"],
        "data": [["a", 0.25], ["b", None]],
    }

    assert version.reasons == ("keeps 0.02 more than the base", "over 90 cases")
    assert (version.gain, version.ci) == (0.02, (0.004, None))
    assert version.sha256 == hashlib.sha256(ONE.read_bytes()).hexdigest()
    assert registry.history(business) == [version]


def test_a_run_holds_settings_figures_data_tables_plots_and_the_model(
    store: Registry, tmp_path: Path
) -> None:
    check_full(store, "full", full(store, "full"), tmp_path)


def test_the_file_comes_back_byte_for_byte_and_the_runtime_accepts_it(
    store: Registry, tmp_path: Path
) -> None:
    for path in (ONE, OTHER):
        promote(store, "bytes", path)
        found = store.champion("bytes", tmp_path / "out.onnx")
        assert found is not None and found.champion
        assert (tmp_path / "out.onnx").read_bytes() == path.read_bytes()
        assert ValueModel.load(tmp_path / "out.onnx").digest == ValueModel.load(path).digest


def test_mlflow_itself_loads_it_with_signature_and_example(
    store: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    promote(store, "pyfunc")
    assert store.uri is not None
    monkeypatch.setattr("mlflow.tracking._tracking_service.utils._tracking_uri", store.uri)
    loaded = mlflow.pyfunc.load_model("models:/pyfunc@champion")
    info = loaded.metadata
    inputs = {name: np.asarray(v, np.float32) for name, v in info.load_input_example().items()}
    golden = ValueModel.load(ONE).metadata["golden"]
    assert {i.name for i in info.signature.inputs} == set(golden["inputs"]) == set(inputs)
    assert {o.name for o in info.signature.outputs} == set(golden["outputs"])
    assert np.allclose(loaded.predict(inputs)["value"], golden["outputs"]["value"][:2], atol=1e-6)


def test_the_champion_moves_only_when_promoted(store: Registry) -> None:
    refuse(store, "moves")
    assert standing(store, "moves") == ([], [1])
    promote(store, "moves")
    assert standing(store, "moves") == ([2], [1])
    refuse(store, "moves")
    assert standing(store, "moves") == ([2], [3])
    assert promote(store, "moves").previous_champion == 2
    assert standing(store, "moves") == ([4], [3])


def test_a_business_without_a_champion_has_none(store: Registry, tmp_path: Path) -> None:
    refuse(store, "none-yet")
    for business in ("none-yet", "never-heard-of"):
        assert store.champion(business, tmp_path / "x.onnx") is None
    assert not list(tmp_path.iterdir())


def test_rollbacks_go_back_one_by_one_and_promotions_go_on_from_there(store: Registry) -> None:
    for _ in range(3):
        promote(store, "steps")
    assert store.rollback("steps").number == 2
    assert store.rollback("steps").number == 1
    with pytest.raises(ValueError, match="first champion: there is none before it"):
        store.rollback("steps")
    assert promote(store, "steps").previous_champion == 1  # not 3, which was champion before by number
    assert store.rollback("steps").number == 1
    assert store.rollback("steps", 3).number == 3
    assert store.rollback("steps").number == 2
    assert standing(store, "steps") == ([2], [])
    marked = {v.number: v.rolled_back is not None for v in store.history("steps")}
    assert marked == {1: True, 2: True, 3: True, 4: True}


def test_any_mix_of_promotions_refusals_and_rollbacks_keeps_the_order(store: Registry) -> None:
    draw = random.Random(5)
    before: dict[int, int | None] = {}
    champion: int | None = None
    for number in range(1, 31):
        step = draw.choice(["promote", "refuse", "back", "back", "to"])
        if step == "promote":
            found = promote(store, "mix")
            before[found.number] = champion
            champion = found.number
        elif step == "refuse":
            refuse(store, "mix")
        elif champion is None:
            continue
        elif step == "back" and before[champion] is None:
            with pytest.raises(ValueError, match="first champion"):
                store.rollback("mix")
        elif step == "back":
            champion = before[champion]
            assert store.rollback("mix").number == champion
        else:
            champion = draw.choice(sorted(before))
            assert store.rollback("mix", champion).number == champion
        if number % 5 == 0:
            assert standing(store, "mix")[0] == [champion]


def test_a_rollback_writes_the_file_and_going_where_one_is_changes_nothing(
    store: Registry, tmp_path: Path
) -> None:
    promote(store, "writes", ONE)
    promote(store, "writes", OTHER)
    out = tmp_path / "m.onnx"
    store.rollback("writes", path=out)
    assert out.read_bytes() == ONE.read_bytes()
    again = store.rollback("writes", 1, out)
    assert again.champion and again.rolled_back is None
    with pytest.raises(ValueError, match="does not exist; make it first"):
        store.rollback("writes", 2, tmp_path / "no" / "m.onnx")
    assert standing(store, "writes")[0] == [1]


def test_a_rollback_that_cannot_be_is_refused_with_the_reason(store: Registry) -> None:
    refuse(store, "refused")
    with pytest.raises(ValueError, match="'refused' has no champion to roll back"):
        store.rollback("refused")
    promote(store, "refused")
    with pytest.raises(ValueError, match=r"version 1 .* never been champion .* keep-current"):
        store.rollback("refused", 1)
    with pytest.raises(ValueError, match="has no version 9"):
        store.rollback("refused", 9)
    promote(store, "refused")
    client(store).delete_model_version("refused", "2")
    with pytest.raises(ValueError, match=r"version 2 .* was deleted; name another"):
        store.rollback("refused")
    assert standing(store, "refused")[0] == [3]


def test_a_spoiled_file_never_becomes_champion_again(store: Registry, tmp_path: Path) -> None:
    promote(store, "spoiled", ONE)
    promote(store, "spoiled", OTHER)
    where = Path(client(store).get_model_version_download_uri("spoiled", "1").removeprefix("file://"))
    (where / "model.onnx").write_bytes(OTHER.read_bytes())
    with pytest.raises(ValueError, match="not the one that was recorded"):
        store.rollback("spoiled")
    (where / "model.onnx").unlink()
    with pytest.raises(ValueError, match="cannot be had from"):
        store.rollback("spoiled")
    assert standing(store, "spoiled")[0] == [2]


def test_what_is_no_sound_model_is_not_recorded(store: Registry, tmp_path: Path) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(ONE.read_bytes().replace(b'"seed":', b'"sead":', 1))
    for path in (broken, tmp_path / "none.onnx"):
        with pytest.raises(ValueError):
            promote(store, "unsound", path)
    with pytest.raises(ValueError, match="nothing is recorded of 'unsound'"):
        store.history("unsound")


def test_a_failure_on_the_way_leaves_the_champion_and_marks_the_run(
    store: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    promote(store, "failing")

    def fails(*args: Any, **more: Any) -> None:
        raise mlflow.exceptions.MlflowException("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(mlflow.MlflowClient, "create_model_version", fails)
        with pytest.raises(ValueError, match=r"MLflow store sqlite:.*the disk is full"):
            promote(store, "failing")
    assert standing(store, "failing") == ([1], [])
    experiment = client(store).get_experiment_by_name("memvalue-recalibration").experiment_id
    runs = client(store).search_runs([experiment], "tags.`memvalue.business` = 'failing'")
    assert sorted(r.info.status for r in runs) == ["FAILED", "FINISHED"]


@pytest.mark.parametrize("name", ["", "a/b", "a:b", "../x", "a b", "a@b", "-a", "a" * 129, "müller", "a'b"])
def test_a_name_that_cannot_be_registered_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="use letters, digits"):
        promote(Registry(None), name)


def test_a_model_of_somebody_else_is_left_alone_and_a_prefix_helps(store: Registry) -> None:
    client(store).create_registered_model("theirs")
    with pytest.raises(ValueError, match="not as the model of a business"):
        promote(store, "theirs")
    ours = Registry(store.uri, prefix="memvalue-")
    assert promote(ours, "theirs").business == "theirs"
    assert set(client(store).get_registered_model("memvalue-theirs").aliases) == {"champion"}
    assert not client(store).get_registered_model("theirs").aliases


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"dataset": {"name": "x", "source": "y"}}, "a dataset has a name"),
        ({"files": {"../x": "y"}}, "not a file name within a run"),
        ({"plots": {"/x.png": b""}}, "not a file name within a run"),
        ({"tables": {"t": {"a": [1], "b": [1, 2]}}}, "differ in length"),
    ],
)
def test_what_cannot_be_told_is_refused_before_anything_is_written(
    store: Registry, told: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        promote(store, "untold", **told)
    with pytest.raises(ValueError, match="nothing is recorded"):
        store.history("untold")


def test_without_a_store_nothing_is_recorded_and_the_rest_says_so(tmp_path: Path) -> None:
    off = Registry(None)
    assert off.record("acme", model_path=ONE, decision="promote", promoted=True) is None
    assert off.champion("acme", tmp_path / "x.onnx") is None
    for call in (off.history, off.rollback):
        with pytest.raises(ValueError, match="registry is off"):
            call("acme")


def test_asking_a_store_that_is_not_there_does_not_make_it(tmp_path: Path) -> None:
    absent = Registry(f"sqlite:///{tmp_path}/mlflow.db")
    assert absent.champion("acme", tmp_path / "x.onnx") is None
    for call in (absent.history, absent.rollback):
        with pytest.raises(ValueError, match="there is no MLflow store at"):
            call("acme")
    assert not list(tmp_path.iterdir())


def test_recording_leaves_the_process_and_the_folder_as_they_were(
    store: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "77")
    before, address = dict(os.environ), mlflow.get_tracking_uri()
    promote(store, "quiet")
    promote(store, "quiet")
    store.rollback("quiet")
    assert dict(os.environ) == before
    assert mlflow.get_tracking_uri() == address
    assert mlflow.active_run() is None
    assert not list(tmp_path.iterdir())
    assert capfd.readouterr() == ("", "")
    folder = Path(str(store.uri).removeprefix("sqlite:///")).parent
    assert {p.name for p in folder.iterdir()} == {"mlflow.db", "mlflow.db.lock", "mlartifacts"}


@pytest.mark.parametrize(
    "uri", ["http://me:secret@127.0.0.1:9", "postgresql+psycopg://me:secret@127.0.0.1:9/x"]
)
def test_a_store_that_does_not_answer_is_told_soon_and_without_the_password(uri: str) -> None:
    if uri.startswith("postgresql"):
        pytest.importorskip("psycopg", reason="psycopg is not installed (extra postgres)")
    begun, before = time.monotonic(), dict(os.environ)
    with pytest.raises(ValueError, match="connection refused; is it the address") as told:
        promote(Registry(uri), "acme")
    assert "secret" not in str(told.value)
    assert "127.0.0.1:9" in str(told.value)
    assert time.monotonic() - begun < 20
    assert dict(os.environ) == before


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("mlruns", "not the address of an MLflow store"),
        ("file:///tmp/mlruns", "no models in plain folders"),
        ("sqlite://", "names no file"),
        ("sqlite:///:memory:", "names no file"),
    ],
)
def test_what_is_no_store_is_refused_at_once(uri: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Registry(uri)


def test_a_file_that_is_no_database_is_told_soon(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("not a database, and long enough to look like one" * 10)
    begun = time.monotonic()
    with pytest.raises(ValueError, match="file is not a database"):
        promote(Registry(f"sqlite:///{tmp_path}/x.db"), "acme")
    assert time.monotonic() - begun < 10


PROMOTE = """
import sys
from memvalue import models
from memvalue.train.registry import Registry
registry = Registry(sys.argv[1])
for _ in range(3):
    registry.record("acme", model_path=models.path("default"), decision="promote", promoted=True)
"""


@pytest.mark.slow
def test_two_processes_that_promote_into_a_new_store_take_turns(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", PROMOTE, uri], cwd=tmp_path, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for writer in writers:
        _, err = writer.communicate(timeout=240)
        assert writer.returncode == 0, err
    found = Registry(uri).history("acme")
    assert [v.number for v in found] == [6, 5, 4, 3, 2, 1]
    assert [v.previous_champion for v in found] == [5, 4, 3, 2, 1, None]
    assert [v.number for v in found if v.champion] == [6]


def test_a_real_server_keeps_it_all(server: MlflowServer, tmp_path: Path) -> None:
    registry = Registry(server.uri)
    check_full(registry, "served", full(registry, "served"), tmp_path)
    promote(registry, "served", OTHER)
    refuse(registry, "served")
    assert standing(registry, "served") == ([2], [3])
    assert registry.champion("served", tmp_path / "c.onnx") is not None
    assert (tmp_path / "c.onnx").read_bytes() == OTHER.read_bytes()
    assert registry.rollback("served", path=tmp_path / "c.onnx").number == 1
    assert (tmp_path / "c.onnx").read_bytes() == ONE.read_bytes()
    with pytest.raises(ValueError, match="first champion"):
        registry.rollback("served")
    assert registry.champion("unknown", tmp_path / "u.onnx") is None
    with pytest.raises(ValueError, match="nothing is recorded"):
        registry.history("unknown")
    assert client(registry).get_model_version("served", "1").source.startswith("models:/m-")


def test_a_plot_is_a_png_and_equal_numbers_give_equal_bytes() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib comes with MLflow")
    kept = {"base": [0.2, 0.5], "current": [0.3, float("nan")], "candidate": [0.4, 0.7]}
    plot = retention_plot([0.05, 0.1], kept)
    assert plot is not None and plot.startswith(b"\x89PNG")
    assert plot == retention_plot([0.05, 0.1], kept)
    values = np.linspace(0, 1, 40)
    found = reliability_plot(values, values > 0.5)
    assert found is not None and found.startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="'base' has 1 numbers for 2 budgets"):
        retention_plot([0.05, 0.1], {"base": [0.2]})


def test_reliability_counts_groups_of_equally_many() -> None:
    values = np.arange(20)[::-1] / 20  # groups of two: values 0 and .05, .1 and .15, …
    needed = values >= 0.45
    table = reliability_table(values, needed)
    assert table["memories"] == [2] * 10
    assert np.allclose(table["value"], 0.025 + 0.1 * np.arange(10))
    assert table["needed"] == [0, 0, 0, 0, 0.5, 1, 1, 1, 1, 1]
    with pytest.raises(ValueError, match="one value and one flag"):
        reliability_table([], [])
