"""Each program runs with nothing but what its extra names: what else is installed here cannot be imported."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from poseidon.testbed.harness.child import Child, start_anew
from tests.programs.end_to_end.scene import scene

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
OWN = "poseidon-firmament"
LOCKS = {"solver": "firmament.lock", "bridge": "poseidon.lock"}
OTHERS_CODE = {"solver": {"poseidon"}, "bridge": {"firmament", "cost_models"}}
# Loaded by the interpreter before any program of ours, when it begins.
CUSTOMIZE = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent!r}:
            raise ModuleNotFoundError("No module named " + repr(name), name=name)

sys.meta_path.insert(0, Absent())
"""


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(extra: str) -> dict[str, str]:
    """What an extra asks for, with that of the extras that it names, as it is written."""
    found: dict[str, str] = {}
    for text in EXTRAS[extra]:
        requirement = Requirement(text)
        if normal(requirement.name) == OWN:
            for each in requirement.extras:
                found |= needed(each)
        else:
            found[normal(requirement.name)] = text
    return found


def absent_modules(program: str) -> set[str]:
    """Modules that are installed here, but not in the program's image."""
    locked = set(
        re.findall(r"^([a-z0-9-]+)==", (ROOT / "deploy/docker" / LOCKS[program]).read_text(), re.MULTILINE)
    )
    others = {
        module
        for module, distributions in packages_distributions().items()
        if not {normal(each) for each in distributions} & {*locked, OWN}
    }
    return others | OTHERS_CODE[program]


def image_of(program: str, folder: Path) -> str:
    """A folder that makes an interpreter one of that program's image when modules are looked for there."""
    site = folder / f"site-{program}"
    site.mkdir()
    (site / "sitecustomize.py").write_text(CUSTOMIZE.format(absent=absent_modules(program)))
    return str(site)


def test_a_plain_installation_holds_what_all_extras_of_programs_need():
    declared = {normal(Requirement(text).name): text for text in PROJECT["dependencies"]}
    assert needed("demo").items() <= declared.items()
    assert declared.keys() <= {**needed("demo"), **needed("bench")}.keys()


def test_the_programs_do_not_need_each_others_libraries():
    assert {"ortools", "numpy"} <= absent_modules("bridge")
    assert {"kubernetes", "aiohttp", "h11"} <= absent_modules("solver")


async def test_both_programs_place_a_pod_with_their_own_packages_alone(tmp_path, monkeypatch):
    async with scene(tmp_path, launch=start_anew) as s:  # what is forked has imported everything
        await s.nodes(1)
        with monkeypatch.context() as solver:
            solver.syspath_prepend(image_of("solver", tmp_path))
            await s.stack.start_solver()
        with monkeypatch.context() as bridge:
            bridge.syspath_prepend(image_of("bridge", tmp_path))
            await s.stack.start_bridge()
        await s.pods(["one"])
        await s.stack.guard(s.until_bound(1))


async def test_the_bridges_image_checks_and_shows_its_own_part_of_the_configuration(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(image_of("bridge", tmp_path))
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    header = "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\n"
    good.write_text(header + "round: {seed: 3}\n")
    bad.write_text(header + "schedulerNames: []\n")
    for arguments, status, says in (
        (["validate", str(good)], 0, "good.yaml: ok"),
        (["validate", str(bad)], 2, "bad.yaml: schedulerNames: must not be empty"),
        (["show", str(good)], 0, "seed: 3"),
        (["schema"], 0, '"title": "SchedulerConfiguration"'),
    ):
        child = Child("config", "poseidon", ["config", *arguments], tmp_path / f"{arguments[0]}-{status}.log")
        await child.start()
        assert await child.wait() == status, child.tail()
        told = child.log.read_text()
        assert "the solver's package is not installed here" in told
        assert says in told


@pytest.mark.parametrize(("program", "missing"), [("solver", "numpy"), ("bridge", "pydantic")])
async def test_a_module_that_is_absent_is_missed(tmp_path, monkeypatch, program, missing):
    """The test of the test above."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(CUSTOMIZE.format(absent={missing}))
    module, *arguments = {"solver": ("firmament", "serve"), "bridge": ("poseidon", "run")}[program]
    monkeypatch.syspath_prepend(str(site))
    child = Child(program, module, arguments, tmp_path / "log")
    await child.start()
    assert await child.wait() != 0
    assert f"No module named '{missing}'" in child.tail()
