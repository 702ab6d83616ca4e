"""Published policies by their papers' formulas, to be judged beside ours (systems.md, section 5).

Each is a small pure function from a :class:`View` (memories, events, a query or none, now) to one score a
memory, higher is kept first. A file a policy, with its source, its constants and where its released code
differs.
"""

from memvalue.eval.published.act_r import act_r
from memvalue.eval.published.elfmem import elfmem
from memvalue.eval.published.fade_mem import fade_mem
from memvalue.eval.published.fsrs import fsrs
from memvalue.eval.published.generative_agents import generative_agents
from memvalue.eval.published.half_life import fit_half_life, half_life
from memvalue.eval.published.hindsight import hindsight
from memvalue.eval.published.knowledge_tracing import knowledge_tracing
from memvalue.eval.published.lfu import lfu
from memvalue.eval.published.lru import lru
from memvalue.eval.published.mem0_decay import mem0_decay
from memvalue.eval.published.memory_bank import memory_bank
from memvalue.eval.published.memory_os import memory_os_heat
from memvalue.eval.published.oblivion import oblivion
from memvalue.eval.published.occasions import Occasions
from memvalue.eval.published.policies import FORMULAS, REPLAY_ROWS, ROWS, published_policies
from memvalue.eval.published.replay import replayed_events
from memvalue.eval.published.sm2 import sm2
from memvalue.eval.published.view import View

__all__ = [
    "FORMULAS", "REPLAY_ROWS", "ROWS",
    "Occasions", "View",
    "act_r", "elfmem", "fade_mem", "fit_half_life", "fsrs", "generative_agents", "half_life", "hindsight",
    "knowledge_tracing", "lfu", "lru", "mem0_decay", "memory_bank", "memory_os_heat", "oblivion",
    "published_policies", "replayed_events", "sm2",
]  # fmt: skip
