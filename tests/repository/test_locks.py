"""The lock files agree with each other and with what the package declares."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
EVERYTHING = ROOT / "requirements.lock"
FOLDER = ROOT / "deploy" / "docker"
IMAGES = {"solver": FOLDER / "firmament.lock", "bridge": FOLDER / "poseidon.lock"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DEVELOPMENT = PROJECT["optional-dependencies"]["dev"]


def normal(name: str) -> str:
    """The form of a package's name in lock files."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(lock: Path) -> dict[str, Requirement]:
    """Every pinned package by name."""
    lines = [line.rstrip("\\ ") for line in lock.read_text().splitlines() if "==" in line]
    return {normal(requirement.name): requirement for requirement in map(Requirement, lines)}


def version(requirement: Requirement) -> str:
    """The one version that a locked line allows."""
    (specifier,) = requirement.specifier
    assert specifier.operator == "=="
    return specifier.version


@pytest.mark.parametrize("lock", [EVERYTHING, *IMAGES.values()], ids=["everything", *IMAGES])
def test_every_line_is_a_pin_with_hashes(lock):
    entries = re.split(r"\n(?=\S)", lock.read_text().strip())
    for entry in entries:
        first, *hashes = [line.strip("\\ ") for line in entry.split("\n")]
        assert re.match(r"[a-z0-9-]+==\S+", first), first
        assert hashes, f"{first} has no hash"
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", line) for line in hashes), first


@pytest.mark.parametrize(
    ("lock", "declared"),
    [
        (EVERYTHING, [*PROJECT["dependencies"], *DEVELOPMENT]),
        *((lock, PROJECT["optional-dependencies"][extra]) for extra, lock in IMAGES.items()),
    ],
    ids=["everything", *IMAGES],
)
def test_what_is_declared_is_locked(lock, declared):
    pins = locked(lock)
    for text in declared:
        requirement = Requirement(text)
        pin = pins.get(normal(requirement.name))
        assert pin is not None, f"{requirement.name} is not in {lock.name}: run make lock"
        assert version(pin) in requirement.specifier, f"{pin} does not meet {requirement}: run make lock"


@pytest.mark.parametrize("image", IMAGES)
def test_images_get_the_versions_that_are_tested(image):
    everything = {name: version(pin) for name, pin in locked(EVERYTHING).items()}
    runtime = {name: version(pin) for name, pin in locked(IMAGES[image]).items()}
    assert runtime.items() <= everything.items()


@pytest.mark.parametrize("image", IMAGES)
def test_images_get_no_development_tools(image):
    tools = {normal(Requirement(text).name) for text in DEVELOPMENT}
    assert not tools & set(locked(IMAGES[image]))
