"""Judging policies on held-out cases: the paper's resampled halves, or any other splits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memvalue.data.splits import paper_splits
from memvalue.eval.bench import Bench
from memvalue.eval.measures import SIMULATED, judge
from memvalue.eval.policy import FixedScores, Inapplicable, Policy
from memvalue.eval.report import Report
from memvalue.eval.statistics import RESAMPLES
from memvalue.eval.summary import Budgets, Sheet, Summary
from memvalue.features.names import FACTORS

if TYPE_CHECKING:
    from memvalue.features.encoder import Encoder

#: Shares of memories, and of tokens, that are kept (issue 2; .3 is the paper's).
BUDGETS: tuple[float, ...] = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
TOKEN_BUDGETS: tuple[float, ...] = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3)

#: At 30 % LongMemEval measures style, so the figures to look at are these (factors.md).
HEADLINE: tuple[float, ...] = (0.05, 0.1)

#: Splits of the paper's protocol (arXiv 2606.12945).
SPLITS = 20

#: Names of the linear model fitted by CMA-ES, and of the convex fit (it may go on: ``pairwise_logistic``).
#: Where both are in a table it says whether they tie.
MAIN, CONVEX = "linear", "pairwise"

#: (done, total, label), called in the main process.
Progress = Callable[[int, int, str], None]
Split = tuple[NDArray[np.int64], NDArray[np.int64]]


def run_protocol(
    bench: Bench,
    policies: Sequence[Policy],
    *,
    splits: int | Sequence[Split] = SPLITS,
    budgets: Sequence[float] = BUDGETS,
    token_budgets: Sequence[float] = TOKEN_BUDGETS,
    seed: int = 0,
    main: str = MAIN,
    kind: str | None = None,
    question_encoder: Encoder | None = None,
    resamples: int = RESAMPLES,
    progress: Progress | None = None,
    jobs: int = 1,
) -> Report:
    """Fit each policy on one half of the cases, judge it on the other, many times over.

    Per split and budget a policy's figure is its mean over the test half's cases; the table gives mean and
    standard deviation (divisor S) of that over the splits. Intervals and comparisons resample cases: a case
    counts with its mean over the splits in which it was held out, never with one in which it was fitted on.
    Every policy is scored on a view without labels. Rules are scored once.

    Parameters
    ----------
    bench
        C cases with labels.
    policies
        Uniquely named.
    splits
        How many of the paper's, or (train, test) case numbers: ``grouped_splits``, a frozen manifest.
    budgets, token_budgets
        Shares in (0, 1].
    seed
        Of the bootstrap. The paper's splits have fixed seeds of their own (``random.Random(100 + i)``).
    main
        The policy that all others are compared with, at each budget, corrected by Holm over the policies.
    kind
        What the report calls the splits; ``paper`` by default when they are, else ``given``.
    question_encoder
        For the similarity to the question that oracle policies are told; lexical when None.
    resamples
        Of the bootstrap.
    progress
        Called after each fit or rule.
    jobs
        Processes that fit and judge at once. The result does not depend on it.

    Returns
    -------
    Report

    Raises
    ------
    ValueError
        For doubled names, an unknown main policy, budgets outside (0, 1], splits that share cases, or scores
        that are not one finite number a memory.
    """
    _check(policies, budgets, token_budgets, main)
    notes: list[str] = []
    schedule = _schedule(bench, splits)
    both = (budgets, token_budgets)
    sheets = _collect(bench, policies, schedule, both, question_encoder, notes, progress, jobs)
    rng = np.random.default_rng(seed)
    summary = Summary(bench, both, rng, resamples)
    comparisons = summary.compare(sheets, main)
    weights = _weights(bench, sheets, main, notes)
    notes += _remarks(bench, sheets, comparisons, main)
    return Report(
        data={
            "spec": bench.spec,
            "digest": bench.digest,
            "cases": bench.cases,
            "memories": len(bench),
            "needed": int(bench.needed.sum()),
            "types": {k: int(np.sum(np.array(bench.kinds) == k)) for k in sorted(set(bench.kinds))},
        },
        protocol={
            "splits": len(schedule),
            "budgets": [float(b) for b in budgets],
            "token_budgets": [float(b) for b in token_budgets],
            "headline": [b for b in HEADLINE if b in budgets],
            "seed": seed,
            "kind": kind or ("paper" if isinstance(splits, int) else "given"),
            "main": main,
            "resamples": resamples,
            "regime": bench.regime,
            "encoder": bench.encoder,
            "definition": bench.definition,
        },
        policies=summary.records(sheets),
        comparisons=comparisons,
        weights=weights,
        notes=notes,
    )


def evaluate_fixed(
    bench: Bench,
    scores: Mapping[str, ArrayLike],
    policies: Sequence[Policy] = (),
    *,
    token_scores: Mapping[str, ArrayLike] | None = None,
    **options: Any,
) -> Report:
    """The same table for scores that exist already: a loaded model, another system.

    Parameters
    ----------
    bench
        C cases with N memories.
    scores
        Row name → float[N]. The first one is the main policy unless ``main`` says otherwise.
    policies
        Others to stand beside it.
    token_scores
        Row name → float[N] by which a row ranks for token budgets; a row without ranks by its ``scores``.
    options
        As for :func:`run_protocol`.

    Raises
    ------
    ValueError
        When there is nothing to judge; and as for :func:`run_protocol`.
    """
    others = token_scores or {}
    fixed = [FixedScores(name, column, others.get(name)) for name, column in scores.items()]
    if not fixed:
        raise ValueError("evaluate_fixed needs at least one column of scores")
    return run_protocol(bench, [*fixed, *policies], **{"main": fixed[0].name, **options})


def _check(
    policies: Sequence[Policy], budgets: Sequence[float], token_budgets: Sequence[float], main: str
) -> None:
    names = [p.name for p in policies]
    doubled = sorted({n for n in names if names.count(n) > 1})
    if doubled:
        raise ValueError(f"policies need unique names; given twice: {', '.join(doubled)}")
    if main not in names:
        raise ValueError(
            f"the main policy {main!r} is not among {', '.join(names) or 'the policies: none given'}"
        )
    if not len(budgets):
        raise ValueError("give at least one budget in turns, such as 0.1")
    for b in (*budgets, *token_budgets):
        if not 0.0 < b <= 1.0:
            raise ValueError(f"a budget is a share in (0, 1], got {b}; write 0.3 for 30 %")


def _schedule(bench: Bench, splits: int | Sequence[Split]) -> list[Split]:
    if isinstance(splits, int):
        if splits < 1:
            raise ValueError(f"splits must be 1 or more, got {splits}")
        if bench.cases == 1:  # no half to train on; rules and ready models can still be judged
            return [(np.empty(0, np.int64), np.zeros(1, np.int64))] * splits
        return paper_splits(bench.cases, splits)
    schedule = [(np.asarray(a, dtype=np.int64), np.asarray(b, dtype=np.int64)) for a, b in splits]
    if not schedule:
        raise ValueError("no split was given; pass how many, or a list of (train, test) case numbers")
    for number, (train, test) in enumerate(schedule):
        both = np.concatenate([train, test])
        if len(both) and not (both.min() >= 0 and both.max() < bench.cases):
            raise ValueError(f"split {number} names case {both.max()}, the bench has {bench.cases}")
        if len(np.unique(both)) < len(both):
            raise ValueError(f"split {number} has a case twice, or both in training and in test")
    return schedule


def _collect(
    bench: Bench,
    policies: Sequence[Policy],
    schedule: list[Split],
    budgets: Budgets,
    question_encoder: Encoder | None,
    notes: list[str],
    progress: Progress | None,
    jobs: int,
) -> dict[str, Sheet]:
    """A sheet a policy, in the given order; policies that the data cannot serve are noted and left out."""
    oracle: Bench | None = None
    if any(p.regime == "oracle" for p in policies):
        try:
            oracle = bench.open_to_oracle(question_encoder)
        except ValueError as problem:
            notes.append(f"no oracle ceiling: {problem}")
    served = [p for p in policies if p.regime != "oracle" or oracle is not None]
    learners = [p for p in served if p.learns]
    sheets = {p.name: Sheet(p.regime, p.learns) for p in served}
    total = len(served) - len(learners) + len(learners) * len(schedule)
    done = 0

    def finished(name: str) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total, name)

    held = np.zeros((len(schedule), bench.cases, 1), dtype=bool)
    for s, (_, test) in enumerate(schedule):
        held[s, test] = True
    for policy in served:
        if policy.learns:
            continue
        seen = oracle if policy.regime == "oracle" and oracle is not None else bench
        try:
            found = judge(seen, *_both(policy, seen, budgets))
        except Inapplicable as reason:
            sheets[policy.name].refused = str(reason)
        else:
            # A rule is the same in every split: shown for the cases that the split holds out.
            sheets[policy.name].values = {m: np.where(held, v[None], np.nan) for m, v in found.items()}
            if policy.weights is not None:
                sheets[policy.name].weights.append(policy.weights)
        finished(policy.name)
    for s, name, judged in _learned(bench, oracle, learners, schedule, budgets, jobs):
        sheet = sheets[name]
        if isinstance(judged, str):
            sheet.refused = judged
        else:
            for measure, values in judged.values.items():
                shape = (len(schedule), bench.cases, values.shape[-1])
                sheet.values.setdefault(measure, np.full(shape, np.nan))[s, schedule[s][1]] = values
            if judged.weights is not None:
                sheet.weights.append(np.asarray(judged.weights, dtype=np.float64))
        finished(name)
    notes += [f"{name} left out: {sheet.refused}" for name, sheet in sheets.items() if sheet.refused]
    notes += _told(bench, [p for p in served if not sheets[p.name].refused])
    return {name: sheet for name, sheet in sheets.items() if not sheet.refused}


def _told(bench: Bench, policies: Sequence[Policy]) -> list[str]:
    """What policies say about themselves on this data, one note for all that say the same."""
    told: dict[str, list[str]] = {}
    blind = bench.blind()
    for policy in policies:
        remark = getattr(policy, "remark", None)
        if remark is not None and (text := remark(blind)):
            told.setdefault(text, []).append(policy.name)
    return [f"{', '.join(names)}: {text}" for text, names in told.items()]


@dataclass(frozen=True)
class _Judged:
    """One learner on one test half: measure → float64[test cases, B], and the weights that it learned."""

    values: dict[str, NDArray[np.float64]]
    weights: NDArray[np.float64] | None


#: Split number, policy, and the outcome or why there is none.
_Outcome = tuple[int, str, _Judged | str]


def _learned(
    bench: Bench,
    oracle: Bench | None,
    learners: Sequence[Policy],
    schedule: list[Split],
    budgets: Budgets,
    jobs: int,
) -> Iterator[_Outcome]:
    """The learners' outcomes, one split after the other, so that a half is laid out once for all of them."""
    if not learners:
        return
    benches = {"blind": bench} if oracle is None else {"blind": bench, "oracle": oracle}
    if jobs == 1:
        for s in range(len(schedule)):
            yield from _split(benches, learners, s, schedule[s], budgets)
        return
    from joblib import Parallel, delayed

    # A process is sent the bench once a chunk: few chunks, or sending costs more than fitting.
    chunks = np.array_split(np.arange(len(schedule)), min(len(schedule), 2 * abs(jobs)))
    runs = Parallel(n_jobs=jobs, return_as="generator")(
        delayed(_several)(benches, learners, [(s, schedule[s]) for s in chunk.tolist()], budgets)
        for chunk in chunks
    )
    for run in runs:
        yield from run


def _several(
    benches: dict[str, Bench], learners: Sequence[Policy], pairs: list[tuple[int, Split]], budgets: Budgets
) -> list[_Outcome]:
    return [outcome for s, pair in pairs for outcome in _split(benches, learners, s, pair, budgets)]


def _split(
    benches: dict[str, Bench], learners: Sequence[Policy], s: int, pair: Split, budgets: Budgets
) -> Iterator[_Outcome]:
    """Fit every learner on one training half and judge it on the test half."""
    halves = {
        regime: (bench.take(pair[0]), bench.take(pair[1]))
        for regime, bench in benches.items()
        if any(p.regime == regime for p in learners)
    }
    for policy in learners:
        train, test = halves[policy.regime]
        if not train.cases:
            yield (
                s,
                policy.name,
                "a fit needs a training half, and one case leaves none; bring two cases or more",
            )
            continue
        try:
            fitted = policy.fit(train)
            judged = _Judged(judge(test, *_both(fitted, test, budgets)), fitted.weights)
        except Inapplicable as reason:
            yield s, policy.name, str(reason)
        else:
            yield s, policy.name, judged


def _both(
    policy: Policy, bench: Bench, budgets: Budgets
) -> tuple[NDArray[np.float64], Sequence[float], Sequence[float], NDArray[np.float64] | None]:
    """Scores, turn budgets, token budgets and the scores for these, as ``judge`` takes them."""
    blind = bench.blind()
    scores = _checked(policy, bench, policy.score(blind))
    own = getattr(policy, "token_score", None)
    found = own(blind, scores) if own is not None and len(budgets[1]) else None
    return scores, *budgets, None if found is None else _checked(policy, bench, found)


def _checked(policy: Policy, bench: Bench, given: ArrayLike) -> NDArray[np.float64]:
    scores = np.asarray(given, dtype=np.float64)
    if scores.shape != (len(bench),):
        raise ValueError(f"{policy.name} gave scores of shape {scores.shape}, expected ({len(bench)},)")
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise ValueError(f"{policy.name} gave memory {row} the score {scores[row]}; scores must be finite")
    return scores


def _weights(
    bench: Bench, sheets: dict[str, Sheet], main: str, notes: list[str]
) -> dict[str, dict[str, Any]]:
    """Mean and central 95 % over the splits of the main policy's weights.

    A main policy that is learned but weighs nothing (the MLP) is stood in for by the linear one, with a note.
    """
    if main not in sheets:
        return {}
    chosen = main
    if not sheets[main].weights and sheets[main].learned and MAIN in sheets:
        chosen = MAIN
        notes.append(f"{main} has no weights; those shown are of {MAIN}")
    if not sheets[chosen].weights:
        return {}
    table = np.stack(sheets[chosen].weights)
    low, high = np.percentile(table, [2.5, 97.5], axis=0)
    return {
        factor: {
            "mean": table[:, i].mean(),
            "ci": [low[i], high[i]],
            "informed": bool(bench.informed[i]),
        }
        for i, factor in enumerate(FACTORS)
    }


def _remarks(
    bench: Bench,
    sheets: dict[str, Sheet],
    comparisons: list[dict[str, Any]],
    main: str,
) -> list[str]:
    """What a reader of the table has to know."""
    notes = []
    if bench.source is None or not (bench.source == SIMULATED).any():
        notes.append("no source labels: source-controlled figures are left out")
    blind = [FACTORS[i] for i in np.flatnonzero(~bench.informed)]
    if blind:
        notes.append(f"this data cannot inform {', '.join(blind)}: any weight there is the prior's")
    if not bench.needed.any():
        notes.append("no memory of this data is labelled as needed: nothing can be judged")
    if main not in sheets:
        notes.append(f"the main policy {main!r} could not be judged, so nothing is compared")
    for row in comparisons:
        headline = row["measure"] == "turns" and float(row["budget"]) in HEADLINE
        low, high = row["ci"]
        if row["policy"].startswith(CONVEX) and headline and not np.isnan(low):
            verdict = "ties" if low <= 0.0 <= high else ("falls behind" if low > 0 else "beats")
            notes.append(
                f"the convex fit {verdict} {'CMA-ES' if main == MAIN else main} at "
                f"{100 * float(row['budget']):g} % of turns: {main} − {row['policy']} = "
                f"{row['difference']:+.3f} [{low:+.3f}, {high:+.3f}]"
            )
    return notes
