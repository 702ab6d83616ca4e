"""A JavaScript agent with ONNX Runtime and none of our code decides as the Python runtime does."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from serve_models import content

from memvalue.data.load import load
from memvalue.features import extract
from memvalue.features.cache import default_cache_dir
from memvalue.serve import DEPTHS, ValueModel

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "serve" / "examples" / "decide.mjs"
PACKAGE = ROOT / "tests" / "node" / "package.json"
ROWS = 1000
COLUMNS = ("value", "depth", "forget_risk", "forget_score", "rank_score")
#: Longest that npm may take (7 s here for 440 MB).
INSTALL_SECONDS = 240


@pytest.fixture(scope="module")
def node_folder():
    """A folder with the pinned runtimes and the example; installed once a machine, skipped without npm."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} on this machine")
    pinned = PACKAGE.read_bytes()
    folder = default_cache_dir() / f"node-{hashlib.sha256(pinned).hexdigest()[:12]}"
    if not (folder / "installed").exists():
        part = folder.with_name(f"{folder.name}.{os.getpid()}")
        try:
            part.mkdir(parents=True)
            (part / "package.json").write_bytes(pinned)
            # The packages hold their libraries; install scripts would only fetch those for other hardware.
            command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"]
            done = subprocess.run(
                command, cwd=part, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
            )
            if done.returncode:
                pytest.skip(f"npm cannot install the runtimes: {done.stderr.strip()[-300:]}")
            (part / "installed").touch()
            shutil.rmtree(folder, ignore_errors=True)
            part.rename(folder)
        except (OSError, subprocess.TimeoutExpired) as error:
            pytest.skip(f"the runtimes cannot be installed: {error}")
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return folder


def decide_in_node(folder, tmp_path, model, rows, runtime):
    """What the example prints, as columns."""
    script = folder / f"decide-{os.getpid()}.mjs"  # imports resolve from where the script lies
    shutil.copy(EXAMPLE, script)
    (tmp_path / "model.onnx").write_bytes(model)
    try:
        done = subprocess.run(
            ["node", str(script), str(tmp_path / "model.onnx"), runtime],
            input=json.dumps({name: column.tolist() for name, column in rows.items()}),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    finally:
        script.unlink()
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stderr == ""
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(set(line) == set(COLUMNS) for line in lines)
    return {name: [line[name] for line in lines] for name in COLUMNS}


def same_decisions(found, want):
    assert found["depth"] == list(want.depth_names)
    assert set(want.depth_names) <= set(DEPTHS)
    for name in ("value", "forget_risk", "rank_score"):
        np.testing.assert_allclose(found[name], getattr(want, name), rtol=0, atol=1e-5)
    # Grows with age, up to some hundreds.
    np.testing.assert_allclose(found["forget_score"], want.forget_score, rtol=1e-5, atol=1e-5)


def factors_of(spec):
    """float32[ROWS, 7] and bool[ROWS]: the first memories of a data set, and which a machine said."""
    cases = [case.consolidation for case in load(spec).cases]
    table = np.concatenate([extract(c).values for c in cases])
    return table[:ROWS], ~np.concatenate([c.person for c in cases])[:ROWS]


def compare(folder, tmp_path, factors, machine, *, kinds, given):
    assert len(factors) == ROWS
    rng = np.random.default_rng(6)
    optional = {
        "age_days": (rng.random(ROWS) * 400).astype(np.float32),
        "uses": rng.integers(0, 6, ROWS).astype(np.float32),
        "relevance": rng.random(ROWS, dtype=np.float32),
        "use_strength": rng.random(ROWS, dtype=np.float32) * 2 - 1,
        "harm": np.where(rng.random(ROWS) < 0.7, 0, rng.random(ROWS)).astype(np.float32),
        "machine": machine.astype(np.float32),
    }
    for kind in kinds:
        want = ValueModel.from_bytes(content(kind)).decide(factors, **(optional if given else {}))
        for runtime in ("onnxruntime-node", "onnxruntime-web"):
            rows = {"factors": factors, **(optional if given else {})}
            same_decisions(decide_in_node(folder, tmp_path, content(kind), rows, runtime), want)


def test_node_decides_alike_on_a_thousand_real_memories(node_folder, shared_data, tmp_path):
    table = factors_of(f"longmemeval:{shared_data.longmemeval(6)}")
    compare(node_folder, tmp_path, *table, kinds=("linear", "offset", "mlp"), given=True)


def test_node_decides_alike_where_nothing_but_factors_is_given(node_folder, tmp_path):
    table = factors_of("simulated:seed=3,cases=12")
    compare(node_folder, tmp_path, *table, kinds=("linear",), given=False)


def test_the_example_refuses_what_is_no_factor(node_folder, tmp_path):
    with pytest.raises(AssertionError, match=r"factors\[1\] must be 7 numbers"):
        rows = {"factors": np.array([[0.5] * 7, [0.5] * 6 + [1.5]])}
        decide_in_node(node_folder, tmp_path, content(), rows, "onnxruntime-node")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"harm": [1.5]}, r"harm must be 1 numbers in \[0, 1\]"),
        ({"age_days": [1.0, 2.0]}, "age_days must be 1 numbers"),
        ({"age": [1.0]}, "age is no column"),
    ],
)
def test_the_example_refuses_columns_that_would_give_silent_nonsense(node_folder, tmp_path, columns, message):
    rows = {"factors": np.full((1, 7), 0.5), **{name: np.array(c) for name, c in columns.items()}}
    with pytest.raises(AssertionError, match=message):
        decide_in_node(node_folder, tmp_path, content(), rows, "onnxruntime-node")
