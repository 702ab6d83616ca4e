"""What the event log says of each memory: deliberate uses, and recent corrections."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memvalue.data.consolidation import Consolidation
from memvalue.data.event import DELIBERATE_USES

#: A use counts less by the hour: .995 an hour, a half-life of 5.8 days (Bizer's short clock, the better of
#: the two for recall).
DECAY_PER_HOUR = 0.995

#: A correction demotes, and is forgotten with a half-life of about four weeks: what was wrong once and has
#: been right since should recover.
HARM_PER_HOUR = 0.999

_HARM = frozenset({"corrected", "contradicted", "superseded"})


def log_evidence(
    consolidation: Consolidation,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Uses and harm at the moment of consolidation; NaN throughout where there is no log at all.

    Only events up to ``now`` count. Being written is not a use of itself, so the first ``written`` of a
    memory is left out; writing it again is one.

    Returns
    -------
    uses
        float64[n]; Σ signal·weight·.995^hours over opened, confirmed and written again.
    harm
        float64[n]; Σ weight·.999^hours over corrected, contradicted and superseded.
    """
    n = len(consolidation)
    if not consolidation.events:
        return np.full(n, np.nan), np.full(n, np.nan)
    uses, harm = np.zeros(n), np.zeros(n)
    now = consolidation.now.astype("datetime64[s]").astype(np.int64)
    written = np.zeros(n, dtype=bool)
    for event in consolidation.events:
        hours = (int(now) - event.time.timestamp()) / 3600.0
        if hours < 0:
            continue
        if event.kind in _HARM:
            harm[event.memory] += event.weight * HARM_PER_HOUR**hours
        elif event.kind in DELIBERATE_USES:
            if event.kind == "written" and not written[event.memory]:
                written[event.memory] = True
                continue
            uses[event.memory] += event.signal * event.weight * DECAY_PER_HOUR**hours
    return uses, harm
