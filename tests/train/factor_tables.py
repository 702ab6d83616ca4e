"""Small factor tables of a planted business for the tests of recalibration."""

import numpy as np

from memvalue.data.factor_table import FactorTable
from memvalue.features.names import DEFINITION_VERSION, FACTORS

START = np.datetime64("2024-01-01T00:00:00", "s")
DAY = np.timedelta64(86400, "s")


def planted_table(
    cases=40, memories=30, seed=0, weights=(0, 0.5, 0, 0.5, 0, 0, 0), wanted=3, noise=0.1, **dates
):
    """A case a week; the best ``wanted`` memories by ``weights`` (and some noise) are needed."""
    rng = np.random.default_rng(seed)
    X = rng.random((cases * memories, len(FACTORS)), dtype=np.float32)
    score = (X @ np.array(weights, dtype=np.float64) + noise * rng.standard_normal(len(X))).reshape(cases, -1)
    needed = (score >= np.sort(score, axis=1)[:, -wanted][:, None]).ravel()
    return table_of(X, needed, np.arange(cases + 1) * memories, **dates)


def table_of(factors, needed, offsets, every_days=7, horizon_days=7, times=None, **changes):
    """A table of these rows, a case every so many days."""
    cases, n = len(offsets) - 1, len(needed)
    times = START + np.arange(cases) * (every_days * DAY) if times is None else times
    columns = {
        "names": FACTORS,
        "definition": {"name": "default"},
        "definition_version": DEFINITION_VERSION,
        "times": times,
        "ends": times + horizon_days * DAY,
        "offsets": np.asarray(offsets, dtype=np.int64),
        "factors": np.asarray(factors, dtype=np.float32),
        "informed": np.ones(len(FACTORS), dtype=bool),
        "machine": np.zeros(n, dtype=bool),
        "tokens": np.ones(n, dtype=np.int64),
        "age_days": np.zeros(n, dtype=np.float32),
        "uses": np.full(n, np.nan, dtype=np.float32),
        "needed": np.asarray(needed, dtype=bool),
        "obsolete": np.zeros(n, dtype=bool),
        "source": "simulated",
    }
    return FactorTable(**(columns | changes))
