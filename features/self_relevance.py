"""Self relevance: does it concern the person's own life?

Source: the self-reference effect (Rogers, Kuiper & Kirker 1977).
Uses: first person, possessions, relations; a person's turns only. "My" carries three times what "I" does.
Range: [0, 1); neutral value 0.
Closeness to the running centroid of the user's turns was tried and is left out: see CHANGELOG.
"""

from __future__ import annotations

from memvalue.features.definition import Definition
from memvalue.features.evidence import Evidence
from memvalue.features.shape import Column, per_twenty_words, saturate, single


def self_relevance(e: Evidence, definition: Definition) -> Column:
    """float32[n] in [0, 1): person · sat(1.5·my + .5·I + .3·my relation + .3·first person a 20 words, 2)."""
    own = (
        1.5 * e["possessive_first"]
        + 0.5 * e["first_person"]
        + 0.3 * e["my_relation"]
        + 0.3 * per_twenty_words(e, "first_person")
    )
    return single(e["person"] * saturate(own, 2.0))
