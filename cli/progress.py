"""A progress bar on stderr, silent where no one watches."""

from __future__ import annotations

import sys
import time
from typing import TextIO

#: Seconds between two drawings: fast enough to look alive, slow enough to cost nothing.
_REDRAW = 0.1
_WIDTH = 24


class ProgressBar:
    """Draws ``[####    ] done/total label``; off when the stream is not a terminal.

    Called as ``bar(done, total, label)`` by the verbs of other rooms, which know nothing of terminals. A new
    total, or a count that falls back, starts a new line. A total of 0 stands for unknown.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._on = self._stream.isatty()
        self._seen: tuple[int, int] | None = None
        self._drawn = 0.0

    def __call__(self, done: int, total: int, label: str = "") -> None:
        if not self._on:
            return
        now = time.monotonic()
        if self._seen is not None and (total != self._seen[1] or done < self._seen[0]):
            self._end_line()
        first = self._seen is None
        self._seen = (done, total)
        if not first and done < total and now - self._drawn < _REDRAW:
            return
        self._drawn = now
        part = min(done / total, 1.0) if total > 0 else 0.0
        bar = "#" * round(part * _WIDTH)
        self._stream.write(f"\r[{bar:<{_WIDTH}}] {done}/{total or '?'} {label:.40}\x1b[K")
        self._stream.flush()

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        self._end_line()

    def _end_line(self) -> None:
        if self._on and self._seen is not None:
            self._stream.write("\n")
            self._stream.flush()
            self._seen = None
