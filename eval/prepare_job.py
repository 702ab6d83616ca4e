"""What every job begins with: from a data spec and the factors' settings to a bench."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from memvalue.data.dataset import Dataset
from memvalue.data.splits import Split, grouped_splits, paper_splits
from memvalue.eval.bench import Bench

if TYPE_CHECKING:
    from memvalue.features import Definition
    from memvalue.features.cache import EvidenceCache
    from memvalue.features.encoder import Encoder

#: ``progress(done, total, label)``: told how far a job is; never told where to draw.
Progress = Callable[[int, int, str], None]

REGIMES = ("batch", "online")

#: Below so many memories OpenMP's threads wait for each other more than they work: trees on the 10,000
#: memories of the embedded corpus took 5 to 7 times the processor time with two threads, on two busy cores.
MANY_MEMORIES = 50_000


@dataclass(frozen=True)
class Setting:
    """How factors are made, checked and loaded: the same for a fit, an evaluation and a scoring.

    Parameters
    ----------
    definition, encoder, cache
        As :func:`memvalue.features.observe` and ``combine`` take them.
    regime
        ``batch`` or ``online``.
    described
        The definition's ``name`` and switches, ``encoder`` and ``regime`` as the user named them: what a
        model's metadata carries, and what :meth:`of_model` reads back.
    """

    definition: Definition
    encoder: Encoder | None
    regime: Literal["batch", "online"]
    cache: EvidenceCache | None
    described: dict[str, Any]

    @classmethod
    def named(cls, definition: str, encoder: str, regime: str, cache: Path | None = None) -> Setting:
        """The setting that three names and a cache folder stand for.

        Raises
        ------
        ValueError
            For a name that is not known, an encoder that is not there, or a cache folder that cannot be used.
        """
        from memvalue.features import Definition
        from memvalue.features.cache import EvidenceCache
        from memvalue.features.encoder import load_encoder

        if regime not in REGIMES:
            raise ValueError(f"unknown regime {regime!r}; one of {', '.join(REGIMES)}")
        switches = Definition.named(definition)
        return cls(
            definition=switches,
            encoder=load_encoder(encoder),
            regime=cast(Literal["batch", "online"], regime),
            cache=None if cache is None else EvidenceCache(cache),
            described={**switches.as_dict(), "encoder": encoder, "regime": regime},
        )

    @classmethod
    def of_model(cls, metadata: dict[str, Any], cache: Path | None = None) -> Setting:
        """The setting that a model was fitted with, from its metadata.

        Raises
        ------
        ValueError
            When the metadata does not say, or names what this machine does not have.
        """
        stored = metadata.get("definition")
        if not isinstance(stored, dict) or not {"name", "encoder", "regime"} <= set(stored):
            raise ValueError(
                "the model does not say how its factors are made; export it with `memvalue fit`, or compute "
                "the factors yourself and call memvalue.serve.ValueModel"
            )
        made = cls.named(str(stored["name"]), str(stored["encoder"]), str(stored["regime"]), cache)
        if made.described != stored:
            differing = sorted(
                k for k in {*made.described, *stored} if made.described.get(k) != stored.get(k)
            )
            raise ValueError(
                f"the model's definition {stored['name']!r} is not this package's: {', '.join(differing)} "
                "differ; fit the model anew"
            )
        return made

    def bench(self, dataset: Dataset, progress: Progress | None = None) -> Bench:
        """``dataset`` laid out with this setting's factors."""
        return Bench.build(
            dataset,
            definition=self.definition,
            encoder=self.encoder,
            regime=self.regime,
            cache=self.cache,
            progress=labelled(progress, "factors"),
        )


def labelled(progress: Progress | None, label: str) -> Callable[..., None] | None:
    """``progress`` under one label, whether the verb that calls it gives a label of its own or none."""
    if progress is None:
        return None

    def tell(done: int, total: int, _: str = "") -> None:
        progress(done, total, label)

    return tell


def check_policies(names: tuple[str, ...]) -> None:
    """Refuse an unknown policy before minutes are spent on data and factors.

    Raises
    ------
    ValueError
        For a name that is neither a row nor a group of the roster.
    """
    from memvalue.eval.roster import GROUPS, known_policies

    unknown = [n for n in names if n not in GROUPS and n not in known_policies()]
    if unknown:
        raise ValueError(
            f"no policy called {', '.join(map(repr, unknown))}; rows: {', '.join(known_policies())}; "
            f"groups: {', '.join(GROUPS)}"
        )


def schedule(dataset: Dataset, kind: str, splits: int) -> list[Split]:
    """The splits that a setting asks for: the paper's, or halves that share no needed session.

    Raises
    ------
    DataError
        When the cases do not allow them.
    """
    return paper_splits(len(dataset), splits) if kind == "paper" else grouped_splits(dataset, splits)


@contextmanager
def fitting_threads(memories: int) -> Iterator[None]:
    """One OpenMP thread for learners while the data is small; all of them from :data:`MANY_MEMORIES` on."""
    if memories >= MANY_MEMORIES:
        yield
        return
    import sklearn.ensemble  # noqa: F401  loads its OpenMP runtime, which the limit would otherwise miss
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="openmp"):
        yield
