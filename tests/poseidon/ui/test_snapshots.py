"""Files instead of a cluster: manifests, saved rounds, support bundles."""

from __future__ import annotations

import asyncio
import io
import json
import tarfile
from contextlib import asynccontextmanager

import pytest
from click.testing import CliRunner

from poseidon.cli import main
from poseidon.manifests.loader import load_manifests
from poseidon.ui.sources import snapshots
from poseidon.ui.sources.files import FileInput, FileSource
from poseidon.ui.sources.snapshots import SnapshotError, find_snapshots, unpack
from poseidon.ui.work.inputs import ClusterInput
from poseidon.ui.work.planning import plan_cluster
from poseidon.ui.work.process import BusyError, JobError
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.ui.objects import Wall
from tests.poseidon.ui.served import served
from tests.poseidon.ui.test_work import manifests  # noqa: F401 - a fixture
from tests.support.waiting import until


class InProcess:
    """Does jobs here and now."""

    def __init__(self):
        self.jobs = []

    async def do(self, job, seconds, begun=lambda: None):
        begun()
        self.jobs.append(job)
        return await asyncio.to_thread(job)


@asynccontextmanager
async def running(source):
    task = asyncio.create_task(source.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_manifests_stand_as_after_a_plan(manifests):  # noqa: F811 - the fixture
    given = FileInput("cluster.yaml", manifests, None, load_manifests(manifests.paths))
    source = FileSource(given, InProcess(), Wall())
    async with running(source):
        await until(lambda: source.known.store.bound == 2, within=60)
        assert source.known.store.counts() == (2, 1, 0)
        async with served(source) as (client, _):
            session = await (await client.get("/api/v1/session")).json()
            assert session["source"] == "manifests"
            assert (
                "Pods are shown as after a plan, which binds 1 pod, and leaves 1 waiting."
                in session["warnings"]
            )
            assert not any("is being made" in each for each in session["warnings"])
            flow = await (await client.get("/api/v1/flow")).json()
            assert (flow["tasks"], flow["placed"]) == (2, 1)
            (waits,) = plan_cluster(manifests).pending
            pod = await (await client.get(f"/api/v1/pods/{waits}")).json()
            assert pod["verdicts"]["refused"] == 2
            assert pod["reason"].startswith("0/2 nodes are available")
            assert (await (await client.get("/api/v1/pods/a/runs")).json())["phase"] == "bound"
            overview = await (await client.get("/api/v1/overview")).json()
            assert [each["placed"] for each in overview["rounds"]] == [1]
            assert overview["solver"]["state"] == "embedded"


async def test_a_plan_that_fails_leaves_pods_as_they_are(manifests):  # noqa: F811
    class Broken(InProcess):
        async def do(self, job, seconds, begun=lambda: None):
            raise JobError("no memory")

    given = FileInput("x", manifests, None, load_manifests(manifests.paths))
    source = FileSource(given, Broken(), Wall())
    async with running(source):
        await until(lambda: "no plan could be made: no memory" in source.known.about.warnings, within=30)
        assert source.known.store.counts() == (1, 2, 0)


def save_round(folder, number, **stats):
    folder.mkdir(parents=True)
    found = {"format": 2, "cluster": "c", "round": number, "stats": {"placed": 3, **stats}, "machines": []}
    (folder / "round.json").write_text(json.dumps(found))


def test_what_paths_hold(tmp_path):
    save_round(tmp_path / "saved" / "round-00000002", 12)
    save_round(tmp_path / "saved" / "round-00000010", 20)
    (tmp_path / "saved" / "round-00000011").mkdir()
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "a.yaml").write_text("")
    bundle = tmp_path / "support-bundle"
    (bundle / "cluster").mkdir(parents=True)
    (bundle / "README.txt").write_text("")
    save_round(bundle / "rounds" / "round-00000001", 5)
    paths = [tmp_path / "saved", tmp_path / "plain", bundle]
    found = find_snapshots(map(str, paths), tmp_path / "unpacked")
    assert found.manifests == [str(tmp_path / "plain"), str(bundle / "cluster")]
    assert [(each.number, each.cluster, each.stats.placed) for each in found.rounds] == [
        (12, "c", 3),
        (20, "c", 3),
        (5, "c", 3),
    ]
    assert len(found.warnings) == 1
    with pytest.raises(SnapshotError, match="no such file"):
        find_snapshots([str(tmp_path / "nowhere")], tmp_path)


def archive(path, *members):
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members:
            entry = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return path


def test_a_bundle_is_unpacked(tmp_path):
    file = archive(
        tmp_path / "b.tar.gz",
        ("support-bundle/README.txt", b"x"),
        ("support-bundle/cluster/nodes.json", b"{}"),
    )
    into = tmp_path / "into"
    into.mkdir()
    found = find_snapshots([str(file)], into)
    assert found.manifests == [str(into / "0" / "support-bundle" / "cluster")]


@pytest.mark.parametrize("name", ["../out", "/etc/out", "a/../../out", "a/./../../out", ""])
def test_nothing_is_unpacked_elsewhere(tmp_path, name):
    into = tmp_path / "into"
    into.mkdir()
    file = archive(tmp_path / "b.tar.gz", (name, b"x"))
    with pytest.raises((SnapshotError, OSError)):
        unpack(file, into)
    assert not (tmp_path / "out").exists()
    assert list(into.rglob("*")) == []


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_nothing_but_plain_files_is_unpacked(tmp_path, kind):
    entry = tarfile.TarInfo("link")
    entry.type, entry.linkname = kind, "/etc/passwd"
    file = archive(tmp_path / "b.tar.gz", (entry, b""))
    with pytest.raises(SnapshotError, match="no plain file"):
        unpack(file, tmp_path)


def test_archives_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(snapshots, "MOST_FILES", 3)
    many = archive(tmp_path / "many.tar.gz", *((f"f{number}", b"") for number in range(4)))
    with pytest.raises(SnapshotError, match="more than 3 files"):
        unpack(many, tmp_path)
    monkeypatch.setattr(snapshots, "MOST_BYTES", 1000)
    # a million zeros are a thousand bytes when they are packed
    large = archive(tmp_path / "large.tar.gz", ("large", b"\0" * 1_000_000))
    with pytest.raises(SnapshotError, match="holds more than"):
        unpack(large, tmp_path)
    broken = tmp_path / "broken.tar.gz"
    broken.write_bytes(many.read_bytes()[:40])
    into = tmp_path / "into"
    into.mkdir()
    with pytest.raises(SnapshotError, match="not an archive"):
        find_snapshots([str(broken)], into)


async def test_saved_rounds(tmp_path, monkeypatch):
    for number in (3, 4):
        save_round(tmp_path / f"round-0000000{number}", number, tasks=number, cost=7)
    found = find_snapshots([str(tmp_path)], tmp_path)
    content = pb.RoundFlow(round=4, stats=pb.RoundStats(cost=7)).SerializeToString()
    monkeypatch.setattr("poseidon.ui.sources.files.replay_flow", lambda _: content)
    worker = InProcess()
    source = FileSource(FileInput("x", ClusterInput(), rounds=found.rounds), worker, Wall())
    async with served(source) as (client, _):
        session = await (await client.get("/api/v1/session")).json()
        assert (session["source"], session["cluster"]) == ("rounds", "c")
        assert session["capabilities"]["flow"] is True
        assert session["capabilities"]["pending"] is False
        overview = await (await client.get("/api/v1/overview")).json()
        assert [(each["round"], each["tasks"], each["cost"]) for each in overview["rounds"]] == [
            (3, 3, 7),
            (4, 4, 7),
        ]
        flow = await (await client.get("/api/v1/flow")).json()
        assert (flow["round"], flow["rounds"]) == (4, [3, 4])
        await client.get("/api/v1/flow?round=4")
        assert len(worker.jobs) == 1
        assert (await client.get("/api/v1/flow?round=9")).status == 404


async def test_a_saved_round_that_cannot_be_decided_is_told_once(tmp_path):
    for number in (3, 4):
        save_round(tmp_path / f"round-0000000{number}", number)
    found = find_snapshots([str(tmp_path)], tmp_path)
    worker = InProcess()
    source = FileSource(FileInput("x", ClusterInput(), rounds=found.rounds), Failing(worker), Wall())
    async with served(source) as (client, _):
        answers = await asyncio.gather(*(client.get("/api/v1/flow?round=4") for _ in range(3)))
        assert {each.status for each in answers} == {404}
        session = await (await client.get("/api/v1/session")).json()
        assert len(session["warnings"]) == 1
        assert session["warnings"][0].startswith("round 4: ")
    assert len(worker.jobs) == 1


async def test_too_much_is_worked_on(tmp_path):
    save_round(tmp_path / "round-00000003", 3)

    class Busy(InProcess):
        async def do(self, job, seconds, begun=lambda: None):
            raise BusyError("too much")

    found = find_snapshots([str(tmp_path)], tmp_path)
    source = FileSource(FileInput("x", ClusterInput(), rounds=found.rounds), Busy(), Wall())
    async with served(source) as (client, _):
        for _ in range(2):
            answer = await client.get("/api/v1/flow?round=3")
            assert (answer.status, "Retry-After" in answer.headers) == (503, True)


class Failing:
    """Does jobs, and says of each that fails why, as the process does."""

    def __init__(self, inner):
        self._inner = inner

    async def do(self, job, seconds, begun=lambda: None):
        try:
            return await self._inner.do(job, seconds, begun)
        except (OSError, ValueError) as error:
            raise JobError(str(error)) from None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--snapshot", "{here}", "--firmament", "127.0.0.1:1"], "--firmament is for a live cluster"),
        (["--now", "2026-01-31T12:00:00Z"], "--now is for files"),
        (["--snapshot", "{here}/nowhere"], "no such file or folder"),
        (["--bridge", "nonsense"], "is no address"),
    ],
)
def test_options_that_do_not_go_together(tmp_path, arguments, message):
    outcome = CliRunner().invoke(
        main,
        ["ui", "--listen", "127.0.0.1:0", *(each.format(here=tmp_path) for each in arguments)],
        env={"KUBECONFIG": str(tmp_path / "none"), "KUBERNETES_SERVICE_HOST": ""},
    )
    assert outcome.exit_code == 2
    assert message in outcome.stderr
