"""Businesses that need their pages for two years: what a memory that learns from use is replayed on."""

from memvalue.data.worlds.business import DEFAULT_PAGES, Business, business
from memvalue.data.worlds.graders import Graders
from memvalue.data.worlds.rhythms import RHYTHMS
from memvalue.data.worlds.scenarios import SCENARIOS, scenario
from memvalue.data.worlds.world import CANDIDATES, PAGE_KINDS, World

__all__ = [
    "CANDIDATES", "DEFAULT_PAGES", "PAGE_KINDS", "RHYTHMS", "SCENARIOS",
    "Business", "Graders", "World", "business", "scenario",
]  # fmt: skip
