"""The assets: vendored files are as they were taken, own modules have no way to run markup or leave the origin."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
ASSETS = ROOT / "poseidon" / "ui" / "assets"
OWN = [
    file
    for file in sorted(ASSETS.rglob("*"))
    if file.suffix in {".js", ".css", ".html"} and file.parent.name != "vendor"
]
FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySet|\beval\(|new Function|https?://|\sstyle="
)


@pytest.mark.parametrize("file", OWN, ids=lambda file: file.relative_to(ASSETS).as_posix())
def test_own_files_make_no_markup_of_text_and_name_no_other_origin(file):
    assert FORBIDDEN.findall(file.read_text(encoding="utf-8")) == []
    assert len(file.read_text(encoding="utf-8").splitlines()) < 350 or file.suffix == ".css"


def test_vendored_files_are_as_they_were_taken():
    table = (ASSETS / "vendor" / "VENDORED.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| (\S+\.(?:js|css)) \|.* ([0-9a-f]{64}) \|$", table, re.MULTILINE))
    there = {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in (ASSETS / "vendor").glob("*.[jc]s*")
    }
    assert listed == there


def test_the_page_has_no_script_or_style_of_its_own_and_names_files_that_are_there():
    page = (ASSETS / "index.html").read_text(encoding="utf-8")
    assert not re.findall(r"<style|<script(?![^>]*src=)|\son\w+=", page)
    named = re.findall(r'(?:href|src)="([^"#]+)"', page)
    assert [name for name in named if not (ASSETS / name).is_file()] == []


def test_the_modules_that_the_start_page_needs_are_loaded_at_once():
    page = (ASSETS / "index.html").read_text(encoding="utf-8")
    needed: set[Path] = set()
    waiting = [ASSETS / "app.js", ASSETS / "views" / "overview.js"]
    while waiting:
        module = waiting.pop()
        if module in needed:
            continue
        needed.add(module)
        if module.parent.name != "vendor":
            found = re.findall(
                r'^(?:import|export).* from "(\.[^"]+)";', module.read_text(encoding="utf-8"), re.MULTILINE
            )
            waiting += [(module.parent / name).resolve() for name in found]
    assert sorted(each.relative_to(ASSETS).as_posix() for each in needed) == sorted(
        re.findall(r'(?:preload" href|src)="([^"]+\.js)"', page)
    )
