"""Work for the engines' tests; a module of its own, so that workers in other processes can import it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any


def work(unit: dict[str, Any]) -> Any:
    """What the unit asks for."""
    if unit.get("bad"):
        raise ValueError("this unit is bad\nin two lines")
    if unit.get("strange"):
        raise KeyError("strange")
    if "once" in unit:  # die the first time only
        mark = Path(unit["once"])
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
    if unit.get("deadly"):
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(unit.get("seconds", 0.0))
    return unit["n"] ** 2
