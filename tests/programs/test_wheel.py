"""The wheel as people get it: in an environment of its own, without the source tree anywhere near."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.documentation.notebooks import NOTEBOOKS, code_cells, read_notebook

ROOT = Path(__file__).resolve().parents[2]

CELLS = """
import json, sys
names = {"__name__": "__main__"}
for number, cell in enumerate(json.load(sys.stdin), 1):
    exec(compile(cell, f"<cell {number}>", "exec"), names)
import poseidon
print(poseidon.__file__)
"""


def run(*words: str, cwd: Path, stdin: str = "") -> str:
    environment = {
        name: each for name, each in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")
    }
    done = subprocess.run(
        words, cwd=cwd, env=environment, input=stdin, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """An environment that holds the wheel; what it needs is found among the packages that are installed here."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, str(ROOT / "deploy" / "release.py"), str(folder / "dist"), "--without-images"]
    run(*build, cwd=ROOT)
    [wheel] = (folder / "dist").glob("*.whl")
    venv.create(folder / "environment", symlinks=True)
    python = folder / "environment" / "bin" / "python"
    site = Path(
        run(str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip()
    )
    # As a line of a .pth file: packages are found there, the editable install of the source tree is not.
    (site / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = ["-m", "pip", "--python", str(python), "install", "-qq", "--no-deps", "--ignore-installed"]
    run(sys.executable, *pip, "--no-index", str(wheel), cwd=folder)
    return python.parent


@pytest.mark.full
def test_commands_work_outside_the_source_tree(installed: Path, tmp_path):
    python, poseidon = str(installed / "python"), str(installed / "poseidon")
    where = run(python, "-c", "import poseidon; print(poseidon.__file__)", cwd=tmp_path)
    assert not Path(where.strip()).is_relative_to(ROOT)
    done = run(poseidon, "demo", "--nodes", "20", "--pods", "40", "-o", "json", cwd=tmp_path)
    assert json.loads(done)


@pytest.mark.full
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_of_notebooks_run_with_the_wheel(installed: Path, path: Path, tmp_path):
    cells = ["".join(each["source"]) for each in code_cells(read_notebook(path))]
    said = run(str(installed / "python"), "-c", CELLS, cwd=tmp_path, stdin=json.dumps(cells))
    assert not Path(said.splitlines()[-1]).is_relative_to(ROOT)
