"""What the event log says of each memory: deliberate uses, and recent corrections."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memvalue.data.consolidation import Consolidation
from memvalue.features.use_clock import DECAY_PER_HOUR, HARM_KINDS, HARM_PER_HOUR, fade, use_amount

#: More uses or harm than this is no different for any factor, and float32 holds it.
_MOST = 1e30


def log_evidence(
    consolidation: Consolidation, *, online: bool = False, begun: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Uses and harm of each memory; NaN as long as there is no log.

    Batch looks at the log at ``now``; online at the moment of the memory's own time, as a decision at write
    time must. Only events up to that moment count (to the second, as memories are dated), and until the
    first of them there is no log. Being written is not a use of itself, so the first ``written`` of a memory
    is left out; writing it again is one. ``begun`` says that there was a log before these memories.

    Returns
    -------
    uses
        float64[n]; Σ signal·weight·.995^hours over opened and confirmed, written again Σ weight·.995^hours.
    harm
        float64[n]; Σ weight·.999^hours over corrected, contradicted and superseded.
    """
    n = len(consolidation)
    if not consolidation.events:
        known = 0.0 if begun else np.nan
        return np.full(n, known), np.full(n, known)
    uses, harm, written = [0.0] * n, [0.0] * n, [False] * n
    logged = 0 if begun else n  # the first memory that has a log
    now = int(consolidation.now.astype("datetime64[s]").astype(np.int64))
    times = consolidation.times.astype("datetime64[s]").astype(np.int64)
    moments = times.tolist() if online else [now] * n
    for event in consolidation.events:
        memory, second = event.memory, event.time.timestamp()
        if online:
            # Known from the first memory on that is no earlier than the event and the memory it names.
            logged = min(logged, max(memory, int(np.searchsorted(times, second // 1))))
        elif second // 1 <= now:
            logged = 0
        if second // 1 > moments[memory]:
            continue
        hours = max(moments[memory] - second, 0.0) / 3600.0
        if event.kind in HARM_KINDS:
            harm[memory] += fade(event.weight, hours, HARM_PER_HOUR)
        elif event.kind == "written" and not written[memory]:
            written[memory] = True
        else:
            uses[memory] += fade(use_amount(event.kind, event.signal, event.weight), hours, DECAY_PER_HOUR)
    columns = np.minimum(np.array([uses, harm], dtype=np.float64).reshape(2, n), _MOST)
    columns[:, :logged] = np.nan
    return columns[0], columns[1]
