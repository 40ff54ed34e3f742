"""Put every Markdown file of the repository, and every file that one links to, into a folder, where they were.

``python docs/site/stage.py FOLDER``, in the repository's root. Links between documents then hold as they stand.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

_LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)")
_WEIGHTS = {"docs/guides": 4, "docs/decisions": 0.25, "CHANGELOG.md": 0.25}
_STYLES = Path("docs/site/wide.css")
_SKIPPED = {"build", "dist"}
"""Besides folders whose names begin with a dot: environments and caches."""


def main(target: Path) -> None:
    """Stage from the current folder. A link to a folder becomes one to its README, or to a list of what is in it."""
    root = Path.cwd()
    shutil.rmtree(target, ignore_errors=True)
    documents = [each for each in root.rglob("*.md") if _belongs(each.relative_to(root))]
    for document in documents:
        _copy(document, target / document.relative_to(root))
        for linked in _linked(document):
            inside = linked.is_relative_to(root) and linked.suffix != ".md"
            if inside and linked.is_file():
                _copy(linked, target / linked.relative_to(root))
            elif inside and linked.is_dir():
                _list(linked, target / linked.relative_to(root) / "README.md")
    _copy(root / _STYLES, target / _STYLES)
    for document in target.rglob("*.md"):
        origin = root / document.relative_to(target)
        text = _to_pages(document.read_text(encoding="utf-8"), origin)
        document.write_text(_weigh(document.relative_to(target), text), encoding="utf-8")


def _weigh(name: Path, text: str) -> str:
    """Tell the search how much what it finds on a page counts: guides before references, decisions last."""
    weight = next((weight for folder, weight in _WEIGHTS.items() if name.is_relative_to(folder)), None)
    return text if weight is None else f"---\nsearch:\n  boost: {weight}\n---\n\n{text}"


def _belongs(path: Path) -> bool:
    return not any(part in _SKIPPED or part.startswith(".") for part in path.parts)


def _linked(document: Path) -> list[Path]:
    links = _LINK.findall(document.read_text(encoding="utf-8"))
    return [(document.parent / each).resolve() for each in links if "://" not in each]


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _list(folder: Path, target: Path) -> None:
    """Write what is in a folder, unless somebody has described it."""
    if (folder / "README.md").exists() or target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    names = sorted(each.name for each in folder.iterdir() if not each.name.startswith(("_", ".")))
    target.write_text(
        f"# {folder.name}\n\n" + "\n".join(f"* `{name}`" for name in names) + "\n", encoding="utf-8"
    )


def _to_pages(text: str, document: Path) -> str:
    """Let links to folders lead to their README."""

    def page(found: re.Match[str]) -> str:
        link = found[1]
        if "://" in link or not (document.parent / link).is_dir():
            return found[0]
        return found[0].replace(link, f"{link.rstrip('/')}/README.md", 1)

    return _LINK.sub(page, text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
