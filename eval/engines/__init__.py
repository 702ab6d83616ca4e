"""Where independent units of work run: this machine's cores, or a Dask cluster."""

from memvalue.eval.engines.dask_engine import DaskEngine
from memvalue.eval.engines.engine import Engine, Failed
from memvalue.eval.engines.local_engine import LocalEngine

__all__ = ["DaskEngine", "Engine", "Failed", "LocalEngine"]
