"""Notebooks run cell by cell, and show what they hold; outside the source tree as well."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.documentation.notebooks import NOTEBOOKS, code_cells, read_notebook, run_cells, write_outputs

KEYS = {"cells", "metadata", "nbformat", "nbformat_minor"}


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 2


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_show_what_the_notebook_holds(path: Path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # nothing of the source tree is near
    notebook = read_notebook(path)
    outputs = run_cells(notebook)
    held = [each["outputs"] for each in code_cells(notebook)]
    if outputs != held and os.environ.get("UPDATE_DOCUMENTS"):
        write_outputs(path, notebook, outputs)
        return
    assert outputs == held, "it shows something else (UPDATE_DOCUMENTS=1 writes what cells show)"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_have_the_format_of_notebooks(path: Path):
    notebook = read_notebook(path)
    assert set(notebook) == KEYS
    assert notebook["nbformat"] == 4
    ids = [each["id"] for each in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    assert all({"cell_type", "metadata", "source"} <= set(each) for each in notebook["cells"])
