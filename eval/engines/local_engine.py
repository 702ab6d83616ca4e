"""The cores of this machine, by joblib."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from memvalue.eval.engines.engine import ATTEMPTS, Failed, attempt, attempt_on_worker

#: Units handed out ahead of need, a worker: enough that none waits, few enough that a death costs little.
AHEAD = 2


class LocalEngine:
    """Processes of this machine. One worker runs in this very process.

    Parameters
    ----------
    workers
        Processes; None for as many as there are cores.

    Raises
    ------
    ValueError
        For fewer than one.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = len(os.sched_getaffinity(0)) if workers is None else workers
        if self.workers < 1:
            raise ValueError(f"workers must be 1 or more, got {workers}")

    def run(
        self,
        call: Callable[[Any], Any],
        units: Iterable[Any],
        done: Callable[[Any, Any], Iterable[Any]],
    ) -> None:
        """See :class:`~memvalue.eval.engines.engine.Engine`."""
        if self.workers == 1:
            from threadpoolctl import threadpool_limits

            with threadpool_limits(limits=1):
                self._run_here(call, units, done)
            return
        self._run_processes(call, iter(units), done)

    @staticmethod
    def _run_here(
        call: Callable[[Any], Any], units: Iterable[Any], done: Callable[[Any, Any], Iterable[Any]]
    ) -> None:
        ready: deque[Any] = deque()
        for first in units:
            ready.append(first)
            while ready:  # what comes of a unit goes before the next one: results appear early
                unit = ready.popleft()
                ready.extend(done(unit, attempt(call, unit)))

    def _run_processes(
        self, call: Callable[[Any], Any], units: Iterator[Any], done: Callable[[Any, Any], Iterable[Any]]
    ) -> None:
        from joblib import Parallel, delayed
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        further: deque[Any] = deque()
        out: dict[int, Any] = {}  # handed out and not back
        number = 0

        def hand_out() -> Iterator[Any]:
            nonlocal number
            while True:
                if further:
                    unit = further.popleft()
                else:
                    unit = next(units, _END)
                    if unit is _END:
                        return
                out[number] = unit
                yield delayed(_numbered)(call, number, unit)
                number += 1

        while True:
            before = number
            pool = Parallel(
                n_jobs=self.workers,
                return_as="generator_unordered",
                pre_dispatch=f"{AHEAD}*n_jobs",
                batch_size=1,
            )
            try:
                for back, outcome in pool(hand_out()):
                    further.extend(done(out.pop(back), outcome))
            except TerminatedWorkerError:
                # Whose fault it was is not known: each that was out is tried by itself.
                suspects = list(out.values())
                out.clear()
                for unit in suspects:
                    further.extend(done(unit, _alone(call, unit)))
            if not further and number == before:
                return

    def close(self) -> None:
        """Stop the processes."""
        from joblib.externals.loky import get_reusable_executor

        if self.workers > 1:
            get_reusable_executor().shutdown(wait=True)


_END = object()


def _numbered(call: Callable[[Any], Any], number: int, unit: Any) -> tuple[int, Any]:
    return number, attempt_on_worker(call, unit)


def _alone(call: Callable[[Any], Any], unit: Any) -> Any:
    """The outcome of a unit in a pool where it can hurt no other."""
    from joblib import Parallel, delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    for _ in range(ATTEMPTS - 1):
        try:
            # Two jobs, so that joblib takes a process at all; the second stays idle.
            return Parallel(n_jobs=2)([delayed(attempt_on_worker)(call, unit)])[0]
        except TerminatedWorkerError:
            continue
    return Failed(f"its worker died {ATTEMPTS} times (killed, or out of memory)")
