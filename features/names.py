"""The seven factors' names, their order, and the version of their definitions."""

from __future__ import annotations

#: Order of the factor columns everywhere: tables, models, weights (design.md, the seven factors).
FACTORS: tuple[str, ...] = (
    "emotional_intensity",
    "goal_relevance",
    "value_alignment",
    "self_relevance",
    "task_utility",
    "reliability",
    "usage_history",
)

#: Changes whenever any factor's formula, lexicon or constant changes its numbers. A model refuses factors
#: of another version (design.md, rule 2).
DEFINITION_VERSION = "1"
