"""Load-aware scheduling from manifests: the reference's worked examples, integer for integer, by the commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

EXAMPLE = Path(__file__).parents[3] / "examples" / "06-load-aware"
NOW = "2026-01-01T12:00:00Z"
RECENT = "2026-01-01T11:59:30Z"
GIB = 2**30


def configuration(**args: Any) -> dict:
    return {
        "apiVersion": "firmament.io/v1alpha1",
        "kind": "SchedulerConfiguration",
        "policy": {"name": "void"},
        "costModels": [{"name": "load_threshold", "args": args}],
    }


def node(name: str = "n1", *, cpu: Any = "96", memory: Any = "512Gi", annotations: Any = None) -> dict:
    offered = {"cpu": cpu, "memory": memory, "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "annotations": annotations or {}},
        "status": {"allocatable": offered, "capacity": offered},
    }


def pod(
    name: str = "p", *, requests: Any = None, limits: Any = None, containers: Any = None, **more: Any
) -> dict:
    if containers is None:
        containers = [{"name": "c", "resources": {"requests": requests or {}, "limits": limits or {}}}]
    metadata = {"name": name, "namespace": "default", **more.pop("metadata", {})}
    status = more.pop("status", {})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": containers, **more},
        "status": status,
    }


def metric(name: str = "n1", *, cpu: Any = "0", memory: Any = "0", time: Any = RECENT, **status: Any) -> dict:
    usage = {"resources": {"cpu": cpu, "memory": memory}}
    return {
        "apiVersion": "slo.koordinator.sh/v1alpha1",
        "kind": "NodeMetric",
        "metadata": {"name": name},
        "spec": {"metricCollectPolicy": {"reportIntervalSeconds": 60}},
        "status": {"updateTime": time, "nodeMetric": {"nodeUsage": usage}, **status},
    }


@pytest.fixture
def explained(run, write):
    """Return a function that explains pod default/p and gives the verdict on n1: (node's, load_threshold's)."""

    def ask(*objects: dict, now: str = NOW, **args: Any) -> tuple[dict, dict]:
        file = write(*objects)
        config = write(configuration(**args), name="config.yaml")
        options = ("-f", file, "--config", config, "--pod", "default/p", "--now", now, "-o", "json")
        found = run("explain", *options).json["nodes"]["n1"]
        return found, found["models"]["load_threshold"]

    return ask


class TestScore:
    def test_the_reference_s_example(self, explained):
        wanting = pod(requests={"cpu": "16", "memory": "32Gi"})
        _, verdict = explained(node(), metric(cpu="32", memory="10Gi"), wanting)
        assert verdict == {"feasible": True, "raw": 72, "score": 72, "cost": 28}

    @pytest.mark.parametrize(
        ("args", "score"),
        [
            ({"resourceWeights": {"cpu": 1}}, 52),
            ({"resourceWeights": {"memory": 1}}, 93),
            ({"resourceWeights": {"cpu": 3, "memory": 1}}, 62),  # (156 + 93) div 4
            ({"dominantResourceWeight": 1}, 52),
            ({"dominantResourceWeight": 1, "resourceWeights": {"cpu": 1, "memory": 1}}, 65),  # 197 div 3
        ],
    )
    def test_weights(self, explained, args, score):
        wanting = pod(requests={"cpu": "16", "memory": "32Gi"})
        assert explained(node(), metric(cpu="32", memory="10Gi"), wanting, **args)[1]["score"] == score

    @pytest.mark.parametrize(
        ("resources", "cpu", "memory"),
        [
            # 85 % of 4 cores, 70 % of 8 GiB
            ({"requests": {"cpu": "4", "memory": "8Gi"}}, 3400, 6012954214),
            ({"requests": {"cpu": "2"}, "limits": {"cpu": "4", "memory": "8Gi"}}, 3400, 6012954214),
            # nothing asked for: 250 m and 200 MiB
            ({}, 250, 200 * 2**20),
            # the limit of one container caps the estimate of both: 14 cores x 0.85 = 11.9, limit 4
            (
                {
                    "containers": [
                        {"name": "a", "resources": {"requests": {"cpu": "4"}, "limits": {"cpu": "4"}}},
                        {"name": "b", "resources": {"requests": {"cpu": "10"}}},
                    ]
                },
                4000,
                200 * 2**20,
            ),
        ],
    )
    def test_the_estimate_of_a_pod(self, explained, resources, cpu, memory):
        """On a node of exactly the estimate and a hundredth more the score is known only if the estimate is exact."""
        exact = {"cpu": f"{cpu}m", "memory": str(memory), "pods": "9"}
        offered = node()
        offered["status"]["allocatable"] = {**exact, "cpu": f"{2 * cpu}m", "memory": str(2 * memory)}
        only = {"usageThresholds": {"cpu": 100, "memory": 100}, "dominantResourceWeight": 1}
        assert explained(offered, metric(), pod(**resources), **only)[1]["score"] == 50
        offered["status"]["allocatable"] = {**exact, "cpu": f"{2 * cpu - 1}m", "memory": str(2 * memory)}
        assert explained(offered, metric(), pod(**resources), **only)[1]["score"] == 49
        offered["status"]["allocatable"] = {**exact, "cpu": f"{2 * cpu}m", "memory": str(2 * memory - 1)}
        assert explained(offered, metric(), pod(**resources), **only)[1]["score"] == 49

    def test_without_a_metric_the_score_is_0_and_the_node_open(self, explained):
        found, verdict = explained(node(), pod(requests={"cpu": "1"}))
        assert (found["feasible"], verdict["score"]) == (True, 0)

    @pytest.mark.parametrize(
        ("usage", "resources", "score"),
        [
            ("0", {"cpu": "0"}, 40),
            ("500m", {"cpu": "0"}, 33),
        ],
    )
    def test_target_load_packing(self, explained, usage, resources, score):
        _, verdict = explained(
            node(cpu="1", memory="8Gi"),
            metric(cpu=usage),
            pod(containers=[{"name": "c", "resources": {"limits": resources}}]),
            scoringStrategy={"type": "TargetLoadPacking"},
            usageThresholds={"cpu": 0, "memory": 0},
        )
        assert verdict["score"] == score


class TestThreshold:
    @pytest.mark.parametrize(
        ("milli", "exact", "upstream"),
        [(48_799, True, True), (48_800, False, True), (49_279, False, True), (49_280, False, False)],
    )
    def test_it_is_reached_exactly_or_rounded_as_upstream_does(self, explained, milli, exact, upstream):
        """62.4 cores are 65 % of 96, and 62.88 are 65.5 %; the pod is expected to use 13.6."""
        given = (node(), metric(cpu=f"{milli}m"), pod(requests={"cpu": "16"}))
        found, verdict = explained(*given)
        assert (found["feasible"], verdict["feasible"]) == (exact, exact)
        assert found["reasons"] == ([] if exact else ["node(s) cpu usage exceed threshold"])
        assert explained(*given, thresholdRounding="upstream")[1]["feasible"] == upstream

    @pytest.mark.parametrize(
        ("now", "reasons"),
        [
            ("2026-01-01T12:02:29Z", []),
            ("2026-01-01T12:02:30Z", ["node(s) nodeMetric expired"]),
            ("2026-01-01T14:02:30+02:00", []),
            ("2026-01-01T10:00:00Z", []),
        ],
    )
    def test_a_report_expires_by_the_given_time(self, explained, now, reasons):
        given = (node(), metric(), pod(requests={"cpu": "1"}))
        if now.endswith("+02:00"):
            now = "2026-01-01T14:02:29+02:00"
        assert explained(*given, now=now)[0]["reasons"] == reasons

    def test_expired_reports_may_pass(self, explained):
        given = (node(), metric(cpu="95", time="2026-01-01T11:00:00Z"), pod(requests={"cpu": "1"}))
        assert not explained(*given)[1]["feasible"]
        assert explained(*given, enableScheduleWhenNodeMetricsExpired=True)[1]["feasible"]
        assert not explained(*given, filterExpiredNodeMetrics=False)[1]["feasible"], "stale data count"

    @pytest.mark.parametrize(
        ("mode", "feasible"),
        [("upstream", True), ("failOpen", True), ("failClosed", False), ("estimate", True)],
    )
    def test_what_a_missing_metric_means_is_configured(self, explained, mode, feasible):
        found, verdict = explained(node(), pod(requests={"cpu": "1"}), missingMetrics=mode)
        assert verdict["feasible"] == feasible
        assert found["reasons"] == ([] if feasible else ["node(s) nodeMetric missing"])

    def test_a_daemon_is_not_kept_away(self, explained):
        owner = {"kind": "DaemonSet", "name": "d", "uid": "d", "apiVersion": "apps/v1", "controller": True}
        wanting = pod(requests={"cpu": "1"}, metadata={"ownerReferences": [owner]})
        assert explained(node(), metric(cpu="95"), wanting)[1]["feasible"]

    @pytest.mark.parametrize(("name", "exempt"), [("d", True), ("other", False)])
    def test_a_daemon_set_has_to_be_among_those_of_the_input(self, explained, name, exempt):
        owner = {"kind": "DaemonSet", "name": "d", "uid": "d", "apiVersion": "apps/v1", "controller": True}
        wanting = pod(requests={"cpu": "1"}, metadata={"ownerReferences": [owner]})
        template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c"}]}}
        found = {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": name},
            "spec": {"template": template},
        }
        assert explained(node(), metric(cpu="95"), wanting, found)[1]["feasible"] is exempt

    def test_a_node_may_have_thresholds_and_an_allocatable_of_its_own(self, explained):
        key, raw = "scheduling.koordinator.sh/usage-thresholds", "node.koordinator.sh/raw-allocatable"
        wanting = pod(requests={"cpu": "16"})
        low = node(annotations={key: '{"usageThresholds": {"cpu": 40}}'})
        assert explained(low, metric(cpu="32"), wanting)[0]["reasons"] == [
            "node(s) cpu usage exceed threshold"
        ]
        small = node(annotations={raw: '{"cpu": 64}'})
        assert explained(small, metric(cpu="32"), wanting)[0]["reasons"] == [
            "node(s) cpu usage exceed threshold"
        ]
        assert explained(node(), metric(cpu="32"), wanting)[1]["feasible"]

    def test_percentiles_shadow_the_last_figures(self, explained):
        args = {
            "aggregated": {
                "usageThresholds": {"cpu": 60},
                "usageAggregationType": "p95",
                "usageAggregatedDuration": "5m",
            }
        }
        usage = {"nodeUsage": {"resources": {"cpu": "90"}}}
        window = {"duration": "5m0s", "usage": {"p95": {"resources": {"cpu": "40", "memory": "1Gi"}}}}
        calm = metric(nodeMetric={**usage, "aggregatedNodeUsages": [window]})
        wanting = pod(requests={"cpu": "16"})
        assert explained(node(), calm, wanting, **args)[1]["feasible"]
        window["usage"] = {"p95": {"resources": {"cpu": "50", "memory": "1Gi"}}}
        busy = metric(nodeMetric={**usage, "aggregatedNodeUsages": [window]})
        reasons = explained(node(), busy, wanting, **args)[0]["reasons"]
        assert reasons == ["node(s) cpu aggregated usage exceed threshold"]

    def test_prod_pods_are_held_to_what_prod_pods_use(self, explained):
        running = pod("r", requests={"cpu": "8"}, nodeName="n1", status=scheduled("2026-01-01T09:00:00Z"))
        use = {"namespace": "default", "name": "r", "podUsage": {"resources": {"cpu": "40"}}}
        args = {"prodUsageThresholds": {"cpu": 55}}
        wanting = pod(requests={"cpu": "16"})
        prod = metric(cpu="90", podsMetric=[{**use, "priority": "koord-prod"}])
        assert explained(node(), prod, running, wanting, **args)[0]["reasons"] == [
            "node(s) cpu usage exceed threshold"
        ], "40 + 13.6 are more than 52.8"
        other = metric(cpu="90", podsMetric=[{**use, "priority": "koord-batch"}])
        assert explained(node(), other, running, wanting, **args)[1]["feasible"], "its estimate, 6.8, counts"


class TestUnreported:
    """Pods that a report cannot show yet count with their estimates (32 cores, 10 GiB are reported in all cases)."""

    def free(self, explained, *pods, **status):
        wanting = pod(requests={"cpu": "16", "memory": "32Gi"})
        given = (node(), metric(cpu="32", memory="10Gi", **status), *pods, wanting)
        return explained(*given, resourceWeights={"cpu": 1})[1]["score"]

    @pytest.mark.parametrize(
        ("since", "used", "score"),
        [
            # 96 - 32 - 13.6 = 50.4 of 96 are left beside one that is seen, 8.5 less beside one that is not
            ("2026-01-01T11:58:30Z", "1", 52),
            ("2026-01-01T11:58:31Z", "1", 44),  # 50.4 - (8.5 - 1) = 42.9
            ("2026-01-01T11:58:31Z", "9", 52),
            ("2026-01-01T11:58:30Z", None, 43),  # 50.4 - 8.5 = 41.9
        ],
    )
    def test_by_when_it_was_scheduled_and_what_it_uses(self, explained, since, used, score):
        running = pod("r", requests={"cpu": "10"}, nodeName="n1", status=scheduled(since))
        usage = {"resources": {"cpu": used}}
        reported = [] if used is None else [{"namespace": "default", "name": "r", "podUsage": usage}]
        assert self.free(explained, running, podsMetric=reported) == score

    def test_a_pod_that_has_ended_does_not_count(self, explained):
        ended = pod("r", requests={"cpu": "10"}, nodeName="n1", status={"phase": "Succeeded"})
        assert self.free(explained, ended) == 52


class TestBadObjects:
    """Each warns once, is treated as the reference says, and ends nothing."""

    @pytest.mark.parametrize(
        ("bad", "warning", "score"),
        [
            (
                metric(cpu="-5", memory="10Gi"),
                "NodeMetric n1: status.nodeMetric.nodeUsage.cpu: '-5' is negative",
                89,
            ),
            (metric(time="soon"), "NodeMetric n1: status.updateTime: 'soon' is not an RFC 3339 time", 0),
            (
                metric(cpu="32", memory="10Gi", time="2026-01-01T13:00:00Z"),
                "NodeMetric n1: status.updateTime: 2026-01-01T13:00:00Z lies 3600 s ahead",
                72,
            ),
            ({**metric(), "status": []}, "input.yaml (document 2): NodeMetric n1: status: expected a map", 0),
        ],
    )
    def test_metrics(self, run, write, bad, warning, score):
        file = write(node(), bad, pod(requests={"cpu": "16", "memory": "32Gi"}))
        config = write(configuration(), name="config.yaml")
        outcome = run(
            "explain", "-f", file, "--config", config, "--pod", "default/p", "--now", NOW, "-o", "json"
        )
        assert outcome.json["nodes"]["n1"]["models"]["load_threshold"]["score"] == score
        [line] = outcome.stderr.splitlines()
        assert line.startswith("warning: ")
        assert warning in line

    def test_of_two_reports_of_one_node_the_later_counts(self, run, write):
        file = write(node(), metric(cpu="1"), metric(cpu="95"), pod(requests={"cpu": "1"}))
        outcome = run(
            "plan", "-f", file, "--config", write(configuration(), name="c.yaml"), "--now", NOW, "-o", "json"
        )
        assert outcome.json["bindings"] == []
        [warning] = outcome.stderr.splitlines()
        assert "NodeMetric n1" in warning
        assert "document 2" in warning
        assert "document 3" in warning


class TestMetricsServer:
    def test_nodes_and_pods(self, explained):
        usage = {
            "apiVersion": "metrics.k8s.io/v1beta1",
            "kind": "NodeMetrics",
            "metadata": {"name": "n1"},
            "timestamp": RECENT,
            "window": "10s",
            "usage": {"cpu": "32000000000n", "memory": "10485760Ki"},
        }
        running = pod("r", requests={"cpu": "10"}, nodeName="n1", status=scheduled("2026-01-01T09:00:00Z"))
        wanting = pod(requests={"cpu": "16", "memory": "32Gi"})
        args = {"resourceWeights": {"cpu": 1}}
        assert explained(node(), usage, running, wanting, **args)[1]["score"] == 43, "the pod is not reported"
        of_pod = {
            "apiVersion": "metrics.k8s.io/v1beta1",
            "kind": "PodMetrics",
            "metadata": {"name": "r", "namespace": "default"},
            "timestamp": RECENT,
            "containers": [{"name": "c", "usage": {"cpu": "1", "memory": "0"}}],
        }
        assert explained(node(), usage, of_pod, running, wanting, **args)[1]["score"] == 52
        assert explained(node(), usage, metric(cpu="0"), wanting, **args)[1]["score"] == 85, (
            "NodeMetric first"
        )


def scheduled(since: str) -> dict:
    conditions = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": since}]
    return {"phase": "Running", "conditions": conditions}


class TestExample:
    OPTIONS = ("-f", EXAMPLE, "--config", EXAMPLE / "config.yaml", "--now", NOW, "-o", "json")

    def test_its_verdicts(self, run):
        nodes = run("explain", *self.OPTIONS, "--pod", "shop/wanting").json["nodes"]
        found = {
            name: (verdict["feasible"], verdict["models"]["load_threshold"]["score"], verdict["reasons"])
            for name, verdict in nodes.items()
        }
        hot = ["node(s) cpu usage exceed threshold"]
        assert found == {
            "balanced": (True, 72, []),
            "edge": (False, 64, hot),
            "expired": (False, 0, ["node(s) nodeMetric expired"]),
            "fresh-pod": (True, 70, []),
            "hot": (False, 58, hot),
            "metrics-server": (True, 80, []),
            "strict": (False, 72, hot),
            "unreported": (True, 0, []),
        }

    def test_its_readme_shows_them(self, run):
        nodes = run("explain", *self.OPTIONS, "--pod", "shop/wanting").json["nodes"]
        shown = (EXAMPLE / "README.md").read_text()
        for name, verdict in nodes.items():
            score = verdict["models"]["load_threshold"]["score"]
            [row] = [line for line in shown.splitlines() if line.startswith(f"| `{name}`")]
            assert f"| {score} |" in row
            assert ("yes" if verdict["feasible"] else verdict["reasons"][0]) in row

    def test_its_files_are_sound(self):
        for file in EXAMPLE.glob("*.yaml"):
            assert list(yaml.safe_load_all(file.read_text()))
