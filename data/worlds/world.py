"""A business's pages and what it needs of them, laid out flat."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from memvalue.data.errors import DataError

#: Kinds of pages; ``World.kind`` holds the index. A page that replaces another has the kind of that one.
PAGE_KINDS = ("regular", "project", "seasonal", "permanent", "rare")

#: Pages that relevance nominates for a question (Bizer, systems.md section 3).
CANDIDATES = 12

DAY = 24.0
YEAR = 365.0 * DAY


@dataclass(frozen=True, eq=False)
class World:
    """n pages, e edits and m needs over a number of hours. Needs are in order of time, and so are edits.

    The answers to how a grader would judge are drawn beforehand (``luck``), so that every policy that is
    replayed meets the same questions, the same candidates and the same moods.

    Parameters
    ----------
    name, seed
        What it is and what it was drawn from.
    hours
        Length.
    kind
        int64[n]; index into :data:`PAGE_KINDS`.
    created
        float64[n]; hour of the first writing, a whole number of days.
    replaced
        float64[n]; hour from which the page is out of date, infinite where never.
    replaces
        int64[n]; the page that this one replaces, −1 for none. Both are equally relevant for ever.
    importance
        float64[n] in [0, 1]; the value V at writing, which hardly knows what will be needed.
    embedding
        float32[n, d]; unit rows, by which pages of one topic are told apart.
    edit_time, edit_page
        float64[e], int64[e]; later writings, a whole number of days.
    need_time, need_page
        float64[m], int64[m]; when something is asked, and the page that answers it then.
    candidates
        int64[m, 12]; what relevance nominates, most similar first; −1 where a topic has fewer pages.
    similarity
        float32[m, 12]; of the question with each candidate, NaN where there is none.
    luck
        float64[m, 2]; uniform in [0, 1): how a correct answer would be graded, and whether a stale one would
        be corrected (:class:`~memvalue.data.worlds.Graders`).
    """

    name: str
    seed: int
    hours: float
    kind: NDArray[np.int64]
    created: NDArray[np.float64]
    replaced: NDArray[np.float64]
    replaces: NDArray[np.int64]
    importance: NDArray[np.float64]
    embedding: NDArray[np.float32]
    edit_time: NDArray[np.float64]
    edit_page: NDArray[np.int64]
    need_time: NDArray[np.float64]
    need_page: NDArray[np.int64]
    candidates: NDArray[np.int64]
    similarity: NDArray[np.float32]
    luck: NDArray[np.float64]

    def __post_init__(self) -> None:
        n, m = len(self.kind), len(self.need_time)
        shapes = {
            "created": (n,), "replaced": (n,), "replaces": (n,), "importance": (n,),
            "edit_page": self.edit_time.shape, "need_page": (m,), "luck": (m, 2),
            "candidates": (m, CANDIDATES), "similarity": (m, CANDIDATES),
        }  # fmt: skip
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise DataError(f"World.{name} has shape {getattr(self, name).shape}, expected {shape}")
        for name in ("need_time", "edit_time"):
            times = getattr(self, name)
            if len(times) and (np.any(np.diff(times) < 0) or times[0] < 0 or times[-1] > self.hours):
                raise DataError(f"World.{name} must be in order and between hours 0 and {self.hours:g}")
        for name in ("need_page", "edit_page"):
            pages = getattr(self, name)
            if len(pages) and not (pages.min() >= 0 and pages.max() < n):
                raise DataError(f"World.{name} names a page that is not among the {n}")
        late = self.created[np.maximum(self.candidates, 0)] > self.need_time[:, None]
        if (late & (self.candidates >= 0)).any():
            raise DataError("World.candidates names a page before it was written")

    @property
    def pages(self) -> int:
        """n."""
        return len(self.kind)

    def of_kind(self, *kinds: str) -> NDArray[np.bool_]:
        """bool[n]; pages of these kinds."""
        return np.isin(self.kind, [PAGE_KINDS.index(k) for k in kinds])

    def digest(self) -> str:
        """SHA-256 of every number in it."""
        whole = hashlib.sha256()
        for f in fields(self):
            value = getattr(self, f.name)
            whole.update(f.name.encode())
            whole.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
        return whole.hexdigest()
