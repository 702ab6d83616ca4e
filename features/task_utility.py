"""Task utility: would it help to act later?

Source: adaptive memory (Nairne, Thompson & Pandeirada 2007): what is of use is kept.
Uses: for a person, specific content (numbers, what was done, units, dates, times, names) and words that are
new to the store, and cues that something has changed; for an assistant, reusable products (names, numbers,
recommendations, lists) without boilerplate, refusal or talk about the user.
Range: [0, 1]; neutral value 0.
A bare request or filler has next to none, however long.
"""

from __future__ import annotations

import numpy as np

from memvalue.features.definition import Definition
from memvalue.features.evidence import Evidence
from memvalue.features.shape import (
    Column,
    choose,
    natural,
    no_refusal,
    per_twenty_words,
    saturate,
    single,
    statement,
)

#: Share of new words in a person's utility. Over three data sets, weights fitted on the other two: .25 keeps
#: 1 to 3 points fewer of Memora and LoCoMo, .55 a point fewer of LongMemEval.
NOVELTY = 0.4

#: Detrended new words that say most of it (trial: 8 of 4 a usual turn).
NOVELTY_SCALE = 8.0

#: What a retraction cue adds ("no longer", "cancelled"): the announcement that a fact has become false must
#: outlive the fact. Kept announcements of Memora at 10 %: .88 without, .94 with; live memory the same.
RETRACTION = 0.15

#: Words of boilerplate, and of address ("you", "your"), that take e⁻¹ of an assistant's product: what only
#: talks to the user is no product. Together they lift the AUC of needed assistant turns on LongMemEval from
#: .60 to .80; among turns of the same provenance it stays at .72, so most of that gain is style.
BOILERPLATE_SCALE = 4.0
ADDRESS_SCALE = 6.0


def task_utility(e: Evidence, definition: Definition) -> Column:
    """float32[n] in [0, 1]; persons: .6·specifics + .4·new words + .15·retraction; assistants: product."""
    person = _specifics(e)
    if definition.novelty:
        new = saturate(e["novelty"], NOVELTY_SCALE) * natural(e)
        person = (1.0 - NOVELTY) * person + NOVELTY * new
    cues = saturate(e["retraction"] + e["retraction_phrases"], 1.0)
    person = np.minimum(person + RETRACTION * cues, 1.0)
    return choose(e["person"] > 0, person, _product(e))


def _specifics(e: Evidence) -> Column:
    """float32[n] in [0, 1); numbers, deeds, quantities, dates, times and names, less when only asked."""
    numbers = e["numbers"] + 0.7 * e["number_words"]
    specific = saturate(
        1.2 * numbers
        + 1.2 * e["i_life_event"]
        + 0.5 * e["number_units"]
        + 0.25 * e["date_words"]
        + 0.2 * e["time_words"]
        + 0.15 * e["capitals"],
        1.6,
    )
    return single(specific * (0.8 + 0.2 * statement(e)))


def _product(e: Evidence) -> Column:
    """float32[n] in [0, 1); names, recommendations, numbers and lists, without boilerplate or refusal."""
    dense = saturate(
        0.5 * per_twenty_words(e, "capitals")
        + 0.7 * per_twenty_words(e, "recommendations")
        + 0.5 * per_twenty_words(e, "numbers")
        + 0.15 * np.minimum(e["list_lines"], 6.0),
        1.5,
    )
    idle = e["boilerplate"] / BOILERPLATE_SCALE + e["second_person"] / ADDRESS_SCALE
    return single(dense * no_refusal(e) * np.exp(-idle))
