"""A way through the modules as ``docs/architecture.md`` tells it, by stages, to be held against what runs."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import NamedTuple

from tests.documentation.markdown import ROOT, codes, rows, section, text


class Stage(NamedTuple):
    """A row of the table: folders, and names of modules, each in the first of the folders that has it."""

    name: str
    folders: list[str]
    names: list[str]

    def modules(self) -> list[str]:
        """The modules that it names, as paths in the repository."""
        found = [
            [f"{folder}/{name}" for folder in self.folders if (ROOT / folder / name).is_file()]
            for name in self.names
        ]
        assert all(found), f"{self.names} in {self.folders}: {found}"
        return [first for first, *_ in found]


class DocumentedWay:
    """What stands under a heading."""

    def __init__(self, heading: str) -> None:
        told = section(text("docs/architecture.md"), heading)
        self.stages = [Stage(name, codes(folders), codes(modules)) for name, folders, modules in rows(told)]
        most = re.search(r"through at most (\d+) modules", told)
        assert most
        self.most = int(most[1])

    def check(self, way: list[str]) -> None:
        """Hold it against the modules in which something runs, in order of first entry."""
        listed = "\n".join(f"{number:4} {module}" for number, module in enumerate(way, 1))
        assert len(way) <= self.most, f"{len(way)} modules, {self.most} are allowed:\n{listed}"
        for stage in self.stages:
            assert set(stage.modules()) <= set(way), stage.name
        begins = [way.index(stage.modules()[0]) for stage in self.stages]
        assert begins == sorted(begins), "stages begin in the order told"
        folders = {folder for stage in self.stages for folder in stage.folders}
        assert [each for each in way if str(PurePosixPath(each).parent) not in folders] == []
