"""The first page: as long as can be read at once, with a picture that is up to date, and sources for what it claims."""

from __future__ import annotations

import re
import runpy
import xml.etree.ElementTree as ET

from tests.documentation.markdown import ROOT, rows, section, text

PICTURE = ROOT / "docs" / "pictures" / "explain.svg"


def test_it_is_short_and_shows_a_picture():
    page = text("README.md")
    assert len(page.splitlines()) <= 120
    assert "docs/pictures/explain.svg" in page


def test_the_picture_shows_what_the_commands_print(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    script = runpy.run_path(str(ROOT / "docs" / "pictures" / "animate.py"))
    script["main"](tmp_path / "explain.svg")
    made = (tmp_path / "explain.svg").read_text()
    assert made == PICTURE.read_text(), "make pictures draws it again"
    assert len(made) < 1_000_000
    root = ET.fromstring(made)
    shown = [each.text or "" for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert any(each.startswith("It would get node") for each in shown)
    assert "prefers-reduced-motion" in made


def test_each_scheduler_that_is_compared_has_sources():
    compared = [row[0] for row in rows(section(text("docs/comparison.md"), "At a glance"))][1:]
    anchors = [re.search(r"\(#([\w-]+)\)", each) for each in compared]
    assert len(anchors) == 7
    comparison = text("docs/comparison.md")
    for found in anchors:
        assert found is not None
        heading = next(
            each
            for each in re.findall(r"^## (.+)$", comparison, re.MULTILINE)
            if each.lower().replace(" ", "-") == found[1]
        )
        part = section(comparison, heading)
        assert re.search(r"\]\(https://[^)]+\)", part), f"{heading} has no source"
        assert "**Better:**" in part, f"{heading}: what does it do better?"
