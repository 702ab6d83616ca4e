"""What the log makes of one memory."""

from __future__ import annotations

from dataclasses import dataclass

from memvalue.serve.history.utility import mean, variance


@dataclass(frozen=True, slots=True)
class MemoryState:
    """The state of one memory at one moment, a view of its events.

    Parameters
    ----------
    memory
        Its id.
    uses
        Deliberate uses: opened, confirmed, written again. Being shown never counts.
    recent_use
        The short clock: uses, each times .995 for every hour since; 0 or more.
    activation
        The long clock: ACT-R's B over its first writing and all uses, ages in hours; −inf without any.
    alpha, beta
        Evidence for and against it, the prior included.
    harm
        Corrections, each times .999 for every hour since; 0 or more. It only ever demotes: nothing but time
        takes it away, and a good outcome never pays for it.
    stability, difficulty, retrievability
        FSRS's S in days, D in [1, 10] and R in (0, 1]; NaN before the first review.
    importance
        V in [0, 1] as of the last writing or rescore; NaN where none was told. Use never touches it.
    shown
        How often it was shown (their weights); no state depends on it.
    forgotten
        The store has forgotten it, and it was not written again.
    """

    memory: str
    uses: int
    recent_use: float
    activation: float
    alpha: float
    beta: float
    harm: float
    stability: float
    difficulty: float
    retrievability: float
    importance: float
    shown: float
    forgotten: bool

    @property
    def utility(self) -> float:
        """α/(α + β) in (0, 1)."""
        return mean(self.alpha, self.beta)

    @property
    def utility_variance(self) -> float:
        """Variance of Beta(α, β)."""
        return variance(self.alpha, self.beta)
