"""From cases to the numbers that a recalibration needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from memvalue.data.dataset import Dataset
from memvalue.data.errors import DataError
from memvalue.data.factor_file import salted_ids
from memvalue.data.factor_table import FactorTable
from memvalue.eval.prepare_job import Progress, Setting
from memvalue.features.names import DEFINITION_VERSION, FACTORS


def factor_table(
    dataset: Dataset,
    setting: Setting,
    *,
    ends: NDArray[np.datetime64] | None = None,
    ids: Sequence[Sequence[str]] | None = None,
    salt: bytes | None = None,
    source: str = "cases",
    progress: Progress | None = None,
) -> FactorTable:
    """The cases of a data set as numbers, in order of their times of consolidation (stable).

    Every answer key is opened once.

    Parameters
    ----------
    dataset
        C cases.
    setting
        How the factors are made.
    ends
        datetime64[s][C], in the order of the cases; their times of consolidation where None.
    ids
        For each case, the store's ids of its memories in the order of its rows; they go in salted.
    salt
        At least 16 bytes; needed with ``ids``.
    source
        Where the labels come from.
    progress
        Called as ``(done, total, label)``.

    Raises
    ------
    DataError
        For ids without a salt, or ends or ids of other lengths than the cases.
    """
    cases = list(dataset)
    if ids is not None and salt is None:
        raise DataError("ids go into a factor table salted; give a salt")
    for name, column in (("ends", ends), ("ids", ids)):
        if column is not None and len(column) != len(cases):
            raise DataError(f"{name} has {len(column)} entries for {len(cases)} cases")
    if ids is not None and [len(names) for names in ids] != [len(case) for case in cases]:
        raise DataError("ids must have one name for each memory of each case")
    times = np.array([c.consolidation.now for c in cases], dtype="datetime64[s]")
    order = np.argsort(times, kind="stable").tolist()
    ordered = replace(dataset, cases=[cases[c] for c in order], digest=dataset.digest)
    bench = setting.bench(ordered, progress)
    until = times if ends is None else ends.astype("datetime64[s]")
    nothing = np.full(len(bench), np.nan, dtype=np.float32)
    return FactorTable(
        names=FACTORS,
        definition=dict(setting.described),
        definition_version=DEFINITION_VERSION,
        times=times[order],
        ends=until[order],
        offsets=bench.offsets,
        factors=bench.factors,
        informed=bench.informed,
        machine=~bench.person,
        tokens=bench.tokens,
        # float32 of what lies a second before now may round below; it is no less than no time.
        age_days=np.maximum(bench.age_days, 0.0).astype(np.float32),
        uses=bench.column("uses") if "uses" in bench.evidence_names else nothing,
        needed=bench.needed,
        obsolete=np.zeros(len(bench), dtype=bool) if bench.obsolete is None else bench.obsolete,
        ids=None if ids is None or salt is None else salted_ids((n for c in order for n in ids[c]), salt),
        source=source,
    )
