"""How users grade answers: seldom, and sometimes by mistake."""

from __future__ import annotations

from dataclasses import dataclass

from memvalue.data.errors import DataError


@dataclass(frozen=True)
class Graders:
    """Chances of each grade (Bizer, systems.md section 3).

    Parameters
    ----------
    helpful
        A correct answer is graded helpful.
    mistake
        A correct answer is graded harmful by mistake.
    corrected
        An out-of-date answer is corrected.

    Raises
    ------
    DataError
        For a chance outside [0, 1].
    """

    helpful: float = 0.5
    mistake: float = 0.03
    corrected: float = 0.7

    def __post_init__(self) -> None:
        for name in ("helpful", "mistake", "corrected"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise DataError(f"Graders.{name} is a chance in [0, 1], got {getattr(self, name)}")
        if self.helpful + self.mistake > 1.0:
            raise DataError(f"an answer has one grade at most: {self.helpful} + {self.mistake} is above 1")

    def of_correct(self, luck: float) -> str | None:
        """``helpful``, ``harmful`` or None: the grade of a correct answer, by one uniform number."""
        if luck < self.helpful:
            return "helpful"
        return "harmful" if luck < self.helpful + self.mistake else None

    def corrects(self, luck: float) -> bool:
        """Is a stale answer corrected, by one uniform number?"""
        return luck < self.corrected
