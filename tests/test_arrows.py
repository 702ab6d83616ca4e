"""Imports go one way: data ← features ← {train, eval}; features ← serve ← {export, eval}; cli on top."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("data", "features", "train", "serve", "eval", "configs", "models", "cli")

#: Rooms that each room may import, at any depth of the file.
MAY_IMPORT = {
    "models": set(),
    "configs": set(),
    "data": set(),
    "features": {"data", "models"},
    "serve": {"data", "features", "models"},
    "train": {"data", "features", "models"},
    "eval": {"data", "features", "models", "serve", "train", "configs"},
    "cli": {"data", "features", "models", "serve", "train", "eval", "configs"},
}
#: The files of train that may look at the runtime, which must read what they write and what they hand out.
EXPORT = {"export", "graph", "registry"}

#: Packages that a room may import when the module is imported. Others wait until they are needed.
AT_IMPORT = {
    "data": {"numpy"},
    "features": {"numpy"},
    "serve": {"numpy", "onnxruntime"},
    "configs": {"pydantic", "yaml"},
    "models": set(),
    "cli": {"typer"},
}
#: The types that the runtime uses never import anything else, not even late.
TYPES = ("memory", "event", "consolidation", "case", "dataset")

HEAVY = (
    "torch", "sklearn", "scipy", "pandas", "mlflow", "datasets", "pydantic",
    "typer", "transformers", "tokenizers", "pyarrow", "onnx", "yaml", "rich",
)  # fmt: skip


def files(room: str) -> list[Path]:
    return sorted((ROOT / room).rglob("*.py"))


def imports(path: Path, *, late: bool) -> Iterator[tuple[str, int]]:
    """Dotted names that a file imports, with their line. Without ``late``, only what importing it imports."""

    def walk(node: ast.AST) -> Iterator[tuple[str, int]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                yield from ((a.name, child.lineno) for a in child.names)
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, f"{path}:{child.lineno}: relative import; write the full name"
                yield child.module or "", child.lineno
                if child.module == "memvalue":
                    yield from ((f"memvalue.{a.name}", child.lineno) for a in child.names)
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            elif late or not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                yield from walk(child)

    yield from walk(ast.parse(path.read_text(encoding="utf-8"), str(path)))


def room_of(name: str) -> str | None:
    parts = name.split(".")
    return parts[1] if parts[0] == "memvalue" and len(parts) > 1 else None


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_rooms_below_it(room: str) -> None:
    wrong = []
    for path in files(room):
        allowed = MAY_IMPORT[room] | {room}
        if room == "train" and path.stem in EXPORT:
            allowed |= {"serve"}
        for name, line in imports(path, late=True):
            other = room_of(name)
            if other is not None and other not in allowed:
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports memvalue.{other}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("room", sorted(AT_IMPORT))
def test_importing_a_room_asks_for_few_packages(room: str) -> None:
    wrong = []
    for path in files(room):
        for name, line in imports(path, late=False):
            top = name.split(".")[0]
            if top != "memvalue" and top not in sys.stdlib_module_names and top not in AT_IMPORT[room]:
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {top}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("module", TYPES)
def test_the_types_of_data_need_numpy_alone(module: str) -> None:
    for name, line in imports(ROOT / "data" / f"{module}.py", late=True):
        top = name.split(".")[0]
        assert top in sys.stdlib_module_names or top in {"numpy", "memvalue"}, f"{module}.py:{line}: {name}"


def test_no_file_is_left_out_of_the_check() -> None:
    strays = [
        p.parent.relative_to(ROOT)
        for p in ROOT.glob("*/__init__.py")
        if p.parent.name not in ROOMS and not p.parent.name.startswith(".")
    ]
    assert not strays


def loaded_by(statement: str) -> set[str]:
    """Top-level packages in ``sys.modules`` of a fresh interpreter after ``statement``."""
    code = f"{statement}\nimport sys\nprint(' '.join(sorted({{m.split('.')[0] for m in sys.modules}})))"
    run = subprocess.run(  # away from the repository: the folder data/ must not be found as a package
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=Path(sys.prefix)
    )
    assert run.returncode == 0, run.stderr
    return set(run.stdout.split())


@pytest.mark.parametrize("module", ["memvalue.serve", "memvalue.features", "memvalue.data"])
def test_the_runtime_loads_nothing_heavy(module: str) -> None:
    assert not loaded_by(f"import {module}") & set(HEAVY)


def test_the_command_starts_without_the_heavy_packages() -> None:
    loaded = loaded_by("import memvalue.cli.main")
    # typer brings pydantic and rich itself in some versions.
    assert not loaded & (set(HEAVY) - {"typer", "rich", "pydantic"})
    assert "numpy" not in loaded
