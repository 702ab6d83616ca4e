"""Speed of the encoders, and how well the static table stands in for MiniLM.

    python benchmarks/encode.py --data longmemeval:PATH.json [--cases 40] [--minilm 400]

Prints JSON: texts a second of the static encoder, first sight and with known words, microseconds for one
text; and with ``--minilm N`` MiniLM's own speed on N texts and Spearman's correlation of the cosines.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from memvalue.data.load import load
from memvalue.features.encoder import load_encoder
from memvalue.features.static_encoder import StaticEncoder


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of one call, and its result."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def speed(texts: Sequence[str]) -> dict[str, float | str]:
    """How fast the static encoder is on these texts."""
    loading, encoder = timed(StaticEncoder)
    first, _ = timed(lambda: encoder.encode(texts))
    again, _ = timed(lambda: encoder.encode(texts))
    few = texts[:500]
    single, _ = timed(lambda: [encoder.encode([text]) for text in few])
    return {
        "name": encoder.name,
        "load_seconds": round(loading, 3),
        "texts": len(texts),
        "texts_per_second": round(len(texts) / first),
        "texts_per_second_known_words": round(len(texts) / again),
        "one_text_microseconds": round(1e6 * single / len(few)),
    }


def quality(sessions: Sequence[Sequence[str]], n: int, rng: np.random.Generator) -> dict[str, float]:
    """Spearman's correlation with MiniLM's cosines over pairs within and across sessions."""
    from scipy.stats import spearmanr

    picked: list[Sequence[str]] = []
    for i in rng.permutation(len(sessions)):
        if sum(map(len, picked)) >= n:
            break
        picked.append(sessions[i])
    texts = [text for session in picked for text in session][:n]
    home = np.repeat(np.arange(len(picked)), [len(s) for s in picked])[:n]
    a, b = rng.integers(0, len(texts), (2, 400 * len(texts)))
    keep = np.array([texts[i] != texts[j] for i, j in zip(a, b, strict=True)])
    a, b = a[keep], b[keep]
    same = home[a] == home[b]
    minilm = load_encoder("minilm")
    assert minilm is not None
    seconds, big = timed(lambda: minilm.encode(texts))
    small = StaticEncoder().encode(texts)
    result = {"minilm_texts_per_second": round(len(texts) / seconds, 1)}
    half = 1000
    groups = {"within": np.flatnonzero(same)[:half], "across": np.flatnonzero(~same)[:half]}
    groups["all"] = np.concatenate([groups["within"], groups["across"]])
    for name, rows in groups.items():
        left, right = a[rows], b[rows]
        ours, theirs = (np.einsum("ij,ij->i", e[left], e[right]) for e in (small, big))
        result[f"spearman_{name}"] = round(float(spearmanr(ours, theirs).statistic), 4)
        result[f"pairs_{name}"] = len(rows)
    return result


def main() -> None:
    """Run the benchmark and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--data", default="simulated", help="a data spec; distinct texts of its cases are encoded"
    )
    parser.add_argument("--cases", type=int, default=40)
    parser.add_argument("--minilm", type=int, default=0, metavar="N", help="compare with MiniLM on N texts")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    cases = load(args.data, limit=args.cases).cases
    texts = list(dict.fromkeys(text for case in cases for text in case.consolidation.texts))
    result: dict[str, Any] = {"data": args.data, "static": speed(texts)}
    if args.minilm:
        sessions = [
            [case.consolidation.texts[i] for i in np.flatnonzero(case.consolidation.sessions == s)]
            for case in cases
            for s in np.unique(case.consolidation.sessions)
        ]
        result["quality"] = quality(sessions, args.minilm, np.random.default_rng(args.seed))
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
