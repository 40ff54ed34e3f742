"""Whatever a live cluster holds, every command that reads it goes on, names what it sets aside, and sees the rest.

``EFFORT=15`` draws some 20,000 objects; ``python -m tests.programs.hostile --live 20000 --commands 20000`` more.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import tarfile
import time
from contextlib import asynccontextmanager
from random import SystemRandom

import pytest
from click.testing import CliRunner

from poseidon.bridge.state import BridgeState
from poseidon.cli import main
from poseidon.configuration.document import BridgeConfiguration
from poseidon.doctor.cluster_checks import cluster_findings
from poseidon.embedding import EmbeddedScheduler, load_configuration
from poseidon.kube.api.collections import PODS
from poseidon.kube.api.decoding import MalformedObjectError
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment
from poseidon.kube.watch.reflector import Reflector
from poseidon.live.cluster import read_cluster
from poseidon.live.explain import explain_live
from poseidon.live.shadow import Shadow
from poseidon.manifests.loader import ManifestError
from poseidon.offline.audit.make_audit import make_audit
from poseidon.offline.refused_objects import apply_events
from poseidon.rescheduling.objectives import Objective, ObjectiveOptions
from poseidon.rescheduling.planning import plan_moves
from poseidon.ui.work.curing import propose_cures
from poseidon.ui.work.inputs import ClusterInput
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.firmament.server.driving import running_server
from tests.programs.hostile.commands import commands
from tests.programs.hostile.live_cluster import beside, hostile, kubeconfig, node_of, pod_of, serving
from tests.programs.hostile.timing import Timing
from tests.support.effort import examples

PODS_DRAWN, OTHERS_DRAWN = examples(400, slow=True), examples(50, slow=True)
SEED = SystemRandom().randrange(2**32) if "EXPLORE" in os.environ else 1


def beside_those(*values):
    """Affinity to pods by the values of a label."""
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": values}]},
    }
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def on_nodes(operator, *values):
    """Affinity to nodes by a condition on a label."""
    terms = [{"matchExpressions": [{"key": "size", "operator": operator, "values": values}]}]
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"affinity": {"nodeAffinity": rule}}


SPACED = pod_of("spaced", namespace="mallory", **beside_those("a b"))
GREATER = pod_of("greater", namespace="mallory", node="common-0", **on_nodes("Gt", "many"))
DECENT = [
    pod_of("large", cpu="9"),
    pod_of("fits"),
    *(pod_of(f"runs-{index}", node="common-0", cpu="2") for index in range(3)),
]
OLD = beside({}, [SPACED, GREATER, *DECENT])
"""A cluster with two pods that today's API refuses, and that older objects may still be."""

MIXED = beside(hostile(SEED, PODS_DRAWN, OTHERS_DRAWN), DECENT)

NAMES = [
    f"mallory/mallory-{found[1].decode()}"
    for raw in MIXED["/api/v1/pods"]
    if (found := re.search(rb'"namespace": "mallory", "uid": "m-(\d+)"', raw))
]
"""Of the hostile pods."""


@asynccontextmanager
async def connected(objects):
    async with (
        serving(objects) as url,
        Transport(ConnectionSettings(url), clock=time.monotonic) as transport,
    ):
        yield transport


async def command(folder, objects, *arguments):
    """Run a command against a cluster of these objects."""
    async with serving(objects) as url:
        (folder / "kubeconfig").write_text(kubeconfig(url))
        whole = [*arguments, "--kubeconfig", str(folder / "kubeconfig")]
        return await asyncio.to_thread(CliRunner().invoke, main, whole)


async def read(objects):
    async with connected(objects) as transport:
        return await read_cluster(transport)


# --- what today's API refuses ---------------------------------------------------------------------------------------


async def test_an_audit_goes_on_beside_pods_that_an_api_server_would_refuse_by_now(tmp_path):
    outcome = await command(tmp_path, OLD, "audit", "--tries", "1", "-o", "json")
    assert outcome.exit_code == 0, outcome.output
    found = json.loads(outcome.stdout)
    reasons = {each["pod"]: each["reason"] for each in found["pending"]}
    assert reasons["decent/large"].startswith("0/6 nodes are available: 6 Insufficient cpu.")
    assert "'a b'" in reasons["mallory/spaced"], "it waits with the reason that the bridge gives it"
    warnings = [line for line in outcome.stderr.splitlines() if "mallory" in line]
    assert [line.split(":")[1].strip() for line in warnings] == ["Pod mallory/spaced", "Pod mallory/greater"]
    assert "'a b'" in warnings[0]
    assert "it waits" in warnings[0]
    assert "Gt needs exactly one integer" in warnings[1]
    assert "it counts where it runs" in warnings[1]


@pytest.mark.parametrize("objective", list(Objective))
async def test_so_does_reschedule(tmp_path, objective):
    outcome = await command(tmp_path, OLD, "reschedule", "--dry-run", "--objective", objective.value)
    assert outcome.exit_code == 0, outcome.output
    assert outcome.stderr.count("Pod mallory/spaced") == 1
    assert re.match(r"[34] pods may be moved; ", outcome.stdout)


async def test_so_do_the_cures_of_the_page(tmp_path):
    async with serving(OLD) as url:
        file = tmp_path / "kubeconfig"
        file.write_text(kubeconfig(url))
        answer = await asyncio.to_thread(propose_cures, ClusterInput(kubeconfig=str(file)), "decent/large")
    assert "Pod mallory/spaced: " in answer["note"]
    assert "Pod mallory/greater: " in answer["note"]


async def test_a_support_bundle_can_be_planned_with(tmp_path):
    file = tmp_path / "bundle.tar.gz"
    odd = json.dumps({"metadata": {"name": "odd", "namespace": "mallory"}, "spec": 7}).encode()
    objects = {**OLD, "/api/v1/pods": [*OLD["/api/v1/pods"], odd]}
    outcome = await command(tmp_path, objects, "support-bundle", str(file), "--firmament", "127.0.0.1:1")
    assert outcome.exit_code == 0, outcome.output
    assert "warning: Pod mallory/odd: cannot be read and is left out: spec: " in outcome.stderr
    with tarfile.open(file) as tar:
        tar.extractall(tmp_path, filter="data")
    folder = tmp_path / "support-bundle"
    assert "Pod mallory/odd: cannot be read" in (folder / "README.txt").read_text()
    plan = CliRunner().invoke(main, ["plan", "-f", str(folder / "cluster"), "-o", "json"])
    assert plan.exit_code == 0, plan.stderr
    assert "decent/fits" in {each["pod"] for each in json.loads(plan.stdout)["bindings"]}


LONG = "x" * 2_000
REFUSED = beside(
    {"/api/v1/nodes": [json.dumps(node_of(LONG)).encode()]},
    [
        pod_of(LONG, namespace="mallory"),
        pod_of("there", namespace="mallory", node=LONG),
        pod_of("disk", namespace="mallory", volumes=[{"name": "v", "iscsi": {"iqn": LONG}}]),
        *DECENT,
    ],
)
"""A cluster with names that the solver refuses."""


@pytest.mark.usefixtures("may_set_aside")
async def test_what_the_solver_refuses_of_a_cluster_is_left_out_and_named(tmp_path):
    for arguments in (("audit", "--tries", "1"), ("reschedule", "--dry-run")):
        outcome = await command(tmp_path, REFUSED, *arguments)
        assert outcome.exit_code == 0, outcome.output
        warnings = [line for line in outcome.stderr.splitlines() if "solver does not take it" in line]
        for name in ("Node xxx", "Pod mallory/xxx", "Pod mallory/there"):
            assert sum(line.startswith(f"warning: {name}") for line in warnings) == 1, warnings
        assert all(", and it is left out: " in line and len(line) < 500 for line in warnings)
        assert "Pod mallory/disk" not in outcome.stderr


@pytest.mark.usefixtures("may_set_aside")
async def test_so_it_is_with_a_support_bundle_but_not_with_files(tmp_path):
    file = tmp_path / "bundle.tar.gz"
    outcome = await command(tmp_path, REFUSED, "support-bundle", str(file), "--firmament", "127.0.0.1:1")
    assert outcome.exit_code == 0, outcome.output
    with tarfile.open(file) as tar:
        tar.extractall(tmp_path, filter="data")
    plan = CliRunner().invoke(
        main, ["plan", "-f", str(tmp_path / "support-bundle" / "cluster"), "-o", "json"]
    )
    assert plan.exit_code == 0, plan.stderr
    assert "decent/fits" in {each["pod"] for each in json.loads(plan.stdout)["bindings"]}
    assert plan.stderr.count("warning: Node xxx") == 1
    sample = pb.Event(machine=pb.Machine(name=LONG))
    state = BridgeState(BridgeConfiguration(), frozenset())
    with pytest.raises(ManifestError) as caught:
        apply_events(EmbeddedScheduler(load_configuration(None), time.time), state, [sample], is_live=False)
    assert len(caught.value.lines) == 1
    assert caught.value.lines[0].startswith("Node xxx")


def test_a_file_that_somebody_names_may_still_be_refused(tmp_path):
    file = tmp_path / "pod.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "Pod", **SPACED}))
    outcome = CliRunner().invoke(main, ["plan", "-f", str(file)])
    assert outcome.exit_code == 2
    assert "'a b'" in outcome.stderr


# --- objects with something hostile in every field ------------------------------------------------------------------


async def test_everything_is_read_or_named():
    manifests = await read(MIXED)
    read_pods = {each.metadata.uid for each in manifests.pods}
    named = "\n".join(manifests.set_aside)
    for name in NAMES:
        assert name in read_pods or f"Pod {name}: cannot be read and is left out: " in named
    assert len(NAMES) > PODS_DRAWN * 0.7  # some names are drawn that nobody could ask for
    assert {f"decent/{each['metadata']['name']}" for each in DECENT} <= read_pods


async def test_audits_and_moves_are_planned_beside_them():
    manifests, configuration = await read(MIXED), load_configuration(None)
    now = time.time()
    made = make_audit(manifests, configuration, now, tries=1, budget=5, move_cost=0.0, hot={})
    json.dumps(made.as_json())
    pending = {each.pod: each.reason for each in made.pending}
    assert "decent/large" in pending
    assert made.pods > 3
    for objective in Objective:
        planned = plan_moves(manifests, configuration, now, ObjectiveOptions(objective), 10)
        assert planned.released >= 3


async def test_doctor_counts_the_nodes_that_it_can_read():
    async with connected(MIXED) as transport:
        findings = {
            each.check: each
            async for each in cluster_findings(transport, BridgeConfiguration(), "poseidon", time.time)
        }
    assert "ready and schedulable" in findings["nodes"].message


async def test_every_pod_is_explained_or_named():
    async with connected(MIXED) as transport, running_server() as solver:
        for name in NAMES[:100]:
            try:
                made = await explain_live(transport, [str(solver.address)], "c", name, 20.0)
            except (MalformedObjectError, LookupError, ValueError):
                continue  # told with the name of the pod
            json.dumps(made.as_json())


async def test_shadow_takes_them_all():
    shadow = Shadow(["127.0.0.1:1"], "c", frozenset({"default-scheduler"}), 50.0)
    async with connected(MIXED) as transport:
        reflector = Reflector(Environment(transport), PODS, shadow.take_changes)
        following = asyncio.create_task(reflector.run())
        await reflector.wait_synced()
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


@pytest.mark.usefixtures("may_set_aside")
def test_each_command_goes_on_and_names_what_it_sets_aside(tmp_path):
    """audit, reschedule, support-bundle, doctor, shadow, explain and top, as people run them."""
    commands(tmp_path, SEED, examples(1_000), Timing())
