"""Reliability: provenance and commitment.

Source: source monitoring (Johnson, Hashtroudi & Lindsay 1993).
Uses: who said it, whether it is asserted, hedged or asked, whether it is plain talk or pasted text, whether
it is told of the past; declared trust where given; recent corrections from the event log, which only demote.
Range: [0, 1]; neutral value .35 for an assistant's plain statement.
It is not truth: a firm lie is "reliable" here until an outcome says otherwise.
"""

from __future__ import annotations

import numpy as np

from memvalue.features.definition import Definition
from memvalue.features.evidence import Evidence
from memvalue.features.shape import (
    Column,
    choose,
    known,
    natural,
    no_refusal,
    saturate,
    single,
    statement,
    unhedged,
    unit,
)

#: An assistant's unhedged statement against a person's report (trial: .35).
ASSISTANT = 0.35


def reliability(e: Evidence, definition: Definition) -> Column:
    """float32[n] in [0, 1].

    Persons: natural · (.5 + .25·sat(past forms, 2) + .1·unhedged + .15·statement). Assistants, tools:
    .35·unhedged·no refusal. Declared trust t makes it half of that and half t; h recent corrections
    multiply it by exp(−h).
    """
    past = saturate(e["regular_past"] + 0.7 * e["past_tense"], 2.0)
    report = natural(e) * (0.5 + 0.25 * past + 0.1 * unhedged(e) + 0.15 * statement(e))
    said = choose(e["person"] > 0, report, ASSISTANT * unhedged(e) * no_refusal(e))
    trust = e["trust"]
    said = choose(np.isnan(trust), said, 0.5 * said + 0.5 * trust)
    return single(unit(said * np.exp(-known(e["harm"]))))
