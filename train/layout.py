"""How the rows of a table belong to cases."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def case_offsets(groups: ArrayLike | None, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Bring the rows of each case together.

    Parameters
    ----------
    groups
        n case ids of any sortable dtype; None stands for one case.
    n
        Number of rows.

    Returns
    -------
    order, offsets
        int64[n] row numbers with each case's rows together and in their given order, and int64[C + 1]. Cases
        stand in the order in which they first appear.

    Raises
    ------
    ValueError
        When there are not n ids, or they cannot be told apart (NaN).
    """
    if groups is None:
        return np.arange(n), np.array([0, n] if n else [0], dtype=np.int64)
    ids = np.asarray(groups)
    if ids.shape != (n,):
        raise ValueError(f"groups has shape {ids.shape}, but there are {n} rows; pass one case id a row")
    if ids.dtype.kind == "f" and np.isnan(ids).any():
        raise ValueError("groups holds NaN; every row needs a case id")
    _, first, inverse, counts = np.unique(ids, return_index=True, return_inverse=True, return_counts=True)
    appearance = np.argsort(first, kind="stable")
    rank = np.empty_like(appearance)
    rank[appearance] = np.arange(len(first))
    order = np.argsort(rank[inverse.reshape(-1)], kind="stable")
    return order, np.concatenate([[0], np.cumsum(counts[appearance])]).astype(np.int64)


def training_table(
    estimator: Any, X: ArrayLike, y: ArrayLike
) -> tuple[NDArray[np.floating], NDArray[np.bool_]]:
    """Validate what an estimator is fitted on, in scikit-learn's way.

    Sets ``n_features_in_`` (and ``feature_names_in_``) on ``estimator``. ``y`` may be bool or any two
    numbers, of which the larger means needed, as scikit-learn has it for two classes.

    Returns
    -------
    X, needed
        float[N, F] (float32 stays float32) and bool[N].

    Raises
    ------
    ValueError
        When y has one or more than two values, or X is not a finite table.
    """
    from sklearn.utils.validation import check_array, column_or_1d, validate_data

    table, labels = validate_data(estimator, X, y, dtype=[np.float64, np.float32], multi_output=True)
    labels = column_or_1d(labels, warn=True)
    labels = check_array(labels, ensure_2d=False, dtype=None, input_name="y")
    values = np.unique(labels)
    if len(values) == 1:
        what = "needed" if values[0] else "not needed"
        raise ValueError(
            f"y has one class only: all {len(labels)} memories are {what} (n_samples={len(labels)}); "
            "fitting needs cases with both needed and other memories"
        )
    if len(values) > 2:
        raise ValueError(
            f"Unknown label type: y holds {len(values)} different values; pass a needed flag for each memory"
        )
    return table, labels == values[1]


def predict_table(estimator: Any, X: ArrayLike) -> NDArray[np.floating]:
    """Validate what a fitted estimator is asked about: a finite float[N, F] of the F it was fitted on."""
    from sklearn.utils.validation import check_is_fitted, validate_data

    check_is_fitted(estimator)
    table: NDArray[np.floating] = validate_data(estimator, X, reset=False, dtype=[np.float64, np.float32])
    return table


def varies_within_cases(X: NDArray[np.floating], groups: ArrayLike | None) -> NDArray[np.bool_]:
    """bool[F]: the factor takes more than one value within at least one case, so ranking can depend on it."""
    order, offsets = case_offsets(groups, len(X))
    rows = X[order]
    starts = offsets[:-1]
    spread = np.maximum.reduceat(rows, starts, axis=0) > np.minimum.reduceat(rows, starts, axis=0)
    return np.asarray(spread.any(axis=0), dtype=bool)
