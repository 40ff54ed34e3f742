"""Build everything that a release consists of into a folder, the same byte for byte from the same commit.

``python deploy/release.py dist``, in the repository's root. Source and wheel, the chart as a package, the file
systems of both images, the list of components, notes and checksums. ``--without-images`` leaves the images out, which
take a minute.
"""

from __future__ import annotations

import compileall
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from base64 import urlsafe_b64encode
from contextlib import chdir, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path

from archives import Entry, list_files, read_entries, repack_tar, repack_zip, write_tar
from links import point_to_repository
from sbom import Component, list_components, read_lock

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ("firmament", "poseidon")
_NEVER = ("direct_url.json",)
"""Files of an installation that say where it was installed from."""


def main(target: Path, *, with_images: bool) -> None:
    """Build into ``target``, which is emptied first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    version, home, moment = project["version"], project["urls"]["Homepage"], _find_moment()
    os.environ["SOURCE_DATE_EPOCH"] = str(moment)
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="poseidon-release-") as folder:
        source = _copy_source(Path(folder) / "source")
        for name in ("README.md", "CHANGELOG.md"):
            text = (source / name).read_text()
            (source / name).write_text(point_to_repository(text, home, f"v{version}"))
        _build_packages(source, target.resolve(), moment)
        _package_chart(source, target, version, moment)
        if with_images:
            _build_images(source, Path(folder) / "images", target, version, moment)
        components = _list_components(source, project["name"], version, moment)
        (target / f"sbom-{version}.cdx.json").write_text(components)
        notes = read_notes((source / "CHANGELOG.md").read_text(), version)
        (target / f"release-notes-{version}.md").write_text(notes)
    sums = [
        f"{hashlib.sha256(each.read_bytes()).hexdigest()}  {each.name}" for each in sorted(target.iterdir())
    ]
    (target / "SHA256SUMS").write_text("\n".join(sums) + "\n")
    for each in sorted(target.iterdir()):
        sys.stdout.write(f"{each} ({each.stat().st_size / 1e6:.1f} MB)\n")


def read_notes(changelog: str, version: str) -> str:
    """Return what a changelog says of a version. Raises ``SystemExit``."""
    found = re.search(
        rf"^## \[{re.escape(version)}\] - (\S+)\n(.*?)(?=^## |\Z)", changelog, re.DOTALL | re.MULTILINE
    )
    if found is None:
        raise SystemExit(
            f"CHANGELOG.md: no section of version {version} with a date; add ## [{version}] - YYYY-MM-DD"
        )
    return f"# Version {version}, {found[1]}\n\n{found[2].strip()}\n"


def _find_moment() -> int:
    """Return the time of the last commit, in seconds since the epoch, unless ``SOURCE_DATE_EPOCH`` states one."""
    stated = os.environ.get("SOURCE_DATE_EPOCH")
    if stated:
        return int(stated)
    return int(_ask_git("log", "-1", "--format=%ct"))


def _ask_git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603, S607
    return done.stdout


def _copy_source(folder: Path) -> Path:
    """Copy what git knows: nothing else that lies in the folder gets into a release."""
    for name in _ask_git("ls-files", "-z").split("\0"):
        origin, target = ROOT / name, folder / name
        if name and (origin.is_symlink() or origin.is_file()):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(origin, target, follow_symlinks=False)
    return folder


def _build_packages(source: Path, target: Path, moment: int) -> None:
    """Build source and wheel with the setuptools that is installed, as ``pip`` would in an environment of its own."""
    from setuptools import build_meta

    with chdir(source), redirect_stdout(io.StringIO()):
        archive = target / build_meta.build_sdist(str(target))
        wheel = target / build_meta.build_wheel(str(target))
    repack_tar(archive, moment)
    repack_zip(wheel, time.gmtime(moment)[:6])


def _package_chart(source: Path, target: Path, version: str, moment: int) -> None:
    """Write the chart as ``helm package`` does: one folder, with what its links lead to."""
    chart = source / "deploy" / "helm"
    files = [
        Path(folder).relative_to(chart) / name
        for folder, _, names in os.walk(chart, followlinks=True)
        for name in names
    ]
    entries = {f"poseidon/{name.as_posix()}": Entry((chart / name).read_bytes()) for name in files}
    write_tar(target / f"poseidon-{version}.tgz", entries, moment)


def _build_images(source: Path, folder: Path, target: Path, version: str, moment: int) -> None:
    """Build both images' file systems by their recipes, start what is in them, and write what a base image lacks."""
    rehearse = [sys.executable, str(source / "deploy" / "docker" / "rehearse.py"), str(folder)]
    subprocess.run(rehearse, cwd=source, check=True)  # noqa: S603 - our own script
    for name in IMAGES:
        entries = collect_image(folder / name)
        write_tar(target / f"{name}-image-{version}.tar.gz", entries, moment)


def collect_image(root: Path) -> dict[str, Entry]:
    """Return the files of an image that was built below ``root``, as they are in the image itself.

    Paths that were moved for the rehearsal, and the interpreter of this machine, become those of the image; records of
    installations say what is then in the files.
    """
    for cache in list((root / "opt").rglob("__pycache__")):
        shutil.rmtree(cache)
    compileall.compile_dir(
        root / "opt", quiet=1, stripdir=str(root), prependdir="/", invalidation_mode=_unchecked(), workers=1
    )
    entries = read_entries(root, [name for name in list_files(root) if name.startswith("opt/")])
    entries = {name: each for name, each in entries.items() if not name.endswith(_NEVER)}
    changed = {name: _as_in_image(each, root) for name, each in entries.items()}
    for name in [each for each in changed if each.endswith(".dist-info/RECORD")]:
        changed[name] = changed[name]._replace(content=_correct_record(name, changed))
    return changed


def _unchecked() -> object:
    from py_compile import PycInvalidationMode

    return PycInvalidationMode.UNCHECKED_HASH


def _as_in_image(entry: Entry, root: Path) -> Entry:
    """Return a file without the paths of the machine that built it."""
    if entry.link:
        own = re.sub(rf"^{re.escape(str(root))}/", "/", entry.link)
        inside = own if not own.startswith("/") or own.startswith("/opt") else "/usr/local/bin/python3"
        return entry._replace(link=inside)
    content = entry.content
    if b"\0" not in content[:1024]:
        content = content.replace(str(root).encode(), b"")
        if content.startswith(b"home = "):  # pyvenv.cfg
            lines = (b"home = /usr/local/bin", b"include-system-site-packages = false", b"version = 3.11")
            content = b"\n".join(lines) + b"\n"
    return entry._replace(content=content)


def _correct_record(name: str, entries: dict[str, Entry]) -> bytes:
    """Return the record of an installation with the sums and sizes that its files have now."""
    site = Path(name).parents[1]
    lines = []
    for line in entries[name].content.decode().splitlines():
        path, _, rest = line.partition(",")
        found = entries.get(os.path.normpath(site / path))
        if path.endswith((*_NEVER, ".pyc")):
            continue
        if found is None or found.link or not rest.strip(","):
            lines.append(line)
        else:
            digest = urlsafe_b64encode(hashlib.sha256(found.content).digest()).rstrip(b"=").decode()
            lines.append(f"{path},sha256={digest},{len(found.content)}")
    return ("\n".join(sorted(lines)) + "\n").encode()


def _list_components(source: Path, name: str, version: str, moment: int) -> str:
    docker = source / "deploy" / "docker"
    needed: dict[str, list[Component]] = {
        f"image {each}": read_lock((docker / f"{each}.lock").read_text()) for each in IMAGES
    }
    when = datetime.fromtimestamp(moment, UTC).isoformat().replace("+00:00", "Z")
    return list_components(name, version, when, needed)


if __name__ == "__main__":
    main(Path(sys.argv[1]), with_images="--without-images" not in sys.argv[2:])
