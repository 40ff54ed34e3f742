"""The tutorial's package: found by its entry point, conforming, and used by a plan as the tutorial shows it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from cost_models.conformance import check_model
from cost_models.registry import list_available, load_model
from poseidon.cli import main

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "02-cost-model"
TUTORIAL = ROOT / "docs" / "tutorial-cost-model.md"
MODULE = "node_price"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages that holds the example's, as pip would lay it out, for one test."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    shutil.copy(EXAMPLE / f"{MODULE}.py", tmp_path)
    metadata = tmp_path / f"{MODULE}-{project['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in points.items())]
    (metadata / "entry_points.txt").write_text("\n".join([*lines, ""]))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    monkeypatch.chdir(ROOT)
    return tmp_path


@pytest.fixture(autouse=True)
def _forget_the_module():
    yield
    sys.modules.pop(MODULE, None)


def test_it_is_found_and_conforms(site: Path):
    assert list_available()[MODULE] == "overlay"
    model = load_model(MODULE, {"dearest": 2.0, "limit": 1.0})
    assert Path(sys.modules[type(model).__module__].__file__ or "").parent == site
    check_model(model)


def test_it_is_as_short_as_the_tutorial_says():
    assert "in under 60 lines" in TUTORIAL.read_text()
    assert len((EXAMPLE / f"{MODULE}.py").read_text().splitlines()) < 60


def test_its_own_tests_pass(site: Path):
    # With the example's own settings instead of the repository's, as for a package that lives elsewhere.
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", EXAMPLE / "pyproject.toml", EXAMPLE],
        cwd=site,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(site), str(ROOT)]),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(r"\b[1-9]\d* passed", result.stdout)


def shown(text: str) -> list[tuple[str, list[str]]]:
    """Commands of ``poseidon`` in a document's console blocks, each with the lines shown below it."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line.removeprefix("$ "), []))
            elif found:
                found[-1][1].append(line)
    return [(command, lines) for command, lines in found if command.startswith("poseidon ")]


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(("command", "lines"), shown(TUTORIAL.read_text()), ids=lambda each: each[:40])
def test_commands_print_what_the_tutorial_shows(command: str, lines: list[str]):
    outcome = CliRunner().invoke(main, command.split()[1:])
    assert outcome.exit_code == 0, outcome.stderr
    assert without_times(outcome.stdout) == without_times("\n".join(lines) + "\n")


def test_the_tutorial_shows_both_commands():
    assert [command.split()[1] for command, _ in shown(TUTORIAL.read_text())] == ["plan", "explain"]


def test_the_tutorial_shows_the_code_as_it_is():
    source = (EXAMPLE / f"{MODULE}.py").read_text()
    blocks = re.findall(r"```python\n(.*?)```", TUTORIAL.read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        assert block.strip() in source or block.strip() in (EXAMPLE / "test_node_price.py").read_text()


def test_the_tutorial_leaves_nothing_of_the_module_out():
    """Every name that a snippet uses is shown, imports included."""
    shown_lines = {
        line.strip()
        for block in re.findall(r"```python\n(.*?)```", TUTORIAL.read_text(), re.DOTALL)
        for line in block.splitlines()
    }
    source = (EXAMPLE / f"{MODULE}.py").read_text().splitlines()[4:]
    assert [line for line in map(str.strip, source) if line and line not in shown_lines] == []


@pytest.mark.usefixtures("site")
def test_without_the_package_the_model_is_unknown(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.undo()
    monkeypatch.chdir(ROOT)
    folder = EXAMPLE.relative_to(ROOT)
    outcome = CliRunner().invoke(
        main, ["plan", "-f", f"{folder}/cluster.yaml", "--config", f"{folder}/config.yaml"]
    )
    assert outcome.exit_code == 2
    assert "'node_price' is not a known model" in outcome.stderr


def without_times(text: str) -> str:
    """``text`` without how long it took."""
    return re.sub(r"\d+ ms", "N ms", text)
