"""Small models for the runtime's tests, exported once a session."""

from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from memvalue.train.export import export_model
from memvalue.train.linear import LinearValueModel
from memvalue.train.mlp import MLPValueModel

WEIGHTS = np.array([0.02, 0.2, 0.01, 0.17, 0.14, 0.18, 0.28])


@cache
def estimator(kind):
    """A model with known weights, one with a role offset, or a network with made-up ones."""
    if kind == "linear":
        return LinearValueModel.from_weights(WEIGHTS)
    if kind == "offset":
        return LinearValueModel.from_weights(WEIGHTS, offset=-0.4)
    rng = np.random.default_rng(4)
    model = MLPValueModel()
    sizes = [7, 16, 16, 1]
    model.coefs_ = [rng.normal(0, a**-0.5, (a, b)).astype(np.float32) for a, b in pairwise(sizes)]
    model.intercepts_ = [rng.normal(0, 0.1, b).astype(np.float32) for b in sizes[1:]]
    model.mean_ = np.full(7, 0.4, np.float32)
    model.scale_ = np.full(7, 0.25, np.float32)
    model.informed_ = np.array([True] * 6 + [False])
    model.score_mean_, model.score_scale_ = 0.125, 0.75
    model.n_features_in_ = 7
    return model


@cache
def held_out():
    """float32[400, 7] factors and bool[400] needed."""
    rng = np.random.default_rng(8)
    X = rng.random((400, 7), dtype=np.float32)
    return X, rng.random(400) * 0.4 + 0.4 < X @ WEIGHTS


@cache
def content(kind="linear", **options):
    """The bytes of an exported model."""
    model = estimator(kind)
    X, needed = held_out()
    values = X @ WEIGHTS
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        export_model(
            model,
            path,
            reference=None if kind == "offset" else X,
            calibration=(values, needed),
            created=datetime(2025, 1, 2, tzinfo=UTC),
            **options,
        )
        return path.read_bytes()
