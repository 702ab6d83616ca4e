"""From the held-out results of all policies to the numbers of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memvalue.eval.bench import Bench
from memvalue.eval.measures import MEASURES
from memvalue.eval.statistics import Resampling, holm, mean_without_nan

#: Measures that are compared with the main policy.
_COMPARED = ("turns", "tokens", "source_controlled")

#: Turn budgets and token budgets.
Budgets = tuple[Sequence[float], Sequence[float]]


@dataclass
class Sheet:
    """All held-out results of one policy: measure → float64[S, C, B], NaN where a case was not held out."""

    regime: str
    learned: bool
    values: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    weights: list[NDArray[np.float64]] = field(default_factory=list)
    refused: str = ""


class Summary:
    """Turns sheets into the numbers of a report. Resamples are drawn once for each set of cases."""

    def __init__(
        self,
        bench: Bench,
        budgets: Budgets,
        rng: np.random.Generator,
        resamples: int,
    ) -> None:
        self._kinds = np.array(bench.kinds, dtype=object)
        self._needed = np.bincount(bench.case_of[bench.needed], minlength=bench.cases).astype(np.float64)
        self._keys = [f"{b:g}" for b in budgets[0]]
        self._token_keys = [f"{b:g}" for b in budgets[1]]
        self._seed = int(rng.integers(2**63))
        self._resamples = resamples
        self._drawn: dict[bytes, Resampling] = {}

    def _resampling(self, cases: NDArray[np.bool_]) -> Resampling:
        key = np.packbits(cases).tobytes()
        if key not in self._drawn:
            # Seeded by the set of cases, so that no figure depends on which others were asked for.
            rng = np.random.default_rng([self._seed, *np.flatnonzero(cases).tolist()])
            self._drawn[key] = Resampling(int(cases.sum()), rng, self._resamples)
        return self._drawn[key]

    def records(self, sheets: dict[str, Sheet]) -> dict[str, dict[str, Any]]:
        """Each policy's record. Sections that the data cannot fill are empty."""
        out: dict[str, dict[str, Any]] = {name: {"regime": sheet.regime} for name, sheet in sheets.items()}
        if not sheets:
            return out
        for measure in MEASURES:
            found = [sheet.values.get(measure) for sheet in sheets.values()]
            values = np.stack([v for v in found if v is not None]) if found[0] is not None else None
            keys = self._token_keys if measure == "tokens" else self._keys
            self._fill(out, (measure,), values, keys)
            if measure == "turns":
                self._fill(out, ("micro",), values, keys, weights=np.maximum(self._needed, 1.0))
            elif measure == "tokens":
                self._types(out, np.stack([s.values["turns"] for s in sheets.values()]))
        return out

    def _types(self, out: dict[str, dict[str, Any]], turns: NDArray[np.float64]) -> None:
        types = sorted(set(self._kinds))
        for record in out.values():
            record["by_type"] = {}
        for kind in types if types != [""] else []:
            self._fill(out, ("by_type", kind), turns, self._keys, cases=self._kinds == kind)

    def _fill(
        self,
        out: dict[str, dict[str, Any]],
        place: tuple[str, ...],
        values: NDArray[np.float64] | None,
        keys: list[str],
        cases: NDArray[np.bool_] | None = None,
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        """Budget → mean, std, ci at ``place`` in each record.

        ``values`` are float64[P, S, C, B] in the order of the records; ``cases`` bool[C] chooses some and
        ``weights`` float64[C] weighs them. All policies are held out on the same cases, so one resampling
        serves them all.
        """
        if values is not None and cases is not None:
            values = np.where(cases[:, None], values, np.nan)
        empty = values is None or bool(np.isnan(values).all())
        table: list[dict[str, Any]] = [{} for _ in out]
        if values is not None and not empty:
            by_split = mean_without_nan(values, 2, None if weights is None else weights[:, None])
            mean = mean_without_nan(by_split, 1)
            std = np.sqrt(mean_without_nan((by_split - mean[:, None]) ** 2, 1))
            by_case = mean_without_nan(values, 1)
            usable = np.asarray(~np.isnan(by_case).any(axis=(0, 2)))
            columns = by_case[:, usable].transpose(1, 0, 2).reshape(int(usable.sum()), -1)
            found = self._resampling(usable).bca(columns, None if weights is None else weights[usable])
            low, high = found.low.reshape(mean.shape), found.high.reshape(mean.shape)
            table = [
                {
                    key: {"mean": mean[p, b], "std": std[p, b], "ci": [low[p, b], high[p, b]]}
                    for b, key in enumerate(keys)
                }
                for p in range(len(values))
            ]
        for record, cells in zip(out.values(), table, strict=True):
            for step in place[:-1]:
                record = record[step]
            record[place[-1]] = cells

    def compare(self, sheets: dict[str, Sheet], main: str) -> list[dict[str, Any]]:
        """The main policy against each blind one, at every budget of the compared measures."""
        if main not in sheets:
            return []
        rivals = [n for n, s in sheets.items() if n != main and s.regime == sheets[main].regime]
        rows: list[dict[str, Any]] = []
        for measure in _COMPARED:
            if not rivals or measure not in sheets[main].values:
                continue
            keys = self._token_keys if measure == "tokens" else self._keys
            ours = mean_without_nan(sheets[main].values[measure], 0)
            usable = np.asarray(~np.isnan(ours).any(axis=1))
            if not usable.any():
                continue
            theirs = np.stack([mean_without_nan(sheets[n].values[measure], 0) for n in rivals], axis=1)
            gaps = ours[usable][:, None, :] - theirs[usable]  # [cases, rivals, budgets]
            found = self._resampling(usable).bca(gaps.reshape(len(gaps), -1))
            shape = gaps.shape[1:]
            value, low, high, p = (a.reshape(shape) for a in (found.value, found.low, found.high, found.p))
            for b, key in enumerate(keys):
                adjusted = holm(p[:, b])
                for r, rival in enumerate(rivals):
                    rows.append(
                        {
                            "main": main,
                            "policy": rival,
                            "measure": measure,
                            "budget": key,
                            "difference": value[r, b],
                            "ci": [low[r, b], high[r, b]],
                            "p": p[r, b],
                            "p_holm": adjusted[r],
                            "significant": bool(adjusted[r] < 0.05),
                        }
                    )
        return rows
