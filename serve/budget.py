"""How much is kept: a share or a number, of memories or of tokens."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

#: Slack of a share, so that 0.29 of 100 memories is 29 and not 28; the evaluation has the same.
SLACK = 1e-9

_TOKEN_WORDS = ("tokens", "token")
_MEMORY_WORDS = ("memories", "memory", "items", "item")


@dataclass(frozen=True, slots=True)
class Budget:
    """What a store may hold.

    Parameters
    ----------
    amount
        A share in (0, 1], or a whole number of 1 or more.
    unit
        ``memories`` or ``tokens``.
    share
        Which of the two ``amount`` is.
    """

    amount: float
    unit: Literal["memories", "tokens"] = "memories"
    share: bool = True

    def __post_init__(self) -> None:
        if self.unit not in ("memories", "tokens"):
            raise ValueError(f"a budget is counted in memories or tokens, not in {self.unit!r}")
        if self.share and not 0.0 < self.amount <= 1.0:
            raise ValueError(f"a share must lie in (0, 1], got {self.amount}; write 10 % as 0.1 or '10%'")
        if not self.share and not (math.isfinite(self.amount) and self.amount >= 1):
            raise ValueError(f"a number of {self.unit} must be 1 or more, got {self.amount}")
        if not self.share and self.amount != int(self.amount):
            raise ValueError(f"a number of {self.unit} must be whole, got {self.amount}")

    @classmethod
    def parse(cls, text: str | float | Budget) -> Budget:
        """Read ``10%``, ``0.1``, ``500``, ``10%tokens``, ``2000 tokens``; a number below 1 is a share.

        ``1`` is one memory; ``100%`` and ``1.0`` are all of them.

        Raises
        ------
        ValueError
            For anything else.
        """
        if isinstance(text, Budget):
            return text
        if isinstance(text, bool) or not isinstance(text, str | int | float):
            raise ValueError(f"{text!r} is not a budget; write '10%', '500', '10%tokens' or '2000tokens'")
        rest = str(text).strip().lower()
        unit: Literal["memories", "tokens"] = "memories"
        for word in (*_TOKEN_WORDS, *_MEMORY_WORDS):
            if rest.endswith(word):
                unit = "tokens" if word in _TOKEN_WORDS else "memories"
                rest = rest[: -len(word)].strip()
                break
        percent = rest.endswith("%")
        try:
            number = float(rest[:-1] if percent else rest)
        except ValueError:
            raise ValueError(
                f"{text!r} is not a budget; write '10%', '500', '10%tokens' or '2000tokens'"
            ) from None
        if percent:
            return cls(number / 100.0, unit)
        return cls(number, unit, share=0.0 < number < 1.0 or (number == 1.0 and "." in rest))

    def places(self, n: int) -> int:
        """How many of n memories: max(1, ⌊share·n⌋), or the number where there are as many."""
        if self.share:
            return min(n, max(1, math.floor(self.amount * n + SLACK)))
        return min(n, int(self.amount))

    def limit(self, tokens: NDArray[np.int64]) -> float:
        """How many tokens of all of them."""
        return float(tokens.sum()) * self.amount + SLACK if self.share else float(self.amount)

    def __str__(self) -> str:
        amount = f"{100 * self.amount:g} %" if self.share else f"{int(self.amount):,}"
        return f"{amount} of the {self.unit}" if self.share else f"{amount} {self.unit}"
