"""Five small worlds in the spirit of elfmem's five scenarios.

elfmem ("Scoring Memory for Evolving Agents") simulates five scenarios; what is known of them here are its
findings, not its tables. These are our reading: one scenario for each thing that its findings turn on.
"""

from __future__ import annotations

from dataclasses import replace

from memvalue.data.errors import DataError
from memvalue.data.worlds.business import Business, business
from memvalue.data.worlds.world import World

#: Pages of a scenario.
SCENARIO_PAGES = 120

#: Name → business.
SCENARIOS: dict[str, Business] = {
    # A day like any other: steady needs, few changes.
    "steady": Business(rhythm="scheduled", seasonal=0.05, replaced=0.05),
    # An agent whose basic principles are seldom asked for, among much that is: archiving by low use would
    # take them first.
    "principles": Business(permanent=0.4, regular=0.3, project=0.15, seasonal=0.0, needs=6.0),
    # One project after another.
    "projects": Business(project=0.7, regular=0.15, seasonal=0.0, permanent=0.05, rare=0.1, replaced=0.05),
    # Facts that keep changing.
    "drift": Business(regular=0.8, seasonal=0.0, permanent=0.15, rare=0.05, replaced=0.35),
    # Half a year in which nobody asks anything, and then work goes on.
    "silence": Business(silence=(0.5, 0.75)),
}


def scenario(name: str, seed: int = 0, pages: int = SCENARIO_PAGES) -> World:
    """Draw one of the five.

    Raises
    ------
    DataError
        For an unknown name.
    """
    if name not in SCENARIOS:
        raise DataError(f"unknown scenario {name!r}; one of {', '.join(SCENARIOS)}")
    return replace(business(pages, seed, SCENARIOS[name]), name=name)
