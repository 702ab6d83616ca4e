"""Speed of the event log and of the states, and the error of the long clock's constant-space form.

    python benchmarks/history.py [--events 1000000] [--memories 100000] [--postgres CONNINFO]
                                 [--folder DIR] [--out history.json]

Events are drawn with the seed: every memory is written once, half of the rest are shown, and a few memories
take a large share of all, as in a business. The log is made in a new folder (``--folder``; its disk decides
how fast ``durability="power"`` is) and removed. ``single`` is one transaction an event, ``batch`` a thousand.
Every figure by the wall clock and by the processor's: other work on the machine slows the first, hardly the
second. Fails when the states folded one by one differ in a bit from those folded at once.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from _record import digest, record

from memvalue.serve.history import (
    KINDS,
    EventLog,
    History,
    PostgresLog,
    Record,
    SqliteLog,
    States,
    activation,
    named_list,
)

START = datetime(2024, 1, 1, tzinfo=UTC)
HOURS = 2 * 8766
BATCH = 1000

#: Share of each kind after the first writing: written, shown, opened, confirmed, corrected, contradicted,
#: superseded, rescored, imported, forgotten.
SHARES = (0.03, 0.5, 0.25, 0.1, 0.03, 0.02, 0.01, 0.03, 0.02, 0.01)


def timed(call: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    """Seconds of one call by both clocks, and its result."""
    wall, busy = time.perf_counter(), time.process_time()
    result = call()
    return {"wall": time.perf_counter() - wall, "processor": time.process_time() - busy}, result


def rate(count: int, seconds: dict[str, float]) -> dict[str, int]:
    """How many a second, by both clocks."""
    return {clock: round(count / s) for clock, s in seconds.items()}


def each(count: int, seconds: dict[str, float], unit: float) -> dict[str, float]:
    """How long for one, in ``unit`` (seconds), by both clocks."""
    return {clock: round(s / count / unit, 3) for clock, s in seconds.items()}


def draw(events: int, memories: int, rng: np.random.Generator) -> list[Record]:
    """Events in the order of time."""
    rest = events - memories
    kind = np.append(np.zeros(memories, int), rng.choice(len(KINDS), rest, p=SHARES))
    popular = rng.random(rest) < 0.3
    memory = np.where(popular, rng.zipf(1.5, rest) % memories, rng.integers(0, memories, rest))
    memory = np.append(np.arange(memories), memory)
    hours = np.append(rng.random(memories) * HOURS / 2, rng.random(rest) * HOURS)
    signal = np.round(rng.random(events), 3)
    order = np.argsort(hours, kind="stable")
    rows = zip(
        memory[order].tolist(),
        kind[order].tolist(),
        hours[order].tolist(),
        signal[order].tolist(),
        strict=True,
    )
    return [Record(f"page-{m:06d}", KINDS[k], START + timedelta(hours=h), signal=s) for m, k, h, s in rows]


def append_singly(log: EventLog, records: list[Record]) -> None:
    for r in records:
        log.append(r)


def append_in_batches(log: EventLog, records: list[Record]) -> None:
    for i in range(0, len(records), BATCH):
        log.append_many(records[i : i + BATCH])


def fold_singly(records: list[Record]) -> States:
    states = States()
    for r in records:
        states.apply(r)
    return states


def same(one: States, other: States) -> bool:
    """Equal in every bit of what can be asked."""
    now = float(max(one.last().max(), other.last().max()))
    rows = other.rows(one.names)
    return len(one) == len(other) and all(
        np.array_equal(a, b, equal_nan=True)
        for a, b in (
            (one.recent_use(now), other.recent_use(now, rows)),
            (one.activation(now), other.activation(now, rows)),
            (one.harm(now), other.harm(now, rows)),
            (one.alpha(), other.alpha(rows)),
            (one.beta(), other.beta(rows)),
            (one.retrievability(now), other.retrievability(now, rows)),
            (one.importance(), other.importance(rows)),
        )
    )


def activation_error(rng: np.random.Generator, histories: int = 2000) -> dict[str, dict[str, float]]:
    """Mean |ΔB| of Petrov's form by how many uses are kept, for uses at random and in heavy-tailed bursts."""

    def approximate(ages: np.ndarray, kept: int) -> float:
        total = (1 / np.sqrt(ages[:kept])).sum()
        if len(ages) > kept:
            total += 2 * (len(ages) - kept) / (np.sqrt(ages[-1]) + np.sqrt(ages[kept - 1]))
        return float(np.log(total))

    def scattered(n: int) -> np.ndarray:
        return rng.uniform(24, HOURS) * rng.random(n)

    def bursty(n: int) -> np.ndarray:
        times = np.cumsum(rng.pareto(0.6, n) * rng.choice([0.1, 1, 10]))
        return times[-1] - times + rng.pareto(0.6)

    found: dict[str, dict[str, float]] = {}
    for name, life in (("scattered", scattered), ("bursty", bursty)):
        sizes = 1 + rng.poisson(rng.choice([3, 10, 30, 100, 300], histories))
        ages = [np.maximum(np.sort(life(int(n))), 1 / 60) for n in sizes]
        exact = np.array([activation(a) for a in ages])
        found[name] = {
            str(kept): round(float(np.abs([approximate(a, kept) for a in ages] - exact).mean()), 4)
            for kept in (1, 2, 4, 8, 16)
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--single", type=int, default=20_000, help="events appended one by one")
    parser.add_argument("--postgres", help="connection string of a server to try as well")
    parser.add_argument("--folder", type=Path, help="where the log is made; the system's for temporary files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if not 1 <= options.memories <= options.events or not 1 <= options.single < options.events:
        parser.error("there must be at least as many events as memories, and more than are appended singly")

    records = draw(options.events, options.memories, np.random.default_rng(options.seed))
    few, rest = records[: options.single], records[options.single :]
    figures: dict[str, Any] = {"events": options.events, "memories": options.memories}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        with SqliteLog(Path(folder) / "power.db", durability="power") as log:
            some = few[: max(1, options.single // 10)]
            seconds, _ = timed(lambda: append_singly(log, some))
            figures["sqlite_power_single_a_second"] = rate(len(some), seconds)
            seconds, _ = timed(lambda: append_in_batches(log, few))
            figures["sqlite_power_batch_a_second"] = rate(len(few), seconds)
        with SqliteLog(Path(folder) / "events.db") as log:
            seconds, _ = timed(lambda: append_singly(log, few))
            figures["sqlite_process_single_a_second"] = rate(len(few), seconds)
            seconds, _ = timed(lambda: append_in_batches(log, rest))
            figures["sqlite_process_batch_a_second"] = rate(len(rest), seconds)
            figures["sqlite_bytes_an_event"] = round(
                sum(p.stat().st_size for p in Path(folder).glob("events.db*")) / options.events
            )
            read, columns = timed(log.columns)
            fold, states = timed(lambda: States.rebuild(columns))
            figures["read_seconds"] = each(1, read, 1.0)
            figures["fold_seconds"] = each(1, fold, 1.0)
            figures["rebuild_seconds"] = {k: round(read[k] + fold[k], 3) for k in read}

            now = START + timedelta(hours=HOURS + 1)
            names = states.names[:20_000]
            seconds, _ = timed(lambda: [states.state(name, now) for name in names])
            figures["one_state_microseconds"] = each(len(names), seconds, 1e-6)
            seconds, _ = timed(lambda: named_list(states, 100, now))
            figures["named_list_milliseconds"] = each(1, seconds, 1e-3)
            seconds, singly = timed(lambda: fold_singly(records))
            figures["apply_microseconds"] = each(len(records), seconds, 1e-6)
            figures["bits_equal"] = same(singly, states)

            history = History(log)
            later = [Record(r.memory, r.kind, now, signal=r.signal) for r in few]
            seconds, _ = timed(lambda: [history.append(r) for r in later])
            figures["append_and_state_microseconds"] = each(len(later), seconds, 1e-6)
    if options.postgres:
        with PostgresLog(options.postgres, table="memvalue_benchmark") as log:
            some = few[: max(1, options.single // 10)]
            seconds, _ = timed(lambda: append_singly(log, some))
            figures["postgres_single_a_second"] = rate(len(some), seconds)
            seconds, _ = timed(lambda: append_in_batches(log, few))
            figures["postgres_batch_a_second"] = rate(len(few), seconds)
            with log._changing() as execute:
                execute("DROP TABLE memvalue_benchmark, memvalue_benchmark_meta CASCADE", ())
                execute("DROP FUNCTION memvalue_benchmark_refuse", ())
    figures["activation_error_by_kept"] = activation_error(np.random.default_rng(options.seed))
    what = f"{options.events} generated events of {options.memories} memories"
    texts = (f"{r.memory} {r.kind} {r.time.isoformat()} {r.signal}" for r in records)
    record(figures, data=what, data_digest=digest(texts), seed=options.seed, out=options.out)
    if not figures["bits_equal"]:
        sys.exit("states folded one by one differ from those folded at once")


if __name__ == "__main__":
    main()
