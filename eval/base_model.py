"""The model that a recalibration starts from, or that is in use: its file, weights and definition."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from memvalue.eval.prepare_job import Setting
from memvalue.train.base_weights import BaseWeights


@dataclass(frozen=True)
class LinearFile:
    """A linear model's file, loaded and checked.

    Parameters
    ----------
    path
        Where it is.
    content
        Its bytes, as they were checked.
    sha256
        Of the bytes.
    weights
        Its weights.
    metadata
        What it says of itself.
    """

    path: Path
    content: bytes
    sha256: str
    weights: BaseWeights
    metadata: dict[str, Any]

    @classmethod
    def load(cls, path: str | Path) -> LinearFile:
        """Read and check a model.

        Raises
        ------
        ValueError
            When it cannot be trusted, or is not linear.
        """
        from memvalue.serve import ModelError, ValueModel
        from memvalue.serve.files import RefusedFile, read_file
        from memvalue.serve.verify import MAX_BYTES

        try:
            content = read_file(str(path), MAX_BYTES, follow_links=False)
            model = ValueModel.from_bytes(content)
            weights = BaseWeights.from_metadata(model.metadata)
        except RefusedFile as error:
            raise ModelError(error.reason, str(path)) from None
        except ModelError as error:
            raise ModelError(str(error), str(path)) from None
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        return cls(Path(path), content, hashlib.sha256(content).hexdigest(), weights, model.metadata)

    @classmethod
    def load_once(cls, path: str | Path) -> LinearFile:
        """As :meth:`load`; the same file is checked once a process, which takes 15 ms."""
        state = os.stat(path)
        return _loaded(str(path), state.st_mtime_ns, state.st_size, state.st_ino)

    def setting(self, cache: Path | None) -> Setting:
        """How the factors that it reads are made."""
        return Setting.of_model(self.metadata, cache)

    def check_alike(self, other: LinearFile) -> None:
        """Raise ValueError unless ``other`` reads the same factors, so that the two can be compared."""
        mine, theirs = (
            {k: v for k, v in (m.metadata.get("definition") or {}).items() if k != "name"}
            for m in (self, other)
        )
        versions = {m.metadata["definition_version"] for m in (self, other)}
        if mine != theirs or len(versions) > 1:
            raise ValueError(
                f"{other.path} reads factors of another definition than the base {self.path}; recalibrate "
                "from a base of its own definition, or move it away to start anew"
            )


@lru_cache(maxsize=4)
def _loaded(path: str, *_: int) -> LinearFile:
    return LinearFile.load(path)


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
