"""Each program runs with nothing but what its extra names: what else is installed here cannot be imported."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from poseidon.testbed.harness.child import Child, start_anew
from poseidon.testbed.kubeconfig import write_kubeconfig
from protos.conventions import missing_parts
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


def test_a_plain_installation_lacks_only_what_an_extra_is_said_to_bring():
    declared = {normal(Requirement(text).name): text for text in PROJECT["dependencies"]}
    lacking = {"bridge": {"cryptography", "kubernetes", "uvloop"}, "solver": {"uvloop"}}
    for program, lacks in lacking.items():
        rest = {name: text for name, text in needed(program).items() if name not in lacks}
        assert rest.items() <= declared.items()
    assert declared.keys() - needed("bridge").keys() - needed("solver").keys() == {"jsonpatch"}


def test_each_package_that_a_plain_installation_lacks_is_named_with_an_extra_that_brings_it():
    declared = {normal(Requirement(text).name) for text in PROJECT["dependencies"]}
    distributions = packages_distributions()
    for module, extra in missing_parts.EXTRAS.items():
        brought = {normal(each) for each in distributions[module]}
        assert any(name in brought or name.startswith(f"{module}-") for name in needed(extra)), module
        assert not brought & declared


@pytest.fixture
def plain(tmp_path, monkeypatch):
    """An interpreter that has the packages of a plain installation alone."""
    site = tmp_path / "site"
    site.mkdir()
    absent = {*missing_parts.EXTRAS, "uvloop", "psutil", "scipy"} - {"pandas"}
    (site / "sitecustomize.py").write_text(CUSTOMIZE.format(absent=absent))
    monkeypatch.syspath_prepend(str(site))


async def run_anew(folder: Path, *words: str, program: str = "poseidon") -> tuple[int, str]:
    child = Child("command", program, list(words), folder / "log")
    await child.start()
    status = await child.wait()
    return status, child.log.read_text()


async def test_a_plain_installation_runs_the_demonstration(tmp_path, plain):
    status, said = await run_anew(tmp_path, "demo", "--nodes", "5", "--pods", "10")
    assert status == 0, said
    assert "14 of 14" in said


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["plan", "-f", "examples/14-pending-pod"], 0, "4 pods bound to 2 nodes of 3, 2 pending"),
        (
            ["audit", "--kubeconfig", "CONFIG"],
            2,
            "CONFIG: reading these credentials needs the Python package",
        ),
        (["doctor", "--kubeconfig", "CONFIG"], 2, "pip install 'poseidon-firmament[bridge]'"),
    ],
    ids=lambda words: words[0] if isinstance(words, list) else "",
)
async def test_a_plain_installation_plans_and_says_what_a_cluster_needs(
    tmp_path, plain, monkeypatch, words, status, says
):
    config = tmp_path / "config"
    write_kubeconfig(config, "https://127.0.0.1:1", token="secret")
    monkeypatch.chdir(ROOT)
    ended, said = await run_anew(tmp_path, *(word.replace("CONFIG", str(config)) for word in words))
    assert ended == status, said
    assert says.replace("CONFIG", str(config)) in said
    assert len(said.splitlines()) == 1 or status == 0


PARTS = ("solver", "package numpy", "package networkx", "package ortools")
"""What its image lacks for planning: which is missed first is of no interest."""


async def test_the_bridges_image_says_that_planning_needs_the_solver(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(image_of("bridge", tmp_path))
    status, said = await run_anew(tmp_path, "plan", "-f", str(ROOT / "examples/14-pending-pod"))
    missed = {
        f"poseidon: the {part} is not installed here; pip install poseidon-firmament\n" for part in PARTS
    }
    assert (status, said in missed) == (1, True), said


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
    assert f"the package {missing} is not installed here" in child.tail()
