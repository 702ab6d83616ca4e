"""What happened to memories, and what that makes of them: the event log and the states it comes to."""

from memvalue.serve.history.activation import activation
from memvalue.serve.history.consolidation_events import consolidation_events
from memvalue.serve.history.errors import HistoryError
from memvalue.serve.history.event_columns import EventColumns
from memvalue.serve.history.event_log import Compaction, EventLog
from memvalue.serve.history.formulas import Formulas
from memvalue.serve.history.fsrs import Fsrs, elfmem_retrievability
from memvalue.serve.history.history import History
from memvalue.serve.history.memory_state import MemoryState
from memvalue.serve.history.named_list import named_list
from memvalue.serve.history.peer import (
    Confidence,
    PeerLimit,
    merge_peer,
    migrate,
    migration_record,
    peer_record,
)
from memvalue.serve.history.postgres_log import PostgresLog
from memvalue.serve.history.record import KINDS, Record
from memvalue.serve.history.sqlite_log import SqliteLog
from memvalue.serve.history.states import States

__all__ = [
    "KINDS",
    "Compaction", "Confidence", "EventColumns", "EventLog", "Formulas", "Fsrs", "History", "HistoryError",
    "MemoryState", "PeerLimit", "PostgresLog", "Record", "SqliteLog", "States",
    "activation", "consolidation_events", "elfmem_retrievability", "merge_peer", "migrate",
    "migration_record", "named_list", "peer_record",
]  # fmt: skip
