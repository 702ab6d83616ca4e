"""A planted task for the estimators' tests: two factors matter, the others are noise."""

import numpy as np


def planted(cases=30, memories=40, seed=0, weights=(0, 0.5, 0, 0.5, 0, 0, 0)):
    """float32[N, 7] factors, bool[N] needed (the 2 best of each case by ``weights``), N case ids."""
    rng = np.random.default_rng(seed)
    X = rng.random((cases * memories, 7), dtype=np.float32)
    truth = (X @ np.array(weights, dtype=np.float64)).reshape(cases, memories)
    needed = (truth >= np.sort(truth, axis=1)[:, -2:-1]).ravel()
    return X, needed, np.repeat(np.arange(cases), memories)
