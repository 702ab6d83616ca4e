"""A Dask cluster, by ``distributed`` (extra ``dask``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Any

from memvalue.data.errors import one_line
from memvalue.eval.engines.engine import Failed, attempt_pack

#: Most units of one message: the scheduler takes a few milliseconds of a core for each message, which on a
#: machine of two cores is a worker's.
PACK = 8

#: Messages in flight, a worker thread: enough that none waits for the scheduler.
AHEAD = 4

#: Seconds to wait for a scheduler, and for its first worker.
PATIENCE = 30.0

#: Seconds after which it is looked whether the scheduler is still there.
LOOK = 1.0


class DaskEngine:
    """The workers of a scheduler, or of a cluster on this machine where no address is given.

    Workers must have memvalue installed and see the same files. A unit whose worker dies is run again
    elsewhere, three times by the scheduler's own setting (``distributed.scheduler.allowed-failures``).

    Parameters
    ----------
    scheduler
        Address such as ``tcp://10.0.0.5:8786``; None for a cluster of ``workers`` processes here.
    workers
        Processes of a cluster here; None for as many as there are cores.

    Raises
    ------
    ValueError
        When no scheduler answers, or it has no worker.
    ModuleNotFoundError
        When the extra is not installed.
    """

    def __init__(self, scheduler: str | None = None, workers: int | None = None) -> None:
        from distributed import Client, LocalCluster

        self._cluster: Any = None
        if scheduler is None:
            if workers is not None and workers < 1:
                raise ValueError(f"workers must be 1 or more, got {workers}")
            self._cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address="127.0.0.1:0",  # None would take port 8787 of every interface
                scheduler_kwargs={"dashboard": False},
            )
        try:
            self._client = Client(self._cluster or scheduler, timeout=PATIENCE, set_as_default=False)
            self._client.wait_for_workers(1, timeout=PATIENCE)
        except (OSError, TimeoutError, ValueError) as error:
            self.close()
            raise ValueError(
                f"--scheduler {scheduler}: {one_line(error)}; start one with `dask scheduler` and workers "
                "with `dask worker ADDRESS`"
            ) from None
        self.workers = sum(self._client.nthreads().values())

    def run(
        self,
        call: Callable[[Any], Any],
        units: Iterable[Any],
        done: Callable[[Any, Any], Iterable[Any]],
    ) -> None:
        """See :class:`~memvalue.eval.engines.engine.Engine`.

        Raises
        ------
        ValueError
            When the scheduler is gone, half a minute after it was lost.
        """
        from distributed.scheduler import KilledWorker

        source = iter(units)
        out: dict[str, tuple[list[Any], Any]] = {}  # with futures: one that nobody holds is cancelled
        finished: SimpleQueue[Any] = SimpleQueue()
        sent = 0

        def send(pack: list[Any]) -> None:
            # pure=False: two equal packs are still two.
            future = self._client.submit(attempt_pack, call, pack, pure=False)
            out[future.key] = pack, future
            future.add_done_callback(finished.put)

        def fill() -> None:
            nonlocal sent
            while len(out) < AHEAD * self.workers:
                # Small packs first: a few units must not all end up on one worker.
                size = min(PACK, 1 + sent // (AHEAD * self.workers))
                if not (pack := list(islice(source, size))):
                    return
                sent += len(pack)
                send(pack)

        fill()
        while out:
            try:
                future = finished.get(timeout=LOOK)
            except Empty:
                self._check_there()
                continue
            pack = out[future.key][0]
            try:
                outcomes = future.result()
            except KilledWorker as error:
                if len(pack) > 1:  # one of them is deadly: each by itself
                    del out[future.key]
                    for unit in pack:
                        send([unit])
                    continue
                died = error.allowed_failures + 1
                outcomes = [Failed(f"its worker died {died} times (killed, or out of memory)")]
            except Exception as error:
                self._check_there()  # what it has not done is cancelled when it is lost
                outcomes = [Failed(f"unexpected {type(error).__name__}: {one_line(error)}")] * len(pack)
            del out[future.key]
            future.release()
            for unit, outcome in zip(pack, outcomes, strict=True):
                for further in done(unit, outcome):
                    send([further])
            fill()

    def _check_there(self) -> None:
        if self._client.status not in ("running", "connecting"):
            raise ValueError(
                "the scheduler has ended, or cannot be reached any more; see to it, and run the command "
                "again: what is done is skipped"
            )

    def close(self) -> None:
        """Leave the scheduler; stop a cluster that was started here."""
        client = getattr(self, "_client", None)
        if client is not None:
            client.close()
        if self._cluster is not None:
            self._cluster.close()
