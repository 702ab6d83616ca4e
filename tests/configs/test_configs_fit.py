"""Settings are typed, layered and refused with a remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memvalue.configs import ConfigError, EvaluateConfig, FitConfig, presets, read_config


def test_defaults_are_the_published_protocol_on_the_embedded_corpus() -> None:
    config = FitConfig()
    assert (config.data, config.splits, config.split_kind, config.model) == (
        "simulated",
        20,
        "paper",
        "linear",
    )
    assert config.budgets == (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
    assert config.token_budgets == (0.01, 0.02, 0.05, 0.1, 0.2, 0.3)
    assert config.track is None


@pytest.mark.parametrize("name", presets())
def test_every_preset_reads(name: str) -> None:
    assert isinstance(read_config(FitConfig, name), FitConfig)


def test_what_is_said_by_hand_wins_over_the_file_and_the_file_over_defaults(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("splits: 3\nseed: 7\nbudgets: [0.3, 0.1, 0.1]\n")
    config = read_config(FitConfig, file, {"seed": 9, "splits": None})
    assert (config.splits, config.seed, config.model) == (3, 9, "linear")
    assert config.budgets == (0.1, 0.3)


def test_an_empty_file_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "empty.yaml"
    file.write_text("# nothing\n")
    assert read_config(FitConfig, file) == FitConfig()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("splitz: 3", "unknown key 'splitz'"),
        ("splits: 0", "splits=0"),
        ("budgets: [0.0]", "budgets=0.0"),
        ("budgets: [1.5]", "budgets=1.5"),
        ("budgets: [.nan]", "budgets=nan"),
        ("budgets: []", "needs at least one share"),
        ("policies: []", "leave the key out"),
        ("model: forest", "model='forest'"),
        ("encoder: glove", "encoder='glove'"),
        ("limit: 1", "limit=1"),
        ("- a\n- b", "expected 'key: value' lines, got list"),
        ("splits: [1", "line 1: not valid YAML"),
        ("a: !!python/object/apply:os.getcwd []", "not valid YAML"),
    ],
)
def test_a_bad_setting_names_the_key_and_the_file(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_config(FitConfig, file)
    assert message in str(caught.value)
    assert "bad.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_lists_the_presets() -> None:
    with pytest.raises(ConfigError, match="default"):
        read_config(FitConfig, "no/such.yaml")


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="UTF-8"):
        read_config(FitConfig, file)


def test_the_digest_ignores_places_and_nothing_else(tmp_path: Path) -> None:
    base = FitConfig()
    assert base.digest() == FitConfig(out=tmp_path / "m.onnx", cache=tmp_path, track="x").digest()
    for change in (
        {"seed": 1},
        {"model": "mlp"},
        {"regime": "online"},
        {"fit_budgets": (0.3,)},
        {"limit": 5},
    ):
        assert FitConfig(**change).digest() != base.digest()


@given(st.lists(st.floats(0.001, 1.0), min_size=1, max_size=8))
def test_order_and_repeats_of_budgets_do_not_matter(shares: list[float]) -> None:
    one = FitConfig(budgets=tuple(shares))
    other = FitConfig(budgets=tuple(reversed(shares + shares)))
    assert one.budgets == other.budgets
    assert one.digest() == other.digest()


def test_an_evaluation_takes_no_fitting_settings() -> None:
    with pytest.raises(ConfigError, match="unknown key 'encoder'"):
        read_config(EvaluateConfig, None, {"model": "m.onnx", "encoder": "none"})
