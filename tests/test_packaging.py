"""The wheel holds every package and data file, and works where the repository is not."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("data", "features", "train", "serve", "eval", "configs", "models", "cli")
#: Files of a room that are no part of the distribution.
LEFT_OUT = re.compile(r"__pycache__|\.pyc$|^\.")


def declared() -> dict[str, object]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def tracked(room: str) -> set[str]:
    """Files of a room, as paths below ``memvalue/``. Pages of documentation travel with the models alone."""
    return {
        f"memvalue/{p.relative_to(ROOT).as_posix()}"
        for p in (ROOT / room).rglob("*")
        if p.is_file()
        and (p.suffix != ".md" or room == "models")
        and not any(LEFT_OUT.search(part) for part in p.relative_to(ROOT).parts)
    }


def test_every_folder_with_code_is_a_declared_package() -> None:
    packages = set(declared()["tool"]["setuptools"]["packages"])  # type: ignore[index]
    found = {
        "memvalue." + ".".join(p.parent.relative_to(ROOT).parts)
        for room in ROOMS
        for p in (ROOT / room).rglob("__init__.py")
    }
    assert found == packages


def test_every_package_says_that_it_is_typed() -> None:
    assert all((ROOT / room / "py.typed").is_file() for room in ROOMS)


def test_every_dependency_has_a_known_good_version() -> None:
    project = declared()["project"]
    wanted = list(project["dependencies"])  # type: ignore[index]
    for extra in project["optional-dependencies"].values():  # type: ignore[index]
        wanted += extra
    names = {re.split(r"[\[<>=!~ ;]", w)[0].lower().replace("_", "-") for w in wanted} - {"memvalue"}
    pinned = {
        line.split("==")[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
        if "==" in line
    }
    assert not names - pinned


def test_the_version_is_told_in_the_changelog_or_still_unreleased() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## [Unreleased]" in text or f"## [{declared()['project']['version']}]" in text  # type: ignore[index]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy of the tree, so that nothing is left behind in the repository."""
    import shutil

    tree = tmp_path_factory.mktemp("tree") / "src"
    tree.mkdir()
    for room in ROOMS:
        shutil.copytree(ROOT / room, tree / room, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, tree / name)
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(out), str(tree)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return next(out.glob("*.whl"))


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_every_room(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    missing = set().union(*(tracked(room) for room in ROOMS)) - inside
    assert not missing, "add to package-data in pyproject.toml: " + ", ".join(sorted(missing))
    strays = {n for n in inside if not n.startswith(("memvalue/", "memvalue-"))}
    assert not strays
    licences = {n.rsplit("/", 1)[1] for n in inside if ".dist-info/licenses/" in n}
    assert licences == {"LICENSE", "NOTICE"}


@pytest.mark.slow
def test_the_wheel_is_small(wheel: Path) -> None:
    # The static encoder may take 8 MB (issue 2); everything else is code and small models.
    assert wheel.stat().st_size < 10_000_000


@pytest.mark.slow
def test_an_unpacked_wheel_runs_without_the_repository(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); sys.meta_path = "
        "[f for f in sys.meta_path if 'editable' not in repr(f).lower()]; "
        "import memvalue.serve, memvalue.features, memvalue.configs, memvalue.cli.main as m; "
        "assert m.__file__.startswith(sys.argv[1]), m.__file__; "
        "assert 'default' in memvalue.configs.presets(); print('fine')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "site")],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.stdout.strip() == "fine", done.stderr[-2000:]
