"""Train/test splits by case: the paper's, and grouped ones that no shared session leaks through.

LongMemEval's sessions recur: one question's filler is another's evidence. Sessions are recognised by their
content (roles and texts), never by an id.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memvalue.data.dataset import Dataset
from memvalue.data.errors import DataError
from memvalue.data.files import existing_file, read_json, write_atomic

#: Train and test: int64 indices of cases, ascending, together every case used.
Split = tuple[NDArray[np.int64], NDArray[np.int64]]

#: The paper's code seeds split ``rep`` with ``random.Random(100 + rep)`` (arXiv 2606.12945).
FIRST_SEED = 100

MANIFEST_FORMAT = 1


def paper_splits(n_cases: int, splits: int = 20) -> list[Split]:
    """The paper's resampled halves: the case list shuffled, the first ``n // 2`` for training.

    Raises
    ------
    DataError
        For fewer than two cases or no split.
    """
    _check(n_cases, splits)
    out = []
    for rep in range(splits):
        order = list(range(n_cases))
        random.Random(FIRST_SEED + rep).shuffle(order)
        out.append(_split(order[: n_cases // 2], order[n_cases // 2 :]))
    return out


def grouped_splits(dataset: Dataset, splits: int = 20) -> list[Split]:
    """Halves between which no needed session passes: no session with a needed memory of a case on one side
    occurs in the haystack of a case on the other.

    Cases tied in this way stay together. Whole groups are shuffled with the paper's seeds and taken into
    training while they fit into ``n // 2``; a data set without ties gets exactly :func:`paper_splits`. Ties
    by *any* shared session would be useless on LongMemEval-S: they join all its cases into one group.

    Raises
    ------
    DataError
        For fewer than two cases, or when everything is tied to everything.
    """
    n = len(dataset)
    _check(n, splits)
    groups = case_groups(dataset)
    if len(groups) < 2:
        raise DataError(
            f"all {n} cases of {dataset.spec} are tied by needed sessions, so no grouped split exists; use "
            "paper_splits and report shared_session_overlap"
        )
    out = []
    for rep in range(splits):
        order = list(groups)
        random.Random(FIRST_SEED + rep).shuffle(order)
        train: list[int] = []
        test: list[int] = []
        for group in order:
            (train if len(train) + len(group) <= n // 2 else test).extend(group)
        out.append(_split(train, test))
    return out


def purged(dataset: Dataset, splits: Sequence[Split]) -> list[Split]:
    """The same test halves, with training freed of every case whose haystack holds a needed session of a test
    case. For the paired effect of overlap on the paper's own splits.

    Raises
    ------
    DataError
        When nothing is left to train on.
    """
    sessions = _CaseSessions(dataset)
    out = []
    for number, (train, test) in enumerate(splits):
        needed = sessions.seen(sessions.needed, test)
        kept = [int(i) for i in train if not needed[sessions.all[i]].any()]
        if not kept:
            raise DataError(f"split {number}: every training case holds a needed session of a test case")
        out.append(_split(kept, test))
    return out


def unshared_rows(
    dataset: Dataset, train: NDArray[np.int64], test: NDArray[np.int64]
) -> list[NDArray[np.bool_]]:
    """For each training case bool[n]: True where the memory's session occurs in no test case."""
    sessions = _CaseSessions(dataset)
    shared = sessions.seen(sessions.all, test)
    return [~shared[sessions.rows[i]] for i in train]


def session_labels(dataset: Dataset) -> list[NDArray[np.int64]]:
    """For each case int64[n]: a number for each memory's session, equal where roles and texts are equal."""
    numbers: dict[tuple[tuple[str, ...], tuple[str, ...]], int] = {}
    out = []
    for case in dataset:
        c = case.consolidation
        # Python caches a text's hash, and loaders keep equal texts once, so this is cheap at any size.
        edges = np.flatnonzero(np.diff(c.sessions, prepend=c.sessions[:1] - 1, append=c.sessions[-1:] + 1))
        spans = [slice(int(a), int(b)) for a, b in pairwise(edges)]
        labels = [numbers.setdefault((c.roles[s], c.texts[s]), len(numbers)) for s in spans]
        out.append(np.repeat(np.array(labels, dtype=np.int64), np.diff(edges)))
    return out


def case_groups(dataset: Dataset) -> list[list[int]]:
    """Cases tied by needed sessions, each group ascending, groups by their first case.

    Two cases are tied when a session with a needed memory of one occurs in the haystack of the other.
    """
    sessions = _CaseSessions(dataset)
    holders: dict[int, list[int]] = {}
    for i, labels in enumerate(sessions.all):
        for label in labels:
            holders.setdefault(int(label), []).append(i)
    root = list(range(len(dataset)))

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        return i

    for i, labels in enumerate(sessions.needed):
        for label in labels:
            for j in holders[int(label)]:
                a, b = sorted((find(i), find(j)))
                root[b] = a
    groups: dict[int, list[int]] = {}
    for i in range(len(dataset)):
        groups.setdefault(find(i), []).append(i)
    return list(groups.values())


def shared_session_overlap(dataset: Dataset, splits: Sequence[Split] | None = None) -> dict[str, float]:
    """How far sessions are shared, over all cases and (with ``splits``) between test and training.

    Returns
    -------
    dict
        ``sessions``, distinct ones; ``shared_sessions``, those in two cases or more; ``groups``, see
        :func:`case_groups`; ``largest_group``. With splits, means over all test cases of all splits, in
        [0, 1]: ``test_sessions_in_train``, the share of a case's sessions that some training case holds;
        ``test_needed_sessions_in_train``, the same among its needed sessions; ``test_cases_touched``, the
        share of cases with such a needed session.
    """
    sessions = _CaseSessions(dataset)
    uses = np.zeros(sessions.count, dtype=np.int64)
    for labels in sessions.all:
        uses[labels] += 1
    groups = case_groups(dataset)
    out: dict[str, float] = {
        "sessions": sessions.count,
        "shared_sessions": int((uses > 1).sum()),
        "groups": len(groups),
        "largest_group": max(map(len, groups), default=0),
    }
    if splits is not None:
        rows = []
        for train, test in splits:
            seen = sessions.seen(sessions.all, train)
            for i in test:
                needed = seen[sessions.needed[i]]
                rows.append((seen[sessions.all[i]].mean(), needed.mean(), needed.any()))
        means = np.mean(rows, axis=0)
        names = ("test_sessions_in_train", "test_needed_sessions_in_train", "test_cases_touched")
        out |= {name: float(mean) for name, mean in zip(names, means, strict=True)}
    return out


def split_manifest(dataset: Dataset, splits: Sequence[Split]) -> dict[str, Any]:
    """A frozen record of ``splits``: the data's digest, the case ids of each side, and a digest of it all.

    It holds no path, so it is the same wherever the file lies.
    """
    ids = [c.id for c in dataset]
    manifest: dict[str, Any] = {
        "format": MANIFEST_FORMAT,
        "data": {"name": dataset.name, "digest": dataset.digest, "cases": len(dataset)},
        "splits": [
            {"train": [ids[i] for i in train], "test": [ids[i] for i in test]} for train, test in splits
        ],
    }
    return manifest | {"digest": _digest(manifest)}


def write_manifest(manifest: dict[str, Any], path: str | Path) -> None:
    """Write a manifest as JSON; the file appears whole or not at all."""
    write_atomic(path, [json.dumps(manifest, indent=1) + "\n"])


def read_manifest(path: str | Path, dataset: Dataset) -> list[Split]:
    """The splits of a manifest file, as indices into ``dataset``.

    Raises
    ------
    DataError
        When the file was edited or belongs to other data.
    """
    path = existing_file(path, "split manifest")
    manifest = read_json(path)
    if not isinstance(manifest, dict) or manifest.get("format") != MANIFEST_FORMAT:
        raise DataError(
            f"{path} is not a split manifest of format {MANIFEST_FORMAT}; write one with write_manifest"
        )
    body = {k: v for k, v in manifest.items() if k != "digest"}
    if manifest.get("digest") != _digest(body):
        raise DataError(f"{path} was changed after it was frozen (its digest does not match); write it anew")
    if manifest["data"]["digest"] != dataset.digest:
        raise DataError(
            f"{path} was frozen for other data (digest {manifest['data']['digest'][:12]}, "
            f"{manifest['data']['cases']} cases) than {dataset.spec} (digest {dataset.digest[:12]}, "
            f"{len(dataset)} cases)"
        )
    place = {c.id: i for i, c in enumerate(dataset)}
    return [_split([place[c] for c in s["train"]], [place[c] for c in s["test"]]) for s in manifest["splits"]]


class _CaseSessions:
    """The numbered sessions of each case: of every memory, the distinct ones, and the needed ones."""

    def __init__(self, dataset: Dataset) -> None:
        self.rows = session_labels(dataset)
        self.all = [np.unique(r) for r in self.rows]
        self.needed = [
            np.unique(r[case.sealed.open().needed]) for r, case in zip(self.rows, dataset, strict=True)
        ]
        self.count = 1 + max((int(r.max()) for r in self.rows if len(r)), default=-1)

    def seen(self, labels: list[NDArray[np.int64]], cases: NDArray[np.int64]) -> NDArray[np.bool_]:
        """bool[sessions]: which sessions the given ``labels`` of the given ``cases`` name."""
        out = np.zeros(self.count, dtype=bool)
        for i in cases:
            out[labels[i]] = True
        return out


def _check(n_cases: int, splits: int) -> None:
    if n_cases < 2:
        raise DataError(f"a split needs at least 2 cases, got {n_cases}; bring more labelled cases")
    if splits < 1:
        raise DataError(f"splits must be 1 or more, got {splits}")


def _split(train: Sequence[int], test: Sequence[int] | NDArray[np.int64]) -> Split:
    return np.array(sorted(train), dtype=np.int64), np.array(sorted(test), dtype=np.int64)


def _digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
