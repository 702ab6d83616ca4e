"""What a store has heard so far: all that the evidence of its next memories needs of its history."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from memvalue.features.heard_words import HeardWords
from memvalue.features.novelty import SLOT_BITS, Usual
from memvalue.features.recurrence_past import RecurrencePast

#: Arrays by name, as they are written to a file.
Arrays = Mapping[str, NDArray[np.generic]]


class Past:
    """The history of one store, which `observe_next` reads and moves on.

    Attributes
    ----------
    heard
        Words that anybody used.
    usual
        How many new words are usual by now.
    rehearsal
        Words that persons used, and where.
    asker
        Who spoke the last memory if it asked something, else None.
    """

    def __init__(self) -> None:
        self.heard = HeardWords(SLOT_BITS)
        self.usual = Usual()
        self.rehearsal = RecurrencePast()
        self.asker: str | None = None

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """The history as plain arrays; equal histories that came about in the same way give equal arrays."""
        asker = b"" if self.asker is None else b"=" + self.asker.encode("utf-8", "surrogatepass")
        return {
            "heard": self.heard.pack(),
            "usual": np.array([self.usual.mean], dtype=np.float64),
            "asker": np.frombuffer(asker, dtype=np.uint8),
            **self.rehearsal.arrays(),
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Past:
        """What `arrays` gave. Raises ValueError for anything else, with the reason."""
        out = cls()
        for name in ("heard", "usual", "asker"):
            if name not in arrays:
                raise ValueError(f"{name} is missing")
        out.heard = HeardWords.unpack(arrays["heard"], SLOT_BITS)
        usual = arrays["usual"]
        if usual.dtype != np.float64 or usual.shape != (1,) or not 0.0 <= float(usual.astype(float)[0]) < 1e6:
            raise ValueError("the usual number of new words is no number from 0 to a million")
        out.usual = Usual(float(usual.astype(float)[0]))
        asker = arrays["asker"]
        if asker.dtype != np.uint8 or asker.ndim != 1:
            raise ValueError("the last speaker is no text")
        try:
            name = asker.tobytes().decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise ValueError("the last speaker is no UTF-8") from None
        out.asker = name[1:] if name else None
        out.rehearsal = RecurrencePast.from_arrays(arrays)
        return out
