"""Build the documents of every released version, and of the present commit, as one site with a list to choose from.

``python docs/site/versions.py FOLDER``, in the repository's root, with all tags fetched. Each version is built by its
own ``stage.py`` and ``mkdocs.yml`` into a folder of its name; the theme reads ``versions.json`` beside these folders.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path

_NEXT = "main"
_LATEST = "latest"
_REDIRECT = """<!doctype html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={name}/">
<a href="{name}/">{name}</a>
"""


def main(target: Path) -> None:
    """Build into ``target``, which is emptied first. Raises ``CalledProcessError`` where a version does not build."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    releases = [each for each in _list_releases() if _has_site(f"v{each}")]
    for name, commit in [(_NEXT, "HEAD"), *((each, f"v{each}") for each in releases)]:
        _build(commit, target / name)
    entries = [{"version": each, "title": each, "aliases": []} for each in releases]
    if entries:
        entries[0]["aliases"] = [_LATEST]
    entries.append({"version": _NEXT, "title": f"{_NEXT} (not released)", "aliases": []})
    (target / "versions.json").write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")
    start = releases[0] if releases else _NEXT
    (target / "index.html").write_text(_REDIRECT.format(name=start), encoding="utf-8")


def _list_releases() -> list[str]:
    """Return the versions of all tags like ``v1.2.3``, newest first."""
    tags = _ask_git("tag", "--list", "v*").decode().split()
    versions = [each[1:] for each in tags if re.fullmatch(r"v\d+(\.\d+)*", each)]
    return sorted(versions, key=lambda version: [int(part) for part in version.split(".")], reverse=True)


def _has_site(commit: str) -> bool:
    return bool(_ask_git("ls-tree", "--name-only", commit, "docs/site/mkdocs.yml").strip())


def _build(commit: str, target: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="poseidon-site-") as folder:
        with tarfile.open(fileobj=BytesIO(_ask_git("archive", commit))) as archive:
            archive.extractall(folder, filter="data")
        for words in (
            ["docs/site/stage.py", "build/site-source"],
            ["-m", "mkdocs", "build", "--quiet", "-f", "docs/site/mkdocs.yml"],
        ):
            subprocess.run([sys.executable, *words], cwd=folder, check=True)  # noqa: S603 - our own scripts
        shutil.move(Path(folder) / "build" / "site", target)


def _ask_git(*words: str) -> bytes:
    return subprocess.run(["git", *words], capture_output=True, check=True).stdout  # noqa: S603, S607


if __name__ == "__main__":
    main(Path(sys.argv[1]))
