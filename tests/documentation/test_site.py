"""What the site is built of: every page, with weights by which the search puts guides before decisions."""

from __future__ import annotations

import json
import os
import runpy
import subprocess

import pytest
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


def test_the_navigation_leads_to_every_document():
    navigation = yaml.load((SITE / "mkdocs.yml").read_text(), _Loader)["nav"]
    listed = {
        page
        for section in navigation
        for part in section.values()
        for each in ([{"": part}] if isinstance(part, str) else part)
        for page in each.values()
    }
    assert {f"docs/{each.name}" for each in (ROOT / "docs").glob("*.md")} <= listed


@pytest.mark.full
def test_the_site_offers_the_documents_of_each_release_and_begins_with_the_newest(tmp_path, monkeypatch):
    """In a small repository with two releases, of which the older one had no site yet."""
    home = tmp_path / "repository"
    (home / "docs" / "site").mkdir(parents=True)

    def git(*words: str) -> None:
        author = {
            f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        subprocess.run(["git", *words], cwd=home, env=os.environ | author, check=True)

    git("init", "-q")
    for version, title in (("0.1.0", None), ("0.9.0", "Nine"), ("0.10.0", "Ten"), (None, "Next")):
        if title is not None:
            (home / "docs" / "site" / "stage.py").write_text((SITE / "stage.py").read_text())
            (home / "docs" / "site" / "mkdocs.yml").write_text(
                "site_name: Small\ndocs_dir: ../../build/site-source\nsite_dir: ../../build/site\n"
            )
        (home / "README.md").write_text(f"# {title}\n")
        git("add", ".")
        git("commit", "-q", "-m", f"Release {version}")
        if version is not None:
            git("tag", f"v{version}")

    monkeypatch.chdir(home)
    runpy.run_path(str(SITE / "versions.py"))["main"](tmp_path / "sites")

    entries = json.loads((tmp_path / "sites" / "versions.json").read_text())
    assert [each["version"] for each in entries] == ["0.10.0", "0.9.0", "main"]
    assert [each["aliases"] for each in entries] == [["latest"], [], []]
    for version, title in (("0.9.0", "Nine"), ("0.10.0", "Ten"), ("main", "Next")):
        assert (
            f'<h1 id="{title.lower()}">{title}</h1>'
            in (tmp_path / "sites" / version / "index.html").read_text()
        )
    assert "url=0.10.0/" in (tmp_path / "sites" / "index.html").read_text()


def test_the_first_page_and_the_index_name_all_guides():
    for page in ("README.md", "docs/README.md"):
        named = text(page)
        assert all(f"guides/{each.name}" in named for each in (ROOT / "docs" / "guides").glob("*.md")), page
