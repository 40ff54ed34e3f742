"""Python that documents show runs, in the order in which it stands there, from the root of the repository."""

from __future__ import annotations

import re
from typing import Any

import pytest

import poseidon.api
from poseidon.api.results import Answer
from tests.documentation.markdown import ROOT, blocks, codes, text

SHOWN = ("docs/python.md", "docs/guides/pending-pod.md", "docs/guides/cost-model.md")


@pytest.mark.parametrize("document", SHOWN)
def test_the_python_of_documents_runs(document: str, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "build").mkdir()
    parts = blocks(text(document), "python")
    assert parts
    names: dict[str, Any] = {}
    for number, part in enumerate(parts):
        exec(compile(part, f"{document}, block {number}", "exec"), names)


def test_the_reference_names_all_of_the_interface():
    page = text("docs/python.md")
    prose = re.sub(r"^```.*?^```", "", page, flags=re.DOTALL | re.MULTILINE)
    named = set(re.findall(r"\w+", " ".join(codes(prose))))
    internal = {"ReadCluster", "as_json", "summarize"}  # what they are for is done by others that are named
    offered = {each for each in vars(Answer) if not each.startswith("_")}
    assert {*poseidon.api.__all__, *offered} - internal <= named
