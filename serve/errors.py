"""Why a file was refused."""

from __future__ import annotations


class RefusedFile(ValueError):
    """A file that cannot be used or trusted.

    ``reason`` says what is wrong with it and, where there is one, the remedy; ``path`` is the file, or None
    for bytes.
    """

    def __init__(self, reason: str, path: str | None = None) -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.reason = reason
        self.path = path


class ModelError(RefusedFile):
    """A model file that cannot be used or trusted."""


class StateError(RefusedFile):
    """A saved stream that cannot be used."""
