"""Bad reports of use and bad annotations, with both processes: counted, told once per object, and no harm done."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections import Counter
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import yaml
from prometheus_client.parser import text_string_to_metric_families

from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.api_server.measured_use import node_metric_definition
from poseidon.testbed.harness.stack import Stack, StackOptions
from poseidon.testbed.objects.resources import CUSTOM_RESOURCE_DEFINITIONS
from poseidon.testbed.seeding import NodeShape, node
from tests.programs.end_to_end.scene import SECONDS, free_port, scene
from tests.support import preloaded
from tests.support.cluster import pod
from tests.support.waiting import until

SHAPE = NodeShape("eight", cpu="8", memory="32Gi")
THRESHOLDS = "scheduling.koordinator.sh/usage-thresholds"
RAW = "node.koordinator.sh/raw-allocatable"
FACTORS = "scheduling.koordinator.sh/load-estimated-scaling-factors"
CONFIGURATION = {
    "apiVersion": "firmament.io/v1alpha1",
    "kind": "SchedulerConfiguration",
    "costModels": [{"name": "load_threshold", "args": {"allowCustomizeEstimation": True}}],
}

ANNOTATIONS = {
    "unparsable": {THRESHOLDS: "{", RAW: '{"cpu": "many"}'},
    "high": {THRESHOLDS: '{"usageThresholds": {"cpu": 150}}'},
    "percentile": {
        THRESHOLDS: json.dumps(
            {"aggregatedUsage": {"usageThresholds": {"cpu": 60}, "usageAggregationType": "p42"}}
        )
    },
}
REMARKS = {
    f"node unparsable: annotation {THRESHOLDS}",
    f"node unparsable: annotation {RAW}",
    f"node high: annotation {THRESHOLDS}: usageThresholds.cpu is 150",
    f"node percentile: annotation {THRESHOLDS}: usageAggregationType 'p42'",
    f"pods: annotation {FACTORS}",
}
"""What the solver's model says of each, as far as it names the object."""

FAULTS = {"high": "negative", "percentile": "statistic", "future": "future", "nan": "quantity"}
"""The kind of fault in each node's reports."""


def status(name, cpu):
    """A report; ``cpu`` differs from one to the next."""
    ahead = timedelta(hours=1) if name == "future" else timedelta()
    used = {"nan": "NaN", "high": f"-{cpu}"}.get(name, str(cpu))
    windows = {"p42": {"resources": {"cpu": "1"}}} if name == "percentile" else {}
    return {
        "updateTime": (datetime.now(UTC) + ahead).isoformat(timespec="milliseconds"),
        "nodeMetric": {
            "nodeUsage": {"resources": {"cpu": used, "memory": "1Gi"}},
            "aggregatedNodeUsages": [{"duration": "5m0s", "usage": windows}],
        },
    }


class Stage:
    def __init__(self, s, ports):
        self.scene = s
        self._ports = dict(zip(("solver", "bridge"), ports, strict=True))
        operations = s.operations
        operations.create(CUSTOM_RESOURCE_DEFINITIONS, "", node_metric_definition())
        self._resource = operations.registry.find("slo.koordinator.sh", "v1alpha1", "nodemetrics")
        self.nodes = sorted({"sound", *ANNOTATIONS, *FAULTS})
        for name in self.nodes:
            made = node(name, SHAPE)
            made["metadata"]["annotations"] = ANNOTATIONS.get(name, {})
            create_object(operations, made)

    def report(self, cpu):
        operations = self.scene.operations
        for name in self.nodes:
            known = operations.store.collection("nodemetrics.slo.koordinator.sh").get(name)
            body = {"metadata": {"name": name}, "status": status(name, cpu)}
            if known is None:
                operations.create(self._resource, "", body, keep_status=True)
            else:
                body["metadata"]["resourceVersion"] = str(known.revision)
                operations.update(self._resource, "", name, body, status=True)

    def pods(self, *names):
        for name in names:
            made = pod(name, cpu="1")
            made["metadata"]["annotations"] = {FACTORS: "[]"}
            create_object(self.scene.operations, made)

    async def counted(self, process, name, label=""):
        """Return the values of a metric by one of its labels."""

        def read():
            with urllib.request.urlopen(
                f"http://127.0.0.1:{self._ports[process]}/metrics", timeout=5
            ) as answer:
                return answer.read().decode()

        families = text_string_to_metric_families(await asyncio.to_thread(read))
        return {
            sample.labels.get(label, ""): sample.value
            for family in families
            for sample in family.samples
            if sample.name == name
        }

    async def faults(self):
        """Return how many faults of each kind the bridge has counted."""
        return await self.counted("bridge", "poseidon_utilisation_faults_total", "fault")


@asynccontextmanager
async def stage(folder):
    config = folder / "config.yaml"
    config.write_text(yaml.safe_dump(CONFIGURATION))
    ports = free_port(), free_port()
    async with scene(folder) as s:
        more = [("--metrics", f"127.0.0.1:{port}") for port in ports]
        options = StackOptions(
            folder,
            s.stack.kubeconfig,
            config,
            more_for_solver=more[0],
            more_for_bridge=more[1],
            launch=preloaded.fork,
        )
        made = Stage(s, ports)
        async with Stack(options) as stack:
            s.stack = stack
            made.report(1)
            await stack.start_solver()
            await stack.start_bridge()
            yield made


async def test_bad_reports_and_annotations_are_counted_told_once_and_do_no_harm(tmp_path):
    async with stage(tmp_path) as on:
        on.pods("a", "b")
        await on.scene.until_bound(2)
        for cpu in (2, 3):
            before = await on.faults()
            on.report(cpu)

            async def counted_anew(before=before):
                found = await on.faults()
                return all(found.get(kind, 0) > before.get(kind, 0) for kind in FAULTS.values())

            await until(counted_anew, within=SECONDS, what="every report's faults are counted")
        on.pods("c", "d")
        await on.scene.until_bound(4)

        def notes():
            return [line for line in on.scene.log("solver").splitlines() if "model note" in line]

        told = Counter(
            name
            for line in on.scene.log("bridge").splitlines()
            if "a reading has a fault" in line
            for name in on.nodes
            if f"object={name} " in line
        )
        assert told == dict.fromkeys(FAULTS, 1), "each object once, although it was reported three times"

        await until(lambda: len(notes()) >= len(REMARKS), within=SECONDS)
        found = notes()
        assert {text: sum(text in line for line in found) for text in REMARKS} == dict.fromkeys(REMARKS, 1)
        assert await on.counted("solver", "firmament_model_remarks_total") == {"": len(REMARKS)}
        assert len(notes()) == len(REMARKS)
        on.scene.check_sound()
