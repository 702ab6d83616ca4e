"""Data specifications: what each names, and what a wrong one is told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from memvalue.data import DataError, load


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    path = tmp_path / "cases.jsonl"
    memory = {"text": "x", "role": "user", "time": "2026-01-05T09:00:00Z", "needed": True}
    path.write_text("".join(json.dumps({"id": str(i), "memories": [memory]}) + "\n" for i in range(3)))
    return path


def test_a_path_spec_is_loaded_and_kept(cases: Path) -> None:
    data = load(f"jsonl:{cases}")
    assert (data.spec, data.name, len(data)) == (f"jsonl:{cases}", "jsonl", 3)
    assert load(f"jsonl:{cases}", limit=2).cases[-1].id == "1"


def test_a_path_may_hold_colons_and_a_home(cases: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = cases.rename(cases.with_name("a:b=c,d.jsonl"))
    assert len(load(f"jsonl:{odd}")) == 3
    monkeypatch.setenv("HOME", str(odd.parent))
    assert len(load(f"jsonl:~/{odd.name}")) == 3


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "is empty; use longmemeval:PATH"),
        ("nonsense", "unknown data specification 'nonsense'; use longmemeval:PATH"),
        ("csv:x", "unknown data specification 'csv:x'"),
        ("jsonl", "'jsonl' names no path"),
        ("memora:", "'memora:' names no path"),
        ("longmemeval:", "'longmemeval:' names no path"),
        ("jsonl:/no/such/file", "/no/such/file does not exist"),
        ("jsonl:" + "x" * 5000, "does not exist"),
        ("memora:" + "x" * 5000, "does not exist"),
        ("x" * 5000, "unknown data specification"),
        ("simulated:sed=1", "'sed=1' is not one of seed=…, cases=…"),
        ("simulated:seed", "'seed' is not one of"),
        ("simulated:seed=x", "seed is 'x', not a whole number"),
        ("confound:cases=0", "cases must be 1 or more"),
        ("confound:seed=-1", "seed must be 0 or more"),
    ],
)
def test_a_wrong_spec_is_told_what_would_be_right(spec: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load(spec)


def test_a_bare_path_is_told_how_to_name_its_kind(cases: Path) -> None:
    with pytest.raises(DataError, match=f"write e.g. longmemeval:{cases}"):
        load(str(cases))


def test_a_limit_below_one_is_refused(cases: Path) -> None:
    with pytest.raises(DataError, match="limit must be 1 or more"):
        load(f"jsonl:{cases}", limit=0)


@pytest.mark.parametrize("name", ["simulated", "confound"])
def test_generated_sets_take_seed_and_cases(name: str) -> None:
    data = load(f"{name}:seed=3,cases=2")
    assert (data.spec, data.name, len(data)) == (f"{name}:seed=3,cases=2", name, 2)
    assert data.digest == load(f"{name}: cases=2, seed=3").digest
    assert data.digest != load(f"{name}:seed=4,cases=2").digest
    assert load(f"{name}:seed=3,cases=2", limit=1).digest != data.digest


def test_loading_needs_numpy_alone(cases: Path) -> None:
    code = (
        "import sys; from memvalue.data import load; load(sys.argv[1]); "
        "heavy = {'torch', 'sklearn', 'scipy', 'pandas', 'datasets', 'huggingface_hub'} & set(sys.modules); "
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code, f"jsonl:{cases}"], check=True)
