"""What admission adds to pods as people write them, and which it refuses."""

from __future__ import annotations

import pytest

from poseidon.manifests.loader import ManifestError
from tests.poseidon.manifests.objects import node, pod, workload

NAMESPACE = {"namespace": "shop"}


def limit_range(*limits):
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "lr", **NAMESPACE},
        "spec": {"limits": [*limits]},
    }


def quota(hard, *, name="compute", used=None, **spec):
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": name, **NAMESPACE},
        "spec": {"hard": hard, **spec},
        "status": {"used": used or {}},
    }


def runtime_class(name, **fields):
    return {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": name},
        "handler": "runsc",
        **fields,
    }


def asking(name="p", requests=None, limits=None, **options):
    resources = {"requests": requests or {}, "limits": limits or {}}
    return pod(name, phase="Pending", containers=[{"name": "c", "resources": resources}], **options)


def resources_of(loaded, name="p"):
    (found,) = [each for each in loaded.pods if each.metadata.name == name]
    given = found.spec.containers[0].resources
    return given.requests, given.limits


class TestRuntimeClasses:
    GVISOR = runtime_class(
        "gvisor",
        overhead={"podFixed": {"cpu": "250m"}},
        scheduling={
            "nodeSelector": {"sandbox": "gvisor"},
            "tolerations": [{"key": "sandbox", "operator": "Exists"}],
        },
    )

    def test_they_add_overhead_node_selector_and_tolerations(self, load):
        own = {"key": "x", "operator": "Exists"}
        given = asking(runtimeClassName="gvisor", nodeSelector={"disk": "ssd"}, tolerations=[own])
        loaded = load(self.GVISOR, given)
        (found,) = loaded.pods
        assert found.spec.overhead == {"cpu": "250m"}
        assert found.spec.node_selector == {"disk": "ssd", "sandbox": "gvisor"}
        assert [each.key for each in found.spec.tolerations] == ["x", "sandbox"]
        assert (loaded.refused, loaded.warnings) == ({}, ())

    def test_pods_of_workloads_get_them_too(self, load):
        given = workload("Deployment", "web", template={"runtimeClassName": "gvisor"})
        (found,) = load(self.GVISOR, given).pods
        assert found.spec.overhead == {"cpu": "250m"}

    @pytest.mark.parametrize("done", [{"nodeName": "n1"}, {}])
    def test_what_has_been_admitted_stays_as_it_is(self, load, done):
        given = asking(runtimeClassName="gvisor", **done)
        if not done:
            given["metadata"]["resourceVersion"] = "5"
        (found,) = load(node("n1"), self.GVISOR, given).pods
        assert found.spec.overhead == {}

    def test_a_pod_that_its_class_contradicts_is_refused(self, load):
        given = asking(runtimeClassName="gvisor", nodeSelector={"sandbox": "kata"})
        assert load(self.GVISOR, given).refused == {
            "shop/p": "pod rejected: conflict: runtimeClass.scheduling.nodeSelector[sandbox] = gvisor; "
            "pod.spec.nodeSelector[sandbox] = kata"
        }

    def test_a_class_that_is_missing_is_named_once(self, load):
        loaded = load(asking(runtimeClassName="kata"), asking("q", runtimeClassName="kata"))
        (line,) = loaded.warnings
        assert line.startswith("Pod shop/p: spec.runtimeClassName: RuntimeClass 'kata' is not in the input")
        assert "`kubectl get runtimeclasses -o yaml`" in line
        assert loaded.refused == {}


CPU = {"type": "Container"}


class TestLimitRanges:
    @pytest.mark.parametrize(
        ("item", "given", "expected"),
        [
            # Of what is not given a default request is the default limit, and that is the maximum.
            ({"default": {"cpu": "2"}}, {}, ({"cpu": "2"}, {"cpu": "2"})),
            ({"max": {"cpu": "2"}}, {}, ({"cpu": "2"}, {"cpu": "2"})),
            ({"min": {"cpu": "1"}, "default": {"cpu": "2"}}, {}, ({"cpu": "2"}, {"cpu": "2"})),
            ({"min": {"cpu": "1"}}, {}, ({"cpu": "1"}, {})),
            ({"defaultRequest": {"cpu": "1"}}, {}, ({"cpu": "1"}, {})),
            (
                {"defaultRequest": {"cpu": "1"}, "default": {"cpu": "2"}},
                {"requests": {"cpu": "500m"}},
                ({"cpu": "500m"}, {"cpu": "2"}),
            ),
            # A request that is not given equals a limit that is, whatever the default.
            ({"defaultRequest": {"cpu": "1"}}, {"limits": {"cpu": "3"}}, ({"cpu": "3"}, {"cpu": "3"})),
            ({"type": "Pod", "max": {"cpu": "9"}}, {"limits": {"cpu": "1"}}, ({}, {"cpu": "1"})),
        ],
    )
    def test_they_fill_in_what_containers_do_not_state(self, load, item, given, expected):
        assert resources_of(load(limit_range({**CPU, **item}), asking(**given))) == expected

    def test_init_containers_get_defaults_too(self, load):
        given = asking(initContainers=[{"name": "i"}])
        (found,) = load(limit_range({**CPU, "defaultRequest": {"cpu": "1"}}), given).pods
        assert found.spec.init_containers[0].resources.requests == {"cpu": "1"}

    @pytest.mark.parametrize(
        ("item", "given", "refusal"),
        [
            (
                {"max": {"cpu": "1"}},
                {"limits": {"cpu": "2"}},
                "maximum cpu usage per Container is 1, but limit is 2",
            ),
            (
                {"min": {"cpu": "100m"}},
                {"requests": {"cpu": "50m"}},
                "minimum cpu usage per Container is 100m, but request is 50m",
            ),
            (
                {"type": "Pod", "max": {"memory": "1Gi"}},
                {"requests": {"memory": "2Gi"}, "limits": {"memory": "2Gi"}},
                "maximum memory usage per Pod is 1Gi, but limit is 2Gi",
            ),
            (
                {"type": "Pod", "max": {"cpu": "1"}},
                {},
                "maximum cpu usage per Pod is 1. No limit is specified",
            ),
            (
                {"maxLimitRequestRatio": {"cpu": "2"}},
                {"requests": {"cpu": "1"}, "limits": {"cpu": "3"}},
                "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000",
            ),
            (
                {"max": {"cpu": "1", "memory": "1Gi"}},
                {"limits": {"cpu": "2", "memory": "2Gi"}},
                (
                    "[maximum cpu usage per Container is 1, but limit is 2, "
                    "maximum memory usage per Container is 1Gi, but limit is 2Gi]"
                ),
            ),
            ({"max": {"cpu": "2"}}, {"limits": {"cpu": "2000m"}}, None),
        ],
    )
    def test_they_refuse_what_is_outside_of_them(self, load, item, given, refusal):
        loaded = load(limit_range({**CPU, **item}), asking(**given))
        assert loaded.refused == ({"shop/p": refusal} if refusal else {})

    def test_other_namespaces_are_none_of_their_concern(self, load):
        given = asking()
        given["metadata"]["namespace"] = "other"
        assert resources_of(load(limit_range({**CPU, "default": {"cpu": "1"}}), given)) == ({}, {})


class TestQuotas:
    def test_pods_beyond_one_wait_in_its_own_words(self, load):
        given = workload("Deployment", "web", replicas=4)
        container = {"name": "c", "resources": {"requests": {"cpu": "600m", "memory": "1Gi"}}}
        given["spec"]["template"]["spec"]["containers"] = [container]
        loaded = load(quota({"requests.cpu": "1500m", "requests.memory": "8Gi"}), given)
        assert len(loaded.pods) == 4
        assert loaded.refused == {
            f"shop/web-{at}": "exceeded quota: compute, requested: requests.cpu=600m, used: requests.cpu=1200m, "
            "limited: requests.cpu=1500m"
            for at in (2, 3)
        }

    @pytest.mark.parametrize(
        ("hard", "refusal"),
        [
            ({"pods": 1}, "exceeded quota: compute, requested: pods=1, used: pods=1, limited: pods=1"),
            (
                {"requests.nvidia.com/gpu": 2, "pods": 9},
                (
                    "exceeded quota: compute, requested: requests.nvidia.com/gpu=1, used: requests.nvidia.com/gpu=2, "
                    "limited: requests.nvidia.com/gpu=2"
                ),
            ),
            (
                {"memory": "3Gi", "cpu": "1"},
                (
                    "exceeded quota: compute, requested: cpu=500m,memory=2Gi, used: cpu=1,memory=2Gi, "
                    "limited: cpu=1,memory=3Gi"
                ),
            ),
            ({"limits.cpu": "4"}, "failed quota: compute: must specify limits.cpu for: c"),
            ({"services": 0, "count/jobs.batch": 0}, None),
        ],
    )
    def test_what_runs_is_used(self, load, hard, refusal):
        runs = asking("runs", requests={"cpu": "1", "memory": "2Gi", "nvidia.com/gpu": 2}, nodeName="n1")
        runs["status"] = {"phase": "Running"}
        new = asking("new", requests={"cpu": "500m", "memory": "2Gi", "nvidia.com/gpu": 1})
        loaded = load(node("n1"), quota(hard), new, runs)
        assert loaded.refused == ({"shop/new": refusal} if refusal else {})

    def test_what_its_status_says_counts_where_the_input_knows_less(self, load):
        loaded = load(quota({"pods": 5}, used={"pods": "5"}), asking())
        assert loaded.refused == {
            "shop/p": "exceeded quota: compute, requested: pods=1, used: pods=5, limited: pods=5"
        }

    def test_pods_that_have_ended_use_nothing(self, load):
        ended = asking("ended")
        ended["status"] = {"phase": "Succeeded"}
        assert load(quota({"pods": 1}), ended, asking()).refused == {}

    def test_it_counts_what_other_admission_adds(self, load):
        given = limit_range({**CPU, "defaultRequest": {"cpu": "2"}})
        assert load(given, quota({"requests.cpu": 1}), asking()).refused == {
            "shop/p": "exceeded quota: compute, requested: requests.cpu=2, used: requests.cpu=0, "
            "limited: requests.cpu=1"
        }

    @pytest.mark.parametrize(
        ("scope", "options", "covered"),
        [
            ({"scopes": ["BestEffort"]}, {}, True),
            ({"scopes": ["BestEffort"]}, {"requests": {"cpu": 1}}, False),
            ({"scopes": ["NotBestEffort"]}, {"requests": {"cpu": 1}}, True),
            ({"scopes": ["Terminating"]}, {"activeDeadlineSeconds": 5}, True),
            ({"scopes": ["Terminating"]}, {}, False),
            ({"scopes": ["NotTerminating"]}, {}, True),
            ({"scopes": ["PriorityClass"]}, {}, False),
            ({"scopes": ["CrossNamespacePodAffinity"]}, {}, False),
            ({"in": ["high"]}, {"priorityClassName": "high"}, True),
            ({"in": ["high"]}, {"priorityClassName": "low"}, False),
            ({"in": ["high"]}, {}, False),
        ],
    )
    def test_scopes(self, load, scope, options, covered):
        if values := scope.pop("in", None):
            requirement = {"scopeName": "PriorityClass", "operator": "In", "values": values}
            scope = {"scopeSelector": {"matchExpressions": [requirement]}}
        loaded = load(quota({"pods": 0}, **scope), asking(**options))
        assert bool(loaded.refused) == covered

    def test_what_is_not_looked_at_is_named(self, load):
        given = [
            quota({"requests.storage": "1Gi", "pods": 9}, name="a"),  # of claims, and so no pod's affair
            quota({"pods": 0}, name="b", scopes=["VolumeAttributesClass"]),
        ]
        loaded = load(*given, asking())
        assert loaded.refused == {}
        assert loaded.warnings == ("ResourceQuota shop/b: spec.scopes: VolumeAttributesClass is ignored",)


def claim(name="data", size="10Gi", storage_class=None, **metadata):
    spec = {"resources": {"requests": {"storage": size} if size else {}}, "storageClassName": storage_class}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, **NAMESPACE, **metadata},
        "spec": spec,
    }


def using(name, *claims, **options):
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
    return asking(name, volumes=volumes, **options)


FAST = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "fast", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    "provisioner": "disk.example.com",
}


def suspended(kind, name, pods, **more):
    """A suspended object in a queue, whose pods ask for one core each."""
    container = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    labels = {"kueue.x-k8s.io/queue-name": "users"}
    metadata = {"labels": labels, **more}
    if kind == "Job":
        template = {"restartPolicy": "Never", "containers": [container]}
        made = workload(kind, name, template=template, suspend=True, parallelism=pods, completions=pods)
        made["metadata"] |= metadata
        return made
    job = {"parallelism": pods, "completions": pods, "template": {"spec": {"containers": [container]}}}
    replicas = [{"name": each, "replicas": 1, "template": {"spec": job}} for each in ("a", "b")]
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": kind,
        "metadata": {"name": name, **NAMESPACE, **metadata},
        "spec": {"suspend": True, "replicatedJobs": replicas},
    }


THREE_CORES = {"requests.cpu": "3"}


class TestSuspendedWorkloads:
    """They are resumed as a whole, so what is refused as a whole takes nothing from others."""

    def test_one_that_a_quota_refuses_takes_nothing_from_the_next(self, load):
        loaded = load(quota(THREE_CORES), suspended("Job", "five", 5), suspended("Job", "two", 2))
        assert sorted(loaded.refused) == [f"shop/five-{at}" for at in range(5)]
        assert {*loaded.refused.values()} == {
            "exceeded quota: compute, requested: requests.cpu=1, used: requests.cpu=3, limited: requests.cpu=3"
        }

    def test_all_jobs_of_a_job_set_are_one_workload(self, load):
        loaded = load(quota(THREE_CORES), suspended("JobSet", "four", 2), suspended("JobSet", "two", 1))
        assert len(loaded.suspended) == 6
        assert len(loaded.refused) == 4
        assert all(uid.startswith("shop/four-") for uid in loaded.refused)

    def test_one_that_may_begin_with_fewer_does(self, load):
        fewer = {"annotations": {"kueue.x-k8s.io/job-min-parallelism": "2"}}
        loaded = load(quota(THREE_CORES), suspended("Job", "five", 5, **fewer))
        assert sorted(loaded.refused) == ["shop/five-3", "shop/five-4"]

    def test_pods_that_exist_stay_and_count(self, load):
        given = suspended("Job", "resumed", 5)
        given["spec"]["suspend"] = False
        loaded = load(quota(THREE_CORES), given)
        assert sorted(loaded.refused) == ["shop/resumed-3", "shop/resumed-4"]


class TestClaims:
    @pytest.mark.parametrize(
        ("size", "problem"),
        [
            ("500Mi", "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 500Mi"),
            ("1Gi", ""),
            ("20Gi", ""),
            ("21Gi", "maximum storage usage per PersistentVolumeClaim is 20Gi, but request is 21Gi"),
        ],
    )
    def test_limits(self, load, size, problem):
        limits = limit_range(
            {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "20Gi"}}
        )
        loaded = load(node("n1"), limits, claim(size=size), using("p", "data"), FAST)
        words = f'persistentvolumeclaims "data" is forbidden: {problem}'
        assert loaded.refused == ({"shop/p": words} if problem else {})
        assert loaded.warnings == ()

    @pytest.mark.parametrize(
        ("hard", "excess"),
        [
            ({"requests.storage": "15Gi"}, ("requests.storage", "10Gi", "10Gi", "15Gi")),
            ({"persistentvolumeclaims": 1}, ("persistentvolumeclaims", 1, 1, 1)),
            (
                {"fast.storageclass.storage.k8s.io/requests.storage": "15Gi"},
                ("fast.storageclass.storage.k8s.io/requests.storage", "10Gi", "10Gi", "15Gi"),
            ),
            ({"slow.storageclass.storage.k8s.io/requests.storage": "0"}, ()),
            ({"requests.storage": "20Gi", "count/persistentvolumeclaims": 2}, ()),
        ],
    )
    def test_quotas(self, load, hard, excess):
        """The first claim fits, the second may not; both have the default class."""
        given = [claim("data"), claim("logs"), using("p", "data"), using("q", "data", "logs"), FAST]
        loaded = load(node("n1"), quota(hard), *given)
        wanted = {}
        if excess:
            name, requested, used, limited = excess
            wanted["shop/q"] = (
                f'persistentvolumeclaims "logs" is forbidden: exceeded quota: compute, requested: {name}={requested}, '
                f"used: {name}={used}, limited: {name}={limited}"
            )
        assert loaded.refused == wanted
        assert loaded.warnings == ()

    def test_what_is_held_counts_first_and_is_never_refused(self, load):
        held = claim("held", size="30Gi", resourceVersion="7")
        loaded = load(
            quota({"requests.storage": "20Gi"}), claim("data", size="1Gi"), held, using("p", "data")
        )
        assert loaded.refused["shop/p"].endswith(
            "used: requests.storage=30Gi, limited: requests.storage=20Gi"
        )
        assert "shop/held" not in loaded.refused

    def test_claims_of_templates_and_ephemeral_volumes(self, load):
        template = {"metadata": {"name": "scratch"}, "spec": claim()["spec"]}
        volumes = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": claim()["spec"]}}}]
        sets = workload("StatefulSet", "web", replicas=3, volumeClaimTemplates=[template])
        loaded = load(quota({"persistentvolumeclaims": 2}), sets, asking("p", volumes=volumes), FAST)
        refused = {uid: reason.partition(" is forbidden")[0] for uid, reason in loaded.refused.items()}
        assert refused == {
            "shop/web-2": 'persistentvolumeclaims "scratch-web-2"',
            "shop/p": 'persistentvolumeclaims "p-scratch"',
        }

    def test_a_quota_with_a_scope_is_about_pods_alone(self, load):
        given = quota({"persistentvolumeclaims": 0}, scopes=["BestEffort"])
        assert load(given, claim(), using("p", "data"), FAST).refused == {}


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (quota({"requests.cpu": "much"}), "ResourceQuota shop/compute: spec.hard.requests.cpu: 'much' is no"),
        (
            limit_range({"type": "Container", "max": {"cpu": "-1"}}),
            "LimitRange shop/lr: spec.limits[0].max.cpu: '-1' is neg",
        ),
        (
            runtime_class("r", overhead={"podFixed": {"cpu": "x"}}),
            "RuntimeClass r: overhead.podFixed.cpu: 'x' is no",
        ),
    ],
)
def test_amounts_that_are_none_are_defects(load, given, field):
    with pytest.raises(ManifestError) as caught:
        load(given)
    (line,) = caught.value.lines
    assert field in line
