"""Speed of the lexical scan, against the slow reference in the same run.

    python benchmarks/scan.py --data longmemeval:PATH.json [--turns 20000] [--reference 300] [--out scan.json]

Turns are drawn with the seed from all different turns of the data. Every figure is the best of ``--repeats``
runs, by the wall clock and by the processor's (other work on the machine slows the first, hardly the second).
Fails when scan and reference disagree on a count or a word.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _record import digest, record

from memvalue.data.load import load
from memvalue.features.lexicon import Lexicon, _root
from memvalue.features.scan import scan

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "features"))
from reference_scan import reference, word_hash


def best(call: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Least wall and processor seconds of ``repeats`` calls."""
    walls, busy = [], []
    for _ in range(repeats):
        wall, processor = time.perf_counter(), time.process_time()
        call()
        walls.append(time.perf_counter() - wall)
        busy.append(time.process_time() - processor)
    return min(walls), min(busy)


def disagreements(texts: list[str], language: str) -> int:
    """Texts of which scan and reference differ in any count or word."""
    found = scan(texts, language)
    wrong = 0
    for i, text in enumerate(texts):
        counts, words = reference(text, language)
        mine = found.word_text == i
        wrong += (
            [np.float32(counts[name]) for name in found.names] != found.counts[i].tolist()
            or [word_hash(word) for word, _, _ in words] != found.word_hash[mine].tolist()
            or [capital for _, capital, _ in words] != found.word_is_capital[mine].tolist()
        )
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", required=True, help="spec of the data set, such as longmemeval:PATH.json")
    parser.add_argument("--language", default="en")
    parser.add_argument("--turns", type=int, default=20_000)
    parser.add_argument("--reference", type=int, default=300, help="turns for the reference and for equality")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()

    turns = list(dict.fromkeys(t for case in load(options.data).cases for t in case.consolidation.texts))
    rng = np.random.default_rng(options.seed)
    texts = [turns[i] for i in rng.permutation(len(turns))[: options.turns]]
    few, language = texts[: options.reference], options.language
    wrong = disagreements(few, language)

    scan(few, language)
    batch = best(lambda: scan(texts, language), options.repeats)
    lone = best(lambda: [scan([text], language) for text in few], options.repeats)
    slow = best(lambda: [reference(text, language) for text in few], 1)
    loading = best(lambda: Lexicon.read(_root() / language, language), options.repeats)
    figures = {}
    for k, clock in enumerate(("wall", "processor")):
        figures[clock] = {
            "scan_turns_per_second": round(len(texts) / batch[k]),
            "reference_turns_per_second": round(len(few) / slow[k]),
            "times_faster": round(len(texts) / batch[k] / (len(few) / slow[k])),
            "lone_turn_milliseconds": round(1e3 * lone[k] / len(few), 3),
            "lexicon_load_milliseconds": round(1e3 * loading[k], 1),
        }
    figures["turns"] = len(texts)
    figures["mean_characters"] = round(float(np.mean([len(text) for text in texts])))
    figures["checked_against_reference"] = len(few)
    figures["disagreements"] = wrong
    spec = options.data.partition(":")[0]
    record(figures, data=spec, data_digest=digest(texts), seed=options.seed, out=options.out)
    if wrong:
        sys.exit(f"{wrong} of {len(few)} turns differ from the reference")


if __name__ == "__main__":
    main()
