"""The job behind ``memvalue transfer``: data sets in, the matrix of who was fitted and tested on whom out."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from memvalue.eval.bench import Bench
from memvalue.eval.measures import kept_share
from memvalue.eval.policy import Inapplicable
from memvalue.eval.pooled_forgetting import pooled_forgetting
from memvalue.eval.prepare_job import Progress, Setting
from memvalue.eval.provenance import check_target, commit, now
from memvalue.eval.rules import RULES
from memvalue.eval.statistics import RESAMPLES, Resampling
from memvalue.eval.transfer_matrix import (
    HALVES_FROM,
    Cell,
    Matrix,
    joint_folds,
    refit_count,
    transfer_matrix,
)
from memvalue.eval.transfer_report import ALL, CEILING, LEFT_OUT, TransferReport

if TYPE_CHECKING:
    from memvalue.configs.transfer_config import TransferConfig
    from memvalue.features import Definition

#: What every row has to beat; ``role`` is a person's turn drawn at random (factors.md, "Transfer").
RIVALS: tuple[str, ...] = ("role", "user_oldest", "user_first_person", "user_length", "user_numbers_capitals")

#: Budgets at which falling behind a one-line rule is reported as a loss.
HEADLINE: tuple[float, ...] = (0.05, 0.1)


def transfer_job(config: TransferConfig, progress: Progress | None = None) -> TransferReport:
    """Fit on each data set and on all but one, test on each, and export the model of all where asked.

    No figure is of cases that its weights were fitted on: a set's own row and the row of all sets are
    cross-fitted. Every set counts the same in a fit over several.

    Parameters
    ----------
    config
        All settings.
    progress
        Called as ``(done, total, label)``.

    Raises
    ------
    ValueError
        For fewer than two data sets, sets that share cases, data that cannot be read or fitted, an unknown
        definition, or a target that cannot be written.
    """
    from memvalue.data import load
    from memvalue.features import Definition

    if config.out is not None:
        check_target(config.out)
    specs = (*config.data, *config.judge)
    if len(specs) < 2:
        raise ValueError("a transfer needs two data sets or more; give --data (or --judge) again")
    setting = Setting.named(config.definition, config.encoder, config.regime, config.cache)
    others = [Definition.named(name) for name in dict.fromkeys(config.beside) if name != config.definition]
    benches = [setting.bench(load(spec, limit=config.limit), progress) for spec in specs]
    sets = dict(zip(_names(benches), benches, strict=True))
    _check_disjoint(sets)
    if not any(b.evidence_names for b in benches):
        others = []  # ready-made factors are the same under every definition

    total = refit_count(sets, config) + len(others) * refit_count(sets, config, full=False)
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total, "fits")

    figures = _Figures(sets, config, setting)
    main = transfer_matrix(sets, config, step=step)
    figures.write(config.definition, main)
    for definition in others:
        redone = {name: _under(bench, definition) for name, bench in sets.items()}
        figures.write(definition.name, transfer_matrix(redone, config, full=False, step=step), main)
    if config.out is not None:
        _export(config.out, sets, config, setting, main, figures.report)
    return figures.report


class _Figures:
    """Fills the report: intervals over the same resamples of cases for every row, losses, changes."""

    def __init__(self, sets: dict[str, Bench], config: TransferConfig, setting: Setting) -> None:
        self._budgets = config.budgets
        self._keys = [f"{b:g}" for b in config.budgets]
        self._drawn = {
            name: Resampling(bench.cases, np.random.default_rng([config.seed, c]))
            for c, (name, bench) in enumerate(sets.items())
        }
        self._rules: dict[str, dict[str, NDArray[np.float64]]] = {}
        self.report = _begin(sets, config, setting)
        for name, bench in sets.items():
            for rule in RIVALS:
                try:
                    scores = RULES[rule].score(bench.blind())
                except Inapplicable:
                    continue
                kept = kept_share(scores, bench.offsets, bench.needed, self._budgets)
                self._rules.setdefault(rule, {})[name] = kept
            best = kept_share(bench.needed.astype(np.float64), bench.offsets, bench.needed, self._budgets)
            self._rules.setdefault(CEILING, {})[name] = best
        for rule in (*RIVALS, CEILING):
            found = self._rules.get(rule, {})
            self.report.rules[rule] = {name: self._turns(name, kept) for name, kept in found.items()}

    def write(self, definition: str, found: Matrix, main: Matrix | None = None) -> None:
        """Add a definition's rows; ``main`` is the matrix that a further definition is compared with."""
        self.report.matrix[definition] = {
            row: {
                name: {
                    "kind": cell.kind,
                    "fitted_on": list(cell.fitted_on),
                    "turns": self._turns(name, cell.kept),
                }
                for name, cell in cells.items()
            }
            for row, cells in found.rows.items()
        }
        self.report.weights[definition] = {
            "+".join(chosen): pooled.weights for chosen, pooled in found.fits.items() if pooled.weights
        }
        for row, cells in found.rows.items():
            for name, cell in cells.items():
                where = {"definition": definition, "row": row, "tested_on": name}
                self._losses(where, name, cell)
                if main is not None:
                    gap = self._turns(name, cell.kept - main.rows[row][name].kept)
                    self.report.changes += [
                        {**where, "budget": key, "difference": g["mean"], "ci": g["ci"]}
                        for key, g in gap.items()
                    ]

    def _losses(self, where: dict[str, str], name: str, cell: Cell) -> None:
        """Where the best rule of the tested set keeps more than the fitted weights."""
        there = {r: kept[name] for r, kept in self._rules.items() if r != CEILING and name in kept}
        for b, budget in enumerate(self._budgets):
            if budget not in HEADLINE or not there:
                continue
            rule = max(there, key=lambda r: float(there[r][:, b].mean()))
            gap = self._turns(name, cell.kept - there[rule])[self._keys[b]]
            if gap["mean"] < 0:
                self.report.losses.append(
                    {
                        **where,
                        "budget": self._keys[b],
                        "value": float(cell.kept[:, b].mean()),
                        "rule": rule,
                        "rule_value": float(there[rule][:, b].mean()),
                        "difference": gap["mean"],
                        "ci": gap["ci"],
                    }
                )

    def _turns(self, name: str, kept: NDArray[np.float64]) -> dict[str, Any]:
        """Budget → mean and BCa interval over the set's cases."""
        found = self._drawn[name].bca(kept)
        return {
            key: {"mean": float(found.value[b]), "ci": [float(found.low[b]), float(found.high[b])]}
            for b, key in enumerate(self._keys)
        }


def _begin(sets: dict[str, Bench], config: TransferConfig, setting: Setting) -> TransferReport:
    """The report without figures."""
    fitted = tuple(sets)[: len(config.data)]
    judged = tuple(sets)[len(config.data) :]
    linear = config.model == "linear"
    folds = len(joint_folds([sets[name].cases for name in fitted], config.seed)) if len(fitted) > 1 else 0
    report = TransferReport(
        sets={
            name: {
                "spec": _portable(bench.spec),
                "digest": bench.digest,
                "cases": bench.cases,
                "memories": len(bench),
                "needed": int(bench.needed.sum()),
                "use": "fit" if name in fitted else "judge",
                "own": _own(bench.cases) if name in fitted else None,
            }
            for name, bench in sets.items()
        },
        protocol={
            "budgets": list(config.budgets),
            "fit_budgets": list(config.fit_budgets),
            "headline": [b for b in HEADLINE if b in config.budgets],
            "model": config.model,
            "refits": config.refits if linear else 1,
            "l2": config.l2 if linear else None,
            "folds": folds or None,
            "seed": config.seed,
            "resamples": RESAMPLES,
            "regime": config.regime,
            "encoder": setting.encoder.name if setting.encoder is not None else None,
            "definition": config.definition,
        },
    )
    for name in fitted:
        if sets[name].cases < 2:
            report.notes.append(f"the one case of {name} leaves none to fit on beside it: it has no own row")
    if judged:
        report.notes.append(f"nothing was fitted on {', '.join(judged)}")
    return report


def _names(benches: Sequence[Bench]) -> list[str]:
    """A short name a set: its kind, numbered where one kind occurs more than once."""
    kinds = [bench.spec.partition(":")[0].strip() for bench in benches]
    return [
        kind if kinds.count(kind) == 1 else f"{kind}-{kinds[: i + 1].count(kind)}"
        for i, kind in enumerate(kinds)
    ]


def _check_disjoint(sets: dict[str, Bench]) -> None:
    """Refuse sets that share a case: figures would be of weights that had seen it."""
    where: dict[str, str] = {}
    for name, bench in sets.items():
        mine = {_content(bench, c) for c in range(bench.cases)}
        shared = [where[digest] for digest in mine if digest in where]
        if shared:
            raise ValueError(
                f"{shared[0]} and {name} have cases in common ({len(shared)}); give each case in one data "
                "set only, else weights would be tested on what they were fitted on"
            )
        where |= dict.fromkeys(mine, name)


def _content(bench: Bench, case: int) -> str:
    """What makes two cases the same: their memories, or their factors where these are ready-made."""
    if bench.evidence_names:
        return bench.consolidations[case].digest()
    rows = slice(int(bench.offsets[case]), int(bench.offsets[case + 1]))
    return hashlib.sha256(bench.factors[rows].tobytes()).hexdigest()


def _own(cases: int) -> str | None:
    """How a set's own row is cross-fitted."""
    if cases < 2:
        return None
    return "leave one case out" if cases < HALVES_FROM else "two halves"


def _under(bench: Bench, definition: Definition) -> Bench:
    """The bench with the factors of another definition, from the evidence that it holds."""
    from memvalue.features import Evidence, combine

    if not bench.evidence_names:
        return bench
    factors = combine(Evidence(bench.evidence_names, bench.evidence), definition)
    return replace(bench, factors=factors, informed=np.ptp(factors, axis=0) > 0, definition=definition.name)


def _portable(spec: str) -> str:
    """The spec without folders, which say nothing on another machine."""
    kind, colon, rest = spec.partition(":")
    return f"{kind}:{Path(rest).name}" if colon and ("/" in rest or "\\" in rest) else spec


def _export(
    out: Path,
    sets: dict[str, Bench],
    config: TransferConfig,
    setting: Setting,
    main: Matrix,
    report: TransferReport,
) -> None:
    """Write the model of all fitted sets. Typical memories and calibration take evenly from each set."""
    from memvalue.train.export import export_model
    from memvalue.train.graph import DEFAULT_BETA

    fitted = tuple(sets)[: len(config.data)]
    benches = [sets[name] for name in fitted]
    pooled = main.fits[fitted]
    fewest = min(len(b) for b in benches)
    picks = {name: np.linspace(0, len(sets[name]) - 1, fewest).astype(np.int64) for name in fitted}
    unseen = main.rows[ALL] if ALL in main.rows else main.rows[fitted[0]]
    found = None
    if all(name in unseen for name in fitted):
        found = pooled_forgetting(
            {name: sets[name] for name in fitted}, {name: unseen[name].values for name in fitted}
        )
    record = report.to_dict()
    weights = pooled.weights
    alone = record["weights"][config.definition]
    out.parent.mkdir(parents=True, exist_ok=True)
    export_model(
        pooled.estimator,
        out,
        reference=np.concatenate([sets[name].factors[at] for name, at in picks.items()]),
        calibration=None if found is None else found.held,
        calibration_figures={} if found is None else found.figures,
        beta=DEFAULT_BETA if found is None else found.beta,
        definition=setting.described,
        informed=np.any([b.informed for b in benches], axis=0),
        weight_ci=[w["ci"] for w in weights.values()] if weights else None,
        budgets=config.fit_budgets,
        data={
            "spec": " + ".join(record["sets"][name]["spec"] for name in fitted),
            "digest": _joined([b.digest for b in benches]),
            "cases": sum(b.cases for b in benches),
            "memories": sum(len(b) for b in benches),
            "needed": sum(int(b.needed.sum()) for b in benches),
            "weighting": "equal per data set",
            "sets": {
                name: {
                    **{k: record["sets"][name][k] for k in ("spec", "digest", "cases", "memories")},
                    "weights_alone": [w["mean"] for w in alone.get(name, {}).values()],
                }
                for name in fitted
            },
        },
        config_digest=config.digest(),
        commit=commit(),
        metrics=_metrics(record, fitted),
        seed=config.seed,
        created=now(),
    )
    report.model = str(out)
    report.notes.append(
        f"{out} was fitted on all cases of {', '.join(fitted)}; no figure above is of that very file"
    )


def _metrics(record: dict[str, Any], fitted: tuple[str, ...]) -> dict[str, Any]:
    """Figures of siblings that had not seen the tested set, and its best rule's, a section a tested set."""
    rows = record["matrix"][record["protocol"]["definition"]]
    left_out = {
        name: found["turns"]
        for name, found in rows.get(LEFT_OUT, rows[fitted[0]]).items()
        if found["kind"] == "transfer"
    }
    out: dict[str, Any] = {
        "of": "models with these settings fitted on the other data sets, judged on all cases of this one",
        "splits": len(left_out),
        "refits": record["protocol"]["refits"],
        "l2": record["protocol"]["l2"],
    }
    for name, cells in left_out.items():
        out[name] = {k: [cell["mean"], *cell["ci"]] for k, cell in cells.items()}
        there = [found[name] for rule, found in record["rules"].items() if rule != CEILING and name in found]
        if there:
            out[f"{name}, best rule"] = {k: [max(rule[k]["mean"] for rule in there)] for k in cells}
    return out


def _joined(digests: Sequence[str]) -> str:
    """One digest of several; of one, itself."""
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()
