"""What an exported model says of where it came from, and where it may be written."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path


def check_target(out: Path) -> None:
    """Say now, not after minutes of work, that the model cannot be written there."""
    if out.is_dir():
        raise ValueError(f"{out} is a folder; name a file, e.g. {out / 'model.onnx'}")
    if out.suffix != ".onnx":
        raise ValueError(f"{out}: a model is an ONNX file; name it {out.with_suffix('.onnx').name}")
    folder = out.parent
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise ValueError(f"{out}: {folder} is not a folder that can be written to; choose another --out")


def commit() -> str | None:
    """The commit of the code when it runs from a checkout, with ``+`` when files differ; else None."""
    root = Path(__file__).resolve().parents[1]
    if not (root / ".git").exists():
        return None
    try:
        head = _git(root, "rev-parse", "HEAD")
        return head + ("+" if _git(root, "status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return None


def _git(root: Path, *args: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *args], capture_output=True, text=True, check=True, timeout=10
    )
    return done.stdout.strip()


def now() -> datetime:
    """The time, or ``SOURCE_DATE_EPOCH`` where it is set, so that equal inputs can give equal bytes."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(fixed), UTC) if fixed.isdecimal() else datetime.now(UTC)
