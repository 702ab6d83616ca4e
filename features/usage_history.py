"""Usage history: the need there has been so far.

Source: need probability (Anderson & Schooler 1991); storage strength (Bjork & Bjork 1992).
Uses: deliberate uses from the event log where there is one (opened, confirmed, written again; being shown
never counts), and rehearsal: a person's rare words coming up again in another conversation.
Range: [0, 1]; neutral value 0.
"""

from __future__ import annotations

import numpy as np

from memvalue.features.definition import Definition
from memvalue.features.evidence import Evidence
from memvalue.features.shape import Column, choose, known, saturate, single

#: Rare words shared with one other memory that say most of it: about the median of LongMemEval's user turns.
OVERLAP_SCALE = 4.0

#: Topic similarity at which it is full (the upper quarter of LongMemEval's conversations).
TOPIC_FULL = 0.25

#: Share of the conversation's topic in rehearsal, the rest is the memory's own overlap.
TOPIC = 0.5

#: Share of deliberate uses where a log exists: a use is evidence of need, a recurrence only a hint.
USES = 0.7


def usage_history(e: Evidence, definition: Definition) -> Column:
    """float32[n] in [0, 1]; .7·sat(uses, 2) + .3·rehearsal with a log, rehearsal alone without."""
    rehearsal = single(0.0 * e["person"])
    if definition.rehearsal:
        own = saturate(e["overlap"], OVERLAP_SCALE)
        topic = np.minimum(e["topic"] / TOPIC_FULL, 1.0)
        rehearsal = single(e["person"] * ((1.0 - TOPIC) * own + TOPIC * topic))
    uses = e["uses"]
    needed = USES * saturate(known(uses), 2.0) + (1.0 - USES) * rehearsal
    return choose(np.isnan(uses), rehearsal, needed)
