"""Value alignment: how close something is to what its owner holds dear.

Source: value-directed remembering (Castel 2007).
Uses: a declared value profile where there is one (by embedding, else by shared words); else stated likes,
dislikes, wants and principles, as counts and per 20 words; a person's turns only.
Range: [0, 1]; neutral value 0.
"""

from __future__ import annotations

from memvalue.features.definition import Definition
from memvalue.features.evidence import Evidence
from memvalue.features.shape import Column, per_twenty_words, saturate, single


def value_alignment(e: Evidence, definition: Definition) -> Column:
    """float32[n] in [0, 1]: the profile's match, or person · sat(.7·preference + .5·value + .5·rate, 1.5)."""
    if e.has("profile_match"):
        return e["profile_match"]
    stated = 0.7 * e["preference"] + 0.5 * e["value_words"] + 0.5 * per_twenty_words(e, "preference")
    return single(e["person"] * saturate(stated, 1.5))
