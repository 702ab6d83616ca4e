"""Goal relevance: how close something is to what the agent and its owner are trying to do.

Source: Lewin's goal tension; value-directed remembering (Castel 2007).
Uses: declared goals where there are any (by embedding, else by shared words). Else the goal has to be read
off the talk: what opens a session sets its goal (only where the definition allows position), what answers a
question just asked serves it, and stated plans name it.
Range: [0, 1]; neutral value 0.
It is not similarity to a later question: that one is unknown when memory is consolidated.
"""

from __future__ import annotations

import numpy as np

from memvalue.features.definition import Definition
from memvalue.features.evidence import Evidence
from memvalue.features.shape import Column, saturate, single

#: Weight of an assistant's turn early in a session against a person's there. With .6, as in the trial,
#: LongMemEval keeps a point less at 5 and at 30 %.
ASSISTANT_OPENING = 0.2

#: An answer to a question against a stated plan, in a turn of talk. Answers separate needed turns at AUC
#: .69 on LoCoMo and .61 on Memora (.49 on LongMemEval); plans at .55, .53 and .68.
ANSWER = 0.7


def goal_relevance(e: Evidence, definition: Definition) -> Column:
    """float32[n] in [0, 1].

    Declared goals: the match. Else with position: 1/(1 + position/2), times .2 for an assistant. Else
    person · (.7·answers a question + .3·sat(plan words, 2)).
    """
    if e.has("goal_match"):
        return e["goal_match"]
    if definition.position:
        early = 1.0 / (1.0 + e["position"] / 2.0)
        return single(early * np.where(e["person"] > 0, 1.0, ASSISTANT_OPENING))
    plans = saturate(e["goal_words"], 2.0)
    return single(e["person"] * (ANSWER * e["answers_question"] + (1.0 - ANSWER) * plans))
