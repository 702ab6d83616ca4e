"""Memories, events, cases, and the loaders that make them. The types need numpy alone."""

from memvalue.data.case import AnswerKey, Case, SealedKey
from memvalue.data.consolidation import Consolidation
from memvalue.data.dataset import Dataset
from memvalue.data.errors import DataError
from memvalue.data.event import DELIBERATE_USES, EVENT_KINDS, Event
from memvalue.data.jsonl import dump_jsonl
from memvalue.data.load import load
from memvalue.data.memory import MACHINE_ROLES, Memory
from memvalue.data.splits import grouped_splits, paper_splits, purged, shared_session_overlap, split_manifest

__all__ = [
    "DELIBERATE_USES", "EVENT_KINDS", "MACHINE_ROLES",
    "AnswerKey", "Case", "Consolidation", "DataError", "Dataset", "Event", "Memory", "SealedKey",
    "dump_jsonl", "grouped_splits", "load", "paper_splits", "purged",
    "shared_session_overlap", "split_manifest",
]  # fmt: skip
