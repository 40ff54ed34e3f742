"""What the site is built of: every page, with weights by which the search puts guides before decisions."""

from __future__ import annotations

import runpy

import yaml

from tests.documentation.markdown import ROOT, text

SITE = ROOT / "docs" / "site"


class _Loader(yaml.SafeLoader):
    """Takes tags of mkdocs for what they hold."""


def test_guides_count_more_than_decisions(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    runpy.run_path(str(SITE / "stage.py"))["main"](tmp_path / "staged")

    def weight(page: str) -> float:
        parts = (tmp_path / "staged" / page).read_text().split("---\n")
        return float(yaml.safe_load(parts[1])["search"]["boost"]) if parts[0] == "" else 1.0

    assert weight("docs/guides/pending-pod.md") > weight("docs/round.md")
    assert weight("docs/round.md") > weight("docs/decisions/0033-one-board.md")
    assert (tmp_path / "staged" / "docs" / "pictures" / "explain.svg").exists()


def test_guides_stand_first_in_the_navigation_and_all_of_them_are_there():
    navigation = yaml.load((SITE / "mkdocs.yml").read_text(), _Loader)["nav"]
    titles = [next(iter(each)) for each in navigation]
    assert titles[:2] == ["Home", "Guides"]
    listed = {next(iter(each.values())) for each in navigation[1]["Guides"]}
    assert listed == {f"docs/guides/{each.name}" for each in (ROOT / "docs" / "guides").glob("*.md")}


def test_the_first_page_and_the_index_name_all_guides():
    for page in ("README.md", "docs/README.md"):
        named = text(page)
        assert all(f"guides/{each.name}" in named for each in (ROOT / "docs" / "guides").glob("*.md")), page
