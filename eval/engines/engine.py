"""What every engine offers: run units, of which a finished one may bring further ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from memvalue.data.errors import one_line

#: Runs of a unit whose worker died. A worker may be killed for another's memory, so one death proves
#: nothing; the third does (Dask's default of ``allowed-failures`` is the same).
ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Failed:
    """A unit that gave no result, and why, in one line."""

    reason: str


class Engine(Protocol):
    """Runs ``call(unit)`` for every unit, in any order, each on one worker.

    ``call`` and the units are pickled: a function of a module, and plain data. A unit whose worker dies is
    run again, so ``call`` must be safe to repeat.
    """

    workers: int

    def run(
        self,
        call: Callable[[Any], Any],
        units: Iterable[Any],
        done: Callable[[Any, Any], Iterable[Any]],
    ) -> None:
        """Run ``units`` and those that come of them.

        Parameters
        ----------
        call
            The work. What it raises becomes the :class:`Failed` outcome of that unit alone.
        units
            The first ones, taken as workers become free.
        done
            Called here, one at a time, as ``done(unit, outcome)``; returns further units. An outcome is what
            ``call`` returned, or :class:`Failed`.
        """

    def close(self) -> None:
        """Let the workers go."""


def attempt(call: Callable[[Any], Any], unit: Any) -> Any:
    """``call(unit)``, or why it failed: one bad unit must not stop the others."""
    try:
        return call(unit)
    except MemoryError:
        return Failed("out of memory; give the worker more, or the business a shorter log")
    except (ValueError, OSError, ImportError) as error:
        return Failed(one_line(error))
    except Exception as error:
        return Failed(f"unexpected {type(error).__name__}: {one_line(error)}")


@cache
def take_one_core() -> None:
    """Keep this worker to one core: threads of numerical libraries would fight over the others'.

    Once a process: finding the libraries takes 7 ms.
    """
    from threadpoolctl import threadpool_limits

    threadpool_limits(limits=1)


def attempt_on_worker(call: Callable[[Any], Any], unit: Any) -> Any:
    """:func:`attempt`, in a process that does nothing else."""
    take_one_core()
    return attempt(call, unit)


def attempt_pack(call: Callable[[Any], Any], units: Sequence[Any]) -> list[Any]:
    """:func:`attempt_on_worker` for each of several units."""
    return [attempt_on_worker(call, unit) for unit in units]
