"""A named list of cases with its digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from memvalue.data.case import Case


@dataclass(frozen=True)
class Dataset:
    """Cases in file order.

    Parameters
    ----------
    spec
        What it was loaded from, as given by the user.
    name
        Short name of the kind: ``longmemeval``, ``memora``, ``locomo``, ``jsonl``, ``simulated`` or
        ``confound``.
    cases
        Usable cases (at least one memory and one needed memory).
    digest
        SHA-256 over ids, contents and labels of all cases; set on construction.
    skipped
        Why cases were left out: reason → how many.
    """

    spec: str
    name: str
    cases: list[Case]
    skipped: dict[str, int] = field(default_factory=dict)
    digest: str = ""

    def __post_init__(self) -> None:
        if not self.digest:
            h = hashlib.sha256()
            for case in self.cases:
                h.update(_encode(f"{case.id}|{case.kind}|{case.consolidation.digest()}|"))
                for column in case.sealed._key.labels():
                    h.update(b"-" if column is None else column)
                h.update(
                    b"-" if case.factors is None else np.ascontiguousarray(case.factors, "<f4").tobytes()
                )
            object.__setattr__(self, "digest", h.hexdigest())

    def __len__(self) -> int:
        return len(self.cases)

    def __iter__(self) -> Iterator[Case]:
        return iter(self.cases)

    @property
    def memories(self) -> int:
        """Memories over all cases."""
        return sum(len(c) for c in self.cases)


def _encode(text: str) -> bytes:
    """UTF-8; lone surrogates, which JSON can carry, are kept apart instead of refused."""
    return text.encode("utf-8", "surrogatepass")
