"""Small benches for the tests of the eval room: factors come ready-made, so nothing is extracted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from memvalue.data import AnswerKey, Case, Consolidation, Dataset, SealedKey
from memvalue.eval import Bench


def case(
    name: str,
    needed: Sequence[int],
    *,
    n: int | None = None,
    factors: Any = None,
    texts: Sequence[str] | None = None,
    roles: Sequence[str] | None = None,
    kind: str = "",
    **key: Any,
) -> Case:
    """A case of ``n`` memories of which the rows ``needed`` are gold; one session, one turn a minute."""
    if n is None:
        n = len(texts) if texts is not None else len(factors)
    flags = np.zeros(n, dtype=bool)
    flags[list(needed)] = True
    times = np.datetime64("2024-01-01T00:00:00", "s") + np.arange(n) * np.timedelta64(60, "s")
    view = Consolidation(
        texts=tuple(texts) if texts is not None else tuple(f"memory {i}" for i in range(n)),
        roles=tuple(roles) if roles is not None else ("user", "assistant") * (n // 2) + ("user",) * (n % 2),
        sessions=np.zeros(n, np.int64),
        positions=np.arange(n),
        times=times,
        now=np.datetime64("2024-01-03T00:00:00", "s"),
    )
    ready = np.zeros((n, 7), np.float32) if factors is None else np.asarray(factors, np.float32)
    return Case(name, view, SealedKey(AnswerKey(flags, **key)), kind, ready)


def bench_of(*cases: Case, spec: str = "made:here") -> Bench:
    """The bench of these cases."""
    return Bench.build(Dataset(spec, "made", list(cases)))


def random_bench(cases: int, *, seed: int = 0, n: int = 20, kinds: Sequence[str] = ("a", "b")) -> Bench:
    """Cases whose factor 4 (task utility) tends to be high for the two needed memories."""
    rng = np.random.default_rng(seed)
    made = []
    for c in range(cases):
        factors = rng.random((n, 7)).astype(np.float32)
        needed = rng.choice(n, 2, replace=False)
        factors[needed, 4] = np.clip(factors[needed, 4] + rng.random(2), 0, 1)
        source = tuple("simulated" if i < n // 2 else "sharegpt" for i in range(n))
        made.append(case(f"c{c}", needed, factors=factors, kind=kinds[c % len(kinds)], source=source))
    return bench_of(*made)
