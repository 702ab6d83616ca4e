"""A data set laid out flat, so that judging a policy is array work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from memvalue.data import Case, Consolidation, Dataset
from memvalue.features.combine import varying
from memvalue.features.names import FACTORS

if TYPE_CHECKING:
    from memvalue.features import Definition
    from memvalue.features.encoder import Encoder
    from memvalue.features.evidence import Evidence

#: BM25's saturation and length constants, at their usual values (Robertson & Zaragoza 2009, section 3.5).
BM25_K1, BM25_B = 1.2, 0.75

#: The factor that an oracle replaces by the similarity to the question.
GOAL = FACTORS.index("goal_relevance")


@dataclass(frozen=True, eq=False)
class BlindBench:
    """What a policy may see of C cases with N memories in all. Case c owns rows offsets[c]:offsets[c+1].

    Parameters
    ----------
    offsets
        int64[C+1], first 0, last N, non-decreasing.
    factors
        float32[N, 7] in [0, 1], columns in the order of ``FACTORS``.
    informed
        bool[7]; False for a factor that no case can inform.
    evidence, evidence_names
        float32[N, E] and E names: the raw counts and similarities behind the factors. E is 0 when the data
        brings its factors ready-made.
    person
        bool[N]; a person spoke.
    sessions, positions
        int64[N]; conversation ordinal within the case, and place within the conversation.
    age_days
        float64[N]; from the memory to the moment of consolidation, in days.
    tokens
        int64[N]; whitespace-separated words, at least 1.
    texts
        N strings.
    consolidations
        C blind views, for policies that read roles, times or the event log.
    similarity
        float64[N] in [0, 1]: closeness to the question. None unless the bench was opened to an oracle.
    """

    offsets: NDArray[np.int64]
    factors: NDArray[np.float32]
    informed: NDArray[np.bool_]
    evidence: NDArray[np.float32]
    evidence_names: tuple[str, ...]
    person: NDArray[np.bool_]
    sessions: NDArray[np.int64]
    positions: NDArray[np.int64]
    age_days: NDArray[np.float64]
    tokens: NDArray[np.int64]
    texts: Sequence[str]
    consolidations: tuple[Consolidation, ...] = ()
    similarity: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        n = len(self)
        for name in _ROWS:
            column = getattr(self, name, None)
            if column is not None and len(column) != n:
                raise ValueError(f"Bench.{name} has {len(column)} rows, offsets say {n}")
        if self.evidence.shape[1] != len(self.evidence_names):
            raise ValueError(
                f"Bench.evidence has {self.evidence.shape[1]} columns and {len(self.evidence_names)} names"
            )
        if not np.isfinite(self.factors).all():
            row, column = np.argwhere(~np.isfinite(self.factors))[0]
            raise ValueError(
                f"factor {FACTORS[column]} of memory {row} is not a finite number; "
                "mend the data set's factors before evaluating"
            )

    def __len__(self) -> int:
        """N, the number of memories."""
        return int(self.offsets[-1])

    @property
    def cases(self) -> int:
        """C, the number of cases."""
        return len(self.offsets) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """int64[C]; memories a case."""
        return np.diff(self.offsets)

    @property
    def case_of(self) -> NDArray[np.int64]:
        """int64[N]; which case each memory belongs to (the ``groups`` of the estimators)."""
        return np.repeat(np.arange(self.cases), self.sizes)

    def column(self, name: str) -> NDArray[np.float32]:
        """float32[N]; one column of raw evidence, or a KeyError that lists the names there are."""
        if name not in self.evidence_names:
            known = ", ".join(self.evidence_names) or "none: this data brings its factors ready-made"
            raise KeyError(f"no evidence called {name!r}; there is {known}")
        return self.evidence[:, self.evidence_names.index(name)]


@dataclass(frozen=True, eq=False, kw_only=True)
class Bench(BlindBench):
    """A bench with its labels: what fitting and judging may see. Policies are scored on :meth:`blind`.

    Parameters
    ----------
    case_ids, kinds
        C names and question types.
    session_index, turn_index
        int64[N]; where each memory stands in the file.
    needed
        bool[N]; the gold.
    obsolete, announces
        bool[N], or None when no case labels them. A case without the label has False throughout.
    source
        N provenance labels as an object array (``""`` where unknown), or None.
    questions
        C questions, None where unknown.
    spec, digest
        Which data set; carried into the report.
    regime, encoder, definition
        How the factors were made; carried into the report.
    """

    case_ids: tuple[str, ...]
    kinds: tuple[str, ...]
    session_index: NDArray[np.int64]
    turn_index: NDArray[np.int64]
    needed: NDArray[np.bool_]
    obsolete: NDArray[np.bool_] | None = None
    announces: NDArray[np.bool_] | None = None
    source: NDArray[Any] | None = None
    questions: tuple[str | None, ...] = ()
    spec: str = ""
    digest: str = ""
    regime: str = "batch"
    encoder: str | None = None
    definition: str = ""

    @classmethod
    def build(
        cls,
        dataset: Dataset,
        *,
        definition: Definition | None = None,
        encoder: Encoder | None = None,
        regime: Literal["batch", "online"] = "batch",
        cache: Any = None,
        progress: Callable[..., None] | None = None,
    ) -> Bench:
        """Extract the factors of every case and lay everything out flat.

        Parameters
        ----------
        dataset
            Cases with sealed keys; each key is opened once.
        definition
            Switches of the factors; the default ones when None.
        encoder, regime, cache, progress
            Handed to ``features.observe``.

        Raises
        ------
        ValueError
            For a data set without cases, or ready-made factors of the wrong shape.
        """
        cases = list(dataset)
        if not cases:
            why = ", ".join(f"{n} {reason}" for reason, n in dataset.skipped.items()) or "the file holds none"
            raise ValueError(f"{dataset.spec}: no usable case to evaluate ({why})")
        extracted = [c.consolidation for c in cases if c.factors is None]
        observed: Iterator[Evidence] = iter(())
        how: dict[str, Any] = {"regime": regime, "encoder": None, "definition": "ready-made"}
        if extracted:
            from memvalue.features import Definition, combine, observe

            rules = definition if definition is not None else Definition.named("default")
            observed = iter(
                observe(extracted, encoder=encoder, regime=regime, cache=cache, progress=progress)
            )
            how |= {
                "encoder": None if encoder is None else encoder.name,
                "definition": str(getattr(rules, "name", rules)),
            }
        factors: list[NDArray[np.float32]] = []
        evidence: list[NDArray[np.float32]] = []
        names: tuple[str, ...] = ()
        known = np.zeros(len(FACTORS), dtype=bool)
        for case in cases:
            if case.factors is None:
                seen = next(observed)
                names = tuple(seen.names)
                evidence.append(seen.values)
                factors.append(combine(seen, rules))
                known |= varying(factors[-1])
            else:
                ready = np.asarray(case.factors, dtype=np.float32)
                if ready.shape != (len(case), len(FACTORS)):
                    raise ValueError(
                        f"case {case.id}: factors have shape {ready.shape}, expected "
                        f"({len(case)}, {len(FACTORS)}), one row a memory in the order {', '.join(FACTORS)}"
                    )
                factors.append(ready)
                known |= varying(ready)
        if len(evidence) < len(cases):  # raw evidence is offered only when every case has it
            names, evidence = (), [np.empty((len(c), 0), np.float32) for c in cases]
        return cls._lay_out(
            dataset, cases, np.concatenate(factors), known, np.concatenate(evidence), names, **how
        )

    @classmethod
    def _lay_out(
        cls,
        dataset: Dataset,
        cases: list[Case],
        factors: NDArray[np.float32],
        known: NDArray[np.bool_],
        evidence: NDArray[np.float32],
        names: tuple[str, ...],
        **how: Any,
    ) -> Bench:
        views = [c.consolidation for c in cases]
        keys = [c.sealed.open() for c in cases]
        sizes = np.array([len(c) for c in cases], dtype=np.int64)
        texts = [text for view in views for text in view.texts]
        day = np.timedelta64(86400, "s")

        def labels(name: str) -> NDArray[np.bool_] | None:
            columns = [getattr(k, name) for k in keys]
            if all(c is None for c in columns):
                return None
            filled = [np.zeros(n, bool) if c is None else c for c, n in zip(columns, sizes, strict=True)]
            return np.concatenate(filled)

        def places(name: str) -> NDArray[np.int64]:
            columns = [getattr(c, name) for c in cases]
            filled = [c if len(c) == n else np.arange(n) for c, n in zip(columns, sizes, strict=True)]
            return np.concatenate(filled)

        source: NDArray[Any] | None = None
        if any(k.source is not None for k in keys):
            rows = [k.source or ("",) * int(n) for k, n in zip(keys, sizes, strict=True)]
            source = np.array([label for row in rows for label in row], dtype=object)
        return cls(
            offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            factors=factors,
            informed=known,
            evidence=evidence,
            evidence_names=names,
            person=np.concatenate([v.person for v in views]),
            sessions=np.concatenate([v.sessions for v in views]),
            positions=np.concatenate([v.positions for v in views]),
            age_days=np.concatenate([(v.now - v.times) / day for v in views]).astype(np.float64),
            tokens=np.fromiter((max(1, len(t.split())) for t in texts), np.int64, count=len(texts)),
            texts=texts,
            consolidations=tuple(views),
            case_ids=tuple(c.id for c in cases),
            kinds=tuple(c.kind for c in cases),
            session_index=places("session_index"),
            turn_index=places("turn_index"),
            needed=np.concatenate([np.asarray(k.needed, dtype=bool) for k in keys]),
            obsolete=labels("obsolete"),
            announces=labels("announces"),
            source=source,
            questions=tuple(k.question for k in keys),
            spec=dataset.spec,
            digest=dataset.digest,
            **how,
        )

    def take(self, case_idx: Sequence[int] | NDArray[np.int64]) -> Bench:
        """The bench of some cases, in the given order. Array columns are copied, texts are shared.

        Raises
        ------
        IndexError
            For a case number outside 0..C-1.
        """
        index = np.asarray(case_idx, dtype=np.int64)
        if index.size and not (index.min() >= 0 and index.max() < self.cases):
            raise IndexError(
                f"case numbers must lie in 0..{self.cases - 1}, got {index.min()}..{index.max()}"
            )
        sizes = self.sizes[index]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        rows = np.repeat(self.offsets[index] - offsets[:-1], sizes) + np.arange(offsets[-1])
        changed: dict[str, Any] = {"offsets": offsets}
        for name in _ROWS:
            column = getattr(self, name)
            if isinstance(column, np.ndarray):
                changed[name] = column[rows]
        texts: list[str] = []
        for c in index:
            texts += self.texts[self.offsets[c] : self.offsets[c + 1]]
        changed["texts"] = texts
        for name in _CASES:
            column = getattr(self, name)
            changed[name] = tuple(column[c] for c in index) if column else ()
        return replace(self, **changed)

    def blind(self) -> BlindBench:
        """The same rows without ids, types, file positions, sources, questions and labels."""
        return BlindBench(**{f.name: getattr(self, f.name) for f in fields(BlindBench)})

    def open_to_oracle(self, encoder: Encoder | None = None) -> Bench:
        """A copy in which the question is the goal anchor: evaluation only, to show the ceiling.

        ``similarity`` is set and goal relevance replaced by it (targets.md, "oracle"). Nothing else in the
        project looks at the question.
        """
        near = self.question_similarity(encoder)
        factors = self.factors.copy()
        factors[:, GOAL] = near
        known = self.informed.copy()
        known[GOAL] = True
        return replace(self, similarity=near, factors=factors, informed=known)

    def question_similarity(self, encoder: Encoder | None = None) -> NDArray[np.float64]:
        """float64[N] in [0, 1]: how close each memory is to its case's question.

        With an encoder it is (1 + cos) / 2, as the paper has it; without, BM25 over the question's words,
        divided by the most that a memory could reach. Computed when asked for, never cached on the bench.

        Raises
        ------
        ValueError
            When no case has a question.
        """
        if not any(self.questions):
            raise ValueError("an oracle needs questions, and this data set has none")
        out = np.zeros(len(self), dtype=np.float64)
        for c, question in enumerate(self.questions):
            lo, hi = int(self.offsets[c]), int(self.offsets[c + 1])
            if not question or lo == hi:
                continue
            texts = list(self.texts[lo:hi])
            if encoder is None:
                out[lo:hi] = _bm25(question, texts)
            else:
                vectors = encoder.encode([*texts, question])
                out[lo:hi] = (1.0 + np.clip(vectors[:-1] @ vectors[-1], -1.0, 1.0)) / 2.0
        return out


def _bm25(question: str, texts: Sequence[str]) -> NDArray[np.float64]:
    """float64[n] in [0, 1]; BM25 of each text for the question's distinct words, over its upper bound."""
    from memvalue.features.scan import scan

    found = scan([*texts, question])
    n = len(texts)
    hashes, where = found.word_hash, found.word_text
    asked = np.unique(hashes[where == n])
    if not len(asked):
        return np.zeros(n)
    mine = where < n
    hashes, where = hashes[mine], where[mine]
    length = np.bincount(where, minlength=n).astype(np.float64)
    slot = np.minimum(np.searchsorted(asked, hashes), len(asked) - 1)
    hit = asked[slot] == hashes
    tf = np.bincount(where[hit] * len(asked) + slot[hit], minlength=n * len(asked)).reshape(n, -1)
    df = (tf > 0).sum(axis=0)
    idf = np.log1p((n - df + 0.5) / (df + 0.5))
    norm = BM25_K1 * (1 - BM25_B + BM25_B * length / max(length.mean(), 1.0))
    score = (idf * tf * (BM25_K1 + 1) / (tf + norm[:, None])).sum(axis=1)
    return np.asarray(score / (idf.sum() * (BM25_K1 + 1)), dtype=np.float64)


#: Columns with a row a memory, and with an entry a case.
_ROWS = (
    "factors", "evidence", "person", "sessions", "positions", "age_days", "tokens", "texts", "similarity",
    "session_index", "turn_index", "needed", "obsolete", "announces", "source",
)  # fmt: skip
_CASES = ("consolidations", "case_ids", "kinds", "questions")
