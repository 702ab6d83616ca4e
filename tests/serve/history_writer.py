"""A process that appends events and tells of each once it is acknowledged.

    python history_writer.py LOG NAME EVENTS BATCH

LOG is an SQLite file, or a connection string and a table with a bar between. Prints the id of each event
after its append returned; 0 events means no end.
"""

from __future__ import annotations

import itertools
import sys
from datetime import UTC, datetime

from memvalue.serve.history import PostgresLog, Record, SqliteLog

where, name, events, batch = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
conninfo, bar, table = where.partition("|")
log = PostgresLog(conninfo, table=table) if bar else SqliteLog(where)
print("ready", flush=True)
for number in itertools.count(0, batch) if not events else range(0, events, batch):
    made = [
        Record(name, "shown", datetime(2026, 1, 5, tzinfo=UTC), weight=float(number + i))
        for i in range(batch)
    ]
    ids = [log.append(made[0])] if batch == 1 else log.append_many(made)
    print(*ids, sep="\n", flush=True)
