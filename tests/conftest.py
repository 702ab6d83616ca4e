"""Fixtures for every room: the shared real data, unpacked once a session and only when asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"

# On a busy machine a first example can take seconds; a deadline would only measure the neighbours.
settings.register_profile("memvalue", deadline=None, max_examples=60)
settings.load_profile("memvalue")


class SharedData:
    """The official files, written by the shared folder's ``expand``, each at most once a session."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def longmemeval(self, questions: int | None = None) -> Path:
        """The LongMemEval-S file, or a cut with the first questions of each type in turn."""
        out = self._folder / f"longmemeval_{questions or 'all'}.json"
        return self._expand("longmemeval", out, *(["--questions", str(questions)] if questions else []))

    def memora(self) -> Path:
        """The folder of the Memora tree."""
        return self._expand("memora", self._folder / "memora")

    def locomo(self) -> Path:
        """The LoCoMo file."""
        return self._expand("locomo", self._folder / "locomo.json")

    def _expand(self, name: str, out: Path, *options: str) -> Path:
        if not out.exists():
            command = [sys.executable, str(SHARED / "expand"), name, str(out), *options]
            subprocess.run(command, check=True, capture_output=True)
        return out


@pytest.fixture(scope="session")
def shared_data(tmp_path_factory: pytest.TempPathFactory) -> SharedData:
    """Access to the shared data sets; the test is skipped where they are absent."""
    if not (SHARED / "expand").exists():
        pytest.skip("the shared data sets are not beside this checkout (../shared/data)")
    return SharedData(tmp_path_factory.mktemp("shared"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever uses the shared data is marked ``realdata``."""
    for item in items:
        if "shared_data" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.realdata)
