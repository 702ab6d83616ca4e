"""The constants by which a log becomes states."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from memvalue.features.use_clock import DECAY_PER_HOUR, HARM_PER_HOUR, hours_of
from memvalue.serve.history.errors import HistoryError
from memvalue.serve.history.fsrs import Fsrs
from memvalue.serve.history.utility import PRIOR_WEIGHT


@dataclass(frozen=True)
class Formulas:
    """Every constant of the state. Others give other states of the same log, without touching it.

    Parameters
    ----------
    use_per_hour
        What is left of a use after an hour; the short clock.
    harm_per_hour
        What is left of a correction after an hour.
    prior_weight
        w₀; utility starts at α = β = w₀/2.
    keep
        λ in (0, 1]; what each new piece of evidence leaves of older evidence. 1 forgets none.
    clock
        ``wall`` counts all hours, ``active`` those of the store's own clock (every event must carry its
        reading then), so that an idle week fades nothing.
    fsrs
        Model of retrievability.

    Raises
    ------
    ValueError
        For a constant outside its range.
    """

    use_per_hour: float = DECAY_PER_HOUR
    harm_per_hour: float = HARM_PER_HOUR
    prior_weight: float = PRIOR_WEIGHT
    keep: float = 1.0
    clock: Literal["wall", "active"] = "wall"
    fsrs: Fsrs = field(default_factory=Fsrs)

    def __post_init__(self) -> None:
        for name in ("use_per_hour", "harm_per_hour", "keep"):
            if not 0.0 < getattr(self, name) <= 1.0:
                raise ValueError(f"Formulas.{name} must lie in (0, 1], got {getattr(self, name)}")
        if not 0.0 < self.prior_weight < float("inf"):
            raise ValueError(f"Formulas.prior_weight must be finite and above 0, got {self.prior_weight}")
        if self.clock not in ("wall", "active"):
            raise ValueError(f"Formulas.clock must be 'wall' or 'active', got {self.clock!r}")

    def hours(self, now: datetime | float) -> float:
        """A moment in hours on this clock.

        A number is taken as such hours. A time (timezone-aware) is turned into hours since 1970 UTC, and
        refused on the active clock, which only the store can read.

        Raises
        ------
        HistoryError
            For a naive time, a time on the active clock, or a number that is not finite.
        """
        if isinstance(now, datetime):
            if self.clock == "active":
                raise HistoryError("these states run on active hours; give the reading, not the time of day")
            if now.tzinfo is None:
                raise HistoryError(f"{now.isoformat()} has no time zone; use datetime(..., tzinfo=UTC)")
            return hours_of(now)
        if not abs(now) < float("inf"):
            raise HistoryError(f"now must be a time or finite hours, got {now!r}")
        return float(now)
