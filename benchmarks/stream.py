"""Time of a decision at write time, and size of the history, as a stream grows.

    python benchmarks/stream.py --data longmemeval:PATH.json [--sizes 1000,10000,100000] [--out stream.json]

The stream is every different conversation of the data, one after the other. At each size some hundred
memories are added one by one and timed, the rest is taken up many at a time, which is timed too. The model is
a linear one made for this. Fails when the stream's factors differ in a bit from the extractor's on the first
memories.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from _record import digest, record

from memvalue.data.consolidation import Consolidation
from memvalue.data.load import load
from memvalue.data.memory import Memory
from memvalue.features import Definition, extract
from memvalue.features.novelty import SLOT_BITS
from memvalue.serve import MemoryStream, ValueModel
from memvalue.train.export import export_model
from memvalue.train.linear import LinearValueModel

#: Added one by one and timed at each size, and taken up at once between.
SINGLE, BLOCK = 300, 2000

#: Memories of which stream and extractor are compared.
COMPARED = 1000

DEFINITION = Definition.named("longmemeval")


def conversations(spec: str) -> Iterator[list[Memory]]:
    """Every different conversation of the data, as if each had been on the day after the one before."""
    seen: set[tuple[str, ...]] = set()
    for case in load(spec).cases:
        store = case.consolidation
        memories = list(store.memories)
        for begin, end in _runs(store.sessions):
            texts = store.texts[begin:end]
            if texts not in seen:
                time_ = datetime(2000, 1, 1, tzinfo=UTC) + timedelta(days=len(seen))
                yield [replace(m, session=len(seen), time=time_) for m in memories[begin:end]]
                seen.add(texts)


def _runs(sessions: np.ndarray) -> Iterator[tuple[int, int]]:
    starts = np.flatnonzero(np.append(True, np.diff(sessions) != 0))
    yield from zip(starts.tolist(), [*starts[1:].tolist(), len(sessions)], strict=True)


def value_model(folder: Path) -> ValueModel:
    path = folder / "model.onnx"
    export_model(
        LinearValueModel.from_weights(np.full(7, 1 / 7)), path, created=datetime(2000, 1, 1, tzinfo=UTC)
    )
    return ValueModel.load(path)


def measure(stream: MemoryStream, memories: list[Memory], folder: Path) -> dict[str, Any]:
    """Figures of a stream at its present length; ``memories`` come next."""
    walls, busy = [], []
    for memory in memories:
        wall, processor = time.perf_counter(), time.process_time()
        stream.add(memory)
        walls.append(time.perf_counter() - wall)
        busy.append(time.process_time() - processor)
    path = folder / "state"
    begin = time.perf_counter()
    stream.save(path)
    saved = time.perf_counter()
    MemoryStream.load(path, stream.model, definition=DEFINITION)
    past = stream._past.rehearsal
    return {
        "add_microseconds": {
            "wall_median": round(1e6 * float(np.median(walls))),
            "wall_99": round(1e6 * float(np.quantile(walls, 0.99))),
            "processor_median": round(1e6 * float(np.median(busy))),
        },
        "words": len(past._words),
        "heard_table_megabytes": round(2 ** (SLOT_BITS - 3) / 1e6, 2),
        "recurrence_megabytes": round(past.nbytes / 1e6, 2),
        "state_file_megabytes": round(path.stat().st_size / 1e6, 2),
        "save_milliseconds": round(1e3 * (saved - begin), 1),
        "load_milliseconds": round(1e3 * (time.perf_counter() - saved), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", required=True, help="spec of the data set, such as longmemeval:PATH.json")
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    sizes = sorted(int(size) for size in options.sizes.split(","))

    memories: list[Memory] = []
    for conversation in conversations(options.data):
        memories += conversation
        if len(memories) >= sizes[-1] + SINGLE:
            break
    if len(memories) < sizes[-1] + SINGLE:
        sizes = [s for s in sizes if s + SINGLE <= len(memories)] + [len(memories) - SINGLE]
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = value_model(folder)
        stream = MemoryStream(model, definition=DEFINITION)
        head = memories[:COMPARED]
        want = extract(Consolidation.from_memories(head), definition=DEFINITION, regime="online").values
        found = np.array([stream.add(m).factors for m in head])
        wrong = int((found != want).any(axis=1).sum())
        taken, seconds = 0, 0.0
        for size in sizes:
            while len(stream) < size:
                block = memories[len(stream) : min(len(stream) + BLOCK, size)]
                begin = time.process_time()
                stream.extend(block)
                seconds += time.process_time() - begin
                taken += len(block)
            figures[f"at_{size}"] = measure(stream, memories[size : size + SINGLE], folder)
    figures["extend_per_processor_second"] = round(taken / seconds) if seconds else None
    figures["compared_with_the_extractor"] = len(head)
    figures["different"] = wrong
    spec = options.data.partition(":")[0]
    record(figures, data=spec, data_digest=digest(m.text for m in memories), seed=0, out=options.out)
    if wrong:
        sys.exit(f"{wrong} of {len(head)} memories have other factors than the extractor gives")


if __name__ == "__main__":
    main()
