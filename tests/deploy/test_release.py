"""What a release consists of: equal when it is built again, complete, and of one version."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def build(target: Path) -> Path:
    script = str(DEPLOY / "release.py")
    done = subprocess.run(
        [sys.executable, script, str(target), "--without-images"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="module")
def dist(tmp_path_factory) -> Path:
    return build(tmp_path_factory.mktemp("release") / "dist")


@pytest.fixture
def deploy_modules(monkeypatch):
    monkeypatch.syspath_prepend(str(DEPLOY))
    import release  # type: ignore[import-not-found]

    return release


def test_it_holds_all_files_with_their_sums(dist):
    names = {each.name for each in dist.iterdir()}
    assert names == {
        f"poseidon_firmament-{VERSION}-py3-none-any.whl",
        f"poseidon_firmament-{VERSION}.tar.gz",
        f"poseidon-{VERSION}.tgz",
        f"sbom-{VERSION}.cdx.json",
        f"release-notes-{VERSION}.md",
        "SHA256SUMS",
    }
    sums = dict(reversed(line.split("  ")) for line in (dist / "SHA256SUMS").read_text().splitlines())
    assert sums.keys() == names - {"SHA256SUMS"}
    assert all(hashlib.sha256((dist / name).read_bytes()).hexdigest() == each for name, each in sums.items())


@pytest.mark.full
def test_the_same_again_is_equal_byte_for_byte(dist, tmp_path):
    again = build(tmp_path / "elsewhere" / "dist")
    assert (again / "SHA256SUMS").read_text() == (dist / "SHA256SUMS").read_text()


def test_the_wheel_holds_the_packages_their_types_and_the_page(dist):
    with zipfile.ZipFile(dist / f"poseidon_firmament-{VERSION}-py3-none-any.whl") as wheel:
        names = set(wheel.namelist())
    assert {name.partition("/")[0] for name in names if not name.startswith("poseidon_firmament-")} == {
        "cost_models",
        "firmament",
        "poseidon",
        "protos",
    }
    assert {
        "poseidon/__init__.pyi",
        "poseidon/py.typed",
        "poseidon/ui/assets/app.js",
        "protos/firmament/v1/scheduler_pb2.pyi",
    } <= names
    assert not [name for name in names if "tests" in name.split("/") or name.endswith(".pyc")]


def test_the_chart_is_one_folder_with_what_its_links_lead_to(dist):
    with tarfile.open(dist / f"poseidon-{VERSION}.tgz") as chart:
        members = {each.name: each for each in chart.getmembers()}
        held = chart.extractfile("poseidon/Chart.yaml")
        assert held is not None
        stated = yaml.safe_load(held.read())
    assert (stated["version"], stated["appVersion"]) == (VERSION, VERSION)
    assert {"poseidon/values.schema.json", "poseidon/manifests/firmament.yaml"} <= members.keys()
    assert all(each.isfile() and each.uid == 0 for each in members.values())


def test_all_parts_have_one_version():
    import firmament
    import poseidon

    assert {poseidon.__version__, firmament.__version__} == {VERSION}
    tags = {
        found
        for path in (*DEPLOY.rglob("*.yaml"), *DEPLOY.rglob("*.Dockerfile"), ROOT / "docs" / "install.md")
        for found in re.findall(r"poseidon-firmament/[\w-]+:(\d[\w.]*)", path.read_text())
    }
    assert tags == {VERSION}


def test_components_are_those_that_the_images_pin(dist):
    listed = json.loads((dist / f"sbom-{VERSION}.cdx.json").read_text())
    pins = set()
    for name in ("firmament", "poseidon"):
        lock = (DEPLOY / "docker" / f"{name}.lock").read_text()
        pins |= set(re.findall(r"^([A-Za-z0-9._-]+==[^\s;\\]+)", lock, re.MULTILINE))
    assert {f"{each['name']}=={each['version']}" for each in listed["components"]} == pins
    assert listed["metadata"]["component"]["version"] == VERSION
    used = {each["value"] for component in listed["components"] for each in component["properties"]}
    assert used == {"image firmament", "image poseidon"}


def test_components_are_valid_cyclonedx(dist):
    validation = pytest.importorskip(
        "cyclonedx.validation.json", reason="its schema is installed by `make release`"
    )
    from cyclonedx.schema import SchemaVersion  # type: ignore[import-not-found]

    text = (dist / f"sbom-{VERSION}.cdx.json").read_text()
    assert validation.JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None


def test_notes_are_the_changelogs(dist, deploy_modules):
    notes = (dist / f"release-notes-{VERSION}.md").read_text()
    assert re.match(rf"# Version {re.escape(VERSION)}, \d{{4}}-\d\d-\d\d\n", notes)
    assert "Unreleased" not in notes
    with pytest.raises(SystemExit, match=r"no section of version 9\.9\.9 with a date"):
        deploy_modules.read_notes((ROOT / "CHANGELOG.md").read_text(), "9.9.9")


def test_links_hold_on_the_package_index_and_in_the_notes(dist):
    """There is no folder beside the text there: links lead to the tag's files, and those exist."""
    with zipfile.ZipFile(dist / f"poseidon_firmament-{VERSION}-py3-none-any.whl") as wheel:
        readme = wheel.read(f"poseidon_firmament-{VERSION}.dist-info/METADATA").decode()
    notes = (dist / f"release-notes-{VERSION}.md").read_text()
    home = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Homepage"]
    for text in (readme, notes):
        links = re.findall(r"\]\(([^)\s]+)\)", text)
        assert links
        assert not [each for each in links if "://" not in each and not each.startswith("#")]
        own = [each.partition("#")[0] for each in links if each.startswith((f"{home}/blob/", f"{home}/raw/"))]
        assert own
        for each in own:
            assert (ROOT / each.split(f"/v{VERSION}/", 1)[1]).exists(), each
    assert f"({home}/raw/v{VERSION}/docs/pictures/explain.svg)" in readme


def test_a_file_system_is_told_as_it_is_in_the_image(tmp_path, deploy_modules):
    """Whatever the folder in which it was built is called, and whenever that was."""

    def built(root: Path) -> dict[str, object]:
        site = root / "opt" / "venv" / "lib" / "site"
        (site / "own-1.dist-info").mkdir(parents=True)
        (root / "opt" / "venv" / "bin").mkdir()
        (site / "own.py").write_text("NUMBER = 1\n")
        script = root / "opt" / "venv" / "bin" / "own"
        script.write_text(f"#!{root}/opt/venv/bin/python\n")
        script.chmod(0o755)
        (root / "opt" / "venv" / "bin" / "python").symlink_to(sys.executable)
        (root / "opt" / "venv" / "pyvenv.cfg").write_text(
            f"home = {Path(sys.executable).parent}\ncommand = python -m venv {root}\n"
        )
        (site / "own-1.dist-info" / "direct_url.json").write_text(f'{{"url": "file://{root}"}}')
        (site / "own-1.dist-info" / "RECORD").write_text(
            "own.py,sha256=x,1\n../../bin/own,sha256=y,2\nown-1.dist-info/direct_url.json,sha256=z,3\n"
            f"own-1.dist-info/RECORD,,\n__pycache__/own.{sys.implementation.cache_tag}.pyc,,\n"
        )
        found: dict[str, object] = deploy_modules.collect_image(root)
        return found

    one, other = built(tmp_path / "one"), built(tmp_path / "another")
    assert one == other
    assert one["opt/venv/bin/own"].content == b"#!/opt/venv/bin/python\n"  # type: ignore[attr-defined]
    assert one["opt/venv/bin/python"].link == "/usr/local/bin/python3"  # type: ignore[attr-defined]
    assert not [name for name in one if name.endswith("direct_url.json")]
    record = one["opt/venv/lib/site/own-1.dist-info/RECORD"].content.decode()  # type: ignore[attr-defined]
    digest = hashlib.sha256(b"NUMBER = 1\n").digest()
    import base64

    assert f"own.py,sha256={base64.urlsafe_b64encode(digest).rstrip(b'=').decode()},11" in record
    assert "direct_url" not in record


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_give_their_jobs_no_more_rights_than_they_need(path: Path):
    """`make workflows` checks them against the schema of GitHub Actions."""
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert job["runs-on"].startswith("ubuntu-"), name
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            if "uses" in step:
                assert re.fullmatch(r"[\w-]+/[\w/-]+@(v\d+|release/v\d+)", step["uses"]), step["uses"]
            # What others may choose, such as names of branches, is no part of a script.
            assert "${{" not in step.get("run", ""), name


def test_workflows_test_each_python_that_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    tested = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())
    assert tested["jobs"]["test"]["strategy"]["matrix"]["python"] == declared
    assert project["requires-python"] == f">={declared[0]}"


def test_workflows_run_targets_that_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for path in WORKFLOWS:
        for line in re.findall(r"\bmake ([a-z -]+)$", path.read_text(), re.MULTILINE):
            assert set(line.split()) <= targets, line
