"""What every benchmark writes beside its figures: machine, versions, commit, seed, digest of the data."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np


def digest(texts: Iterable[str]) -> str:
    """SHA-256 over the texts, each with its length, so that no two lists of texts share one."""
    state = hashlib.sha256()
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        state.update(len(data).to_bytes(8, "little") + data)
    return state.hexdigest()


def commit() -> str:
    """The checkout's commit, with ``+`` when files differ from it; "unknown" outside a checkout."""
    folder = Path(__file__).parent

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()


def record(figures: Mapping[str, Any], *, data: str, data_digest: str, seed: int, out: Path | None) -> None:
    """Print the figures and where they come from as JSON; write it to ``out`` too (atomically) when given.

    ``data`` is the spec of the data, without the folders of this machine.
    """
    report = {
        "figures": dict(figures),
        "data": data,
        "data_digest": data_digest,
        "seed": seed,
        "commit": commit(),
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "processor": _processor(),
            "cores": os.cpu_count(),
            "load": [round(x, 2) for x in os.getloadavg()] if hasattr(os, "getloadavg") else None,
        },
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
    }
    text = json.dumps(report, indent=2)
    sys.stdout.write(text + "\n")
    if out is not None:
        partial = out.with_name(out.name + ".partial")
        partial.write_text(text + "\n", "utf-8")
        os.replace(partial, out)
