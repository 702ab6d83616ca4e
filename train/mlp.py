"""A small network for the value, 7 → 16 → 16 → 1, fitted to rank.

Listwise loss after Cao et al. 2007 (its top-one form), pairwise loss after Burges et al. 2005.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from memvalue.train.affine import as_generator
from memvalue.train.layout import case_offsets, predict_table, training_table, varies_within_cases
from memvalue.train.linear import two_valued_target

if TYPE_CHECKING:
    import torch

#: Factors are standardised by at least this spread, a hundredth of their range: one that hardly moved in
#: training must not swing the value when it moves later.
MIN_SPREAD = 0.01


class MLPValueModel(BaseEstimator):
    """A ReLU network over standardised factors whose score is squashed to (0, 1).

    The value is ½(1 + z/(1 + |z|)) with z the score standardised over the training memories. Unlike the
    logistic function this keeps its slope above 1/(2(1+|z|)²), so the best memories stay distinguishable in
    float32 and every ranking by value is the ranking by score.

    Parameters
    ----------
    hidden
        Widths of the hidden layers.
    loss
        ``listwise``: cross-entropy between the case's softmax and its needed memories; ``pairwise``: logistic
        loss on needed-other pairs within the case.
        Chosen within the training halves of five LongMemEval splits, in three folds each: retention, the mean
        over 5, 10, 20 and 30 %, is .797 with the list, .788 with pairs (paired standard error .003).
    restarts
        Networks trained from different starts; the one with the lowest validation loss is kept.
    epochs
        Passes over the training cases at most.
    patience
        Epochs without a better validation loss before stopping.
    validation
        Share of cases held out for stopping; 0, or fewer than 5 cases, trains all epochs on all cases.
    batch_cases
        Cases a step.
    learning_rate, weight_decay
        Of AdamW.
    random_state
        None, an int, or a ``numpy.random.Generator``. Torch's global generator is not touched.

    Attributes
    ----------
    coefs_, intercepts_
        float32 matrices [in, out] and vectors [out], layer by layer, for standardised factors.
    mean_, scale_
        float32[F] of the factors.
    score_mean_, score_scale_
        Of the scores of the training memories.
    informed_
        bool[F]: the factor varies within at least one case. Others are held at their mean and have no effect.
    validation_loss_
        Lowest validation loss (training loss where nothing was held out).
    n_iter_
        Epochs of the kept network.
    """

    def __init__(
        self,
        hidden: Sequence[int] = (16, 16),
        *,
        loss: Literal["listwise", "pairwise"] = "listwise",
        restarts: int = 2,
        epochs: int = 80,
        patience: int = 8,
        validation: float = 0.2,
        batch_cases: int = 16,
        learning_rate: float = 3e-3,
        weight_decay: float = 0.5,
        random_state: int | np.random.Generator | None = 0,
    ) -> None:
        self.hidden = hidden
        self.loss = loss
        self.restarts = restarts
        self.epochs = epochs
        self.patience = patience
        self.validation = validation
        self.batch_cases = batch_cases
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        case_weight: ArrayLike | None = None,
    ) -> MLPValueModel:
        """Fit on float[N, F] factors, bool[N] needed and N case ids; ``case_weight`` float[C] as elsewhere.

        Raises
        ------
        ValueError
            For NaN, lengths that disagree, parameters out of range, or when no case has both kinds of memory.
        """
        table, needed = training_table(self, X, y)
        self._check_parameters()
        rng = as_generator(self.random_state)
        order, offsets = case_offsets(groups, len(table))
        given = (
            np.ones(len(offsets) - 1) if case_weight is None else np.asarray(case_weight, dtype=np.float64)
        )
        if given.shape != (len(offsets) - 1,) or not (np.isfinite(given).all() and (given >= 0).all()):
            raise ValueError(f"case_weight must be {len(offsets) - 1} finite numbers of 0 or more")
        self.informed_ = varies_within_cases(table, groups)
        self.mean_ = table.mean(axis=0, dtype=np.float64).astype(np.float32)
        spread = np.maximum(table.std(axis=0, dtype=np.float64), MIN_SPREAD)
        self.scale_ = np.where(self.informed_, spread, 1.0).astype(np.float32)
        rows = self._standardised(table)
        cases = [
            (rows[part[needed[part]]], rows[part[~needed[part]]], weight)
            for part, weight in zip(np.split(order, offsets[1:-1]), given, strict=True)
            if weight > 0 and 0 < needed[part].sum() < len(part)
        ]
        if not cases:
            raise ValueError(
                "no case has both a needed memory and another one (check y, groups and case_weight)"
            )
        self.validation_loss_ = np.inf
        with _one_thread():
            for _ in range(self.restarts):
                value, parameters, epochs = self._train(cases, rng)
                if value < self.validation_loss_ or not np.isfinite(self.validation_loss_):
                    self.validation_loss_, self.n_iter_ = value, epochs
                    self.coefs_ = [p for p in parameters if p.ndim == 2]
                    self.intercepts_ = [p for p in parameters if p.ndim == 1]
        scores = self._score(rows).astype(np.float64)
        self.score_mean_ = float(np.float32(scores.mean()))
        self.score_scale_ = float(np.float32(max(scores.std(), 1e-6)))
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """float64[N]: the value, in (0, 1), rising strictly with the network's score."""
        score = self._score(self._standardised(predict_table(self, X)))
        z = (score - np.float32(self.score_mean_)) / np.float32(self.score_scale_)
        value: NDArray[np.float64] = (
            np.float32(0.5) + np.float32(0.5) * (z / (np.float32(1) + np.abs(z)))
        ).astype(np.float64)
        return value

    def _standardised(self, X: ArrayLike) -> NDArray[np.float32]:
        rows: NDArray[np.float32] = (np.asarray(X, dtype=np.float32) - self.mean_) / self.scale_
        rows[:, ~self.informed_] = 0.0
        return rows

    def _score(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """float32[N] before the squash."""
        for layer, (coef, intercept) in enumerate(zip(self.coefs_, self.intercepts_, strict=True)):
            rows = rows @ coef + intercept
            if layer < len(self.coefs_) - 1:
                rows = np.maximum(rows, 0)
        score: NDArray[np.float32] = rows[:, 0]
        return score

    def _train(
        self, cases: list[tuple[NDArray[np.float32], NDArray[np.float32], float]], rng: np.random.Generator
    ) -> tuple[float, list[NDArray[np.float32]], int]:
        """One network: its best validation loss, its parameters there, and the epoch."""
        import torch

        shuffled = rng.permutation(len(cases))
        held = round(self.validation * len(cases)) if len(cases) >= 5 else 0
        inner = [cases[i] for i in shuffled[held:]]
        check = _Batch([cases[i] for i in shuffled[:held]]) if held else None
        parameters = self._start(len(self.mean_), torch.Generator().manual_seed(int(rng.integers(2**62))))
        decayed = [p for p in parameters if p.ndim == 2]
        plain = [p for p in parameters if p.ndim == 1]
        blocks: list[dict[str, Any]] = [{"params": decayed}, {"params": plain, "weight_decay": 0.0}]
        optimiser = torch.optim.AdamW(
            blocks,
            lr=self.learning_rate,
            weight_decay=self.weight_decay,
        )
        best, kept, when = np.inf, [p.detach().numpy().copy() for p in parameters], 0
        for epoch in range(1, self.epochs + 1):
            places = rng.permutation(len(inner))
            total = weight = 0.0
            for start in range(0, len(inner), self.batch_cases):
                batch = _Batch([inner[i] for i in places[start : start + self.batch_cases]])
                optimiser.zero_grad()
                loss = batch.loss(parameters, self.loss)
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                total, weight = total + loss.item() * batch.weight, weight + batch.weight
            value = total / weight
            if check is not None:
                with torch.no_grad():
                    value = check.loss(parameters, self.loss).item()
            if not np.isfinite(value):
                raise ValueError("training diverged; lower learning_rate")
            if value < best:
                best, kept, when = value, [p.detach().numpy().copy() for p in parameters], epoch
            elif check is not None and epoch - when >= self.patience:
                break
        return best, kept, when

    def _start(self, width: int, generator: torch.Generator) -> list[torch.Tensor]:
        """Weights and biases, He-initialised (He 2015) from ``generator`` alone."""
        import torch

        sizes = [width, *self.hidden, 1]
        parameters = []
        for fan_in, fan_out in pairwise(sizes):
            matrix = torch.randn((fan_in, fan_out), generator=generator) * (2.0 / fan_in) ** 0.5
            parameters += [matrix.requires_grad_(), torch.zeros(fan_out, requires_grad=True)]
        return parameters

    def _check_parameters(self) -> None:
        if self.loss not in ("listwise", "pairwise"):
            raise ValueError(f"loss must be 'listwise' or 'pairwise', got {self.loss!r}")
        for name in ("restarts", "epochs", "patience", "batch_cases"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be 1 or more, got {getattr(self, name)}")
        if not 0 <= self.validation < 1:
            raise ValueError(f"validation must be a share in [0, 1), got {self.validation}")
        if not self.hidden or min(self.hidden) < 1:
            raise ValueError(f"hidden must list widths of 1 or more, got {self.hidden!r}")
        if not self.learning_rate > 0 or not self.weight_decay >= 0:
            raise ValueError("learning_rate must be above 0 and weight_decay 0 or more")

    def __sklearn_tags__(self) -> Tags:
        return two_valued_target(super().__sklearn_tags__())


class _Batch:
    """Cases side by side: needed memories first in each, the rest after, padded to the longest."""

    def __init__(self, cases: Sequence[tuple[NDArray[np.float32], NDArray[np.float32], float]]) -> None:
        import torch

        yes = max(len(a) for a, _, _ in cases)
        no = max(len(b) for _, b, _ in cases)
        rows = np.zeros((len(cases), yes + no, cases[0][0].shape[1]), dtype=np.float32)
        used = np.zeros((len(cases), yes + no), dtype=bool)
        for i, (a, b, _) in enumerate(cases):
            rows[i, : len(a)], used[i, : len(a)] = a, True
            rows[i, yes : yes + len(b)], used[i, yes : yes + len(b)] = b, True
        share = np.array([w for _, _, w in cases])
        self.weight = float(share.sum())
        self.yes = yes
        self.rows = torch.from_numpy(rows)
        self.used = torch.from_numpy(used)
        self.share = torch.from_numpy((share / share.sum()).astype(np.float32))

    def loss(self, parameters: list[Any], kind: str) -> torch.Tensor:
        """Mean over the cases, each weighing its share."""
        import torch

        hidden = self.rows
        for i in range(0, len(parameters), 2):
            hidden = hidden @ parameters[i] + parameters[i + 1]
            if i < len(parameters) - 2:
                hidden = torch.relu(hidden)
        score = hidden[:, :, 0]
        wanted = self.used[:, : self.yes]
        if kind == "listwise":
            partition = torch.logsumexp(score.masked_fill(~self.used, -torch.inf), dim=1, keepdim=True)
            each = (partition - score[:, : self.yes]) * wanted
            return (self.share * each.sum(dim=1) / wanted.sum(dim=1)).sum()
        gap = score[:, : self.yes, None] - score[:, None, self.yes :]
        pairs = wanted[:, :, None] & self.used[:, None, self.yes :]
        each = torch.nn.functional.softplus(-gap) * pairs
        return (self.share * each.sum(dim=(1, 2)) / pairs.sum(dim=(1, 2))).sum()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Torch on one thread, so that bits do not depend on the number of cores; restored afterwards."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
