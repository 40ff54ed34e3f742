"""Suspended Jobs in queues: what waits for quota is told so, for pods that do not exist yet as well."""

from __future__ import annotations

from pathlib import Path

import yaml

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "17-queues"
CONFIG = ("--config", EXAMPLE / "config.yaml")


def test_a_suspended_job_that_a_resource_quota_refuses(run, tmp_path):
    jobs = [each for each in yaml.safe_load_all((EXAMPLE / "jobs.yaml").read_text()) if each]
    for each in jobs:
        each["spec"]["suspend"] = True
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few", "namespace": "a"}}
    (tmp_path / "jobs.yaml").write_text(
        yaml.safe_dump_all([*jobs, {**quota, "spec": {"hard": {"pods": "5"}}}])
    )
    names = (EXAMPLE / "nodes.yaml", EXAMPLE / "cohort.yaml", tmp_path / "jobs.yaml")
    files = [word for name in names for word in ("-f", name)]
    told = run("explain", *CONFIG, *files, "--workload", "a/train").stdout
    why = "exceeded quota: few, requested: pods=1, used: pods=5, limited: pods=5"
    assert f"Workload a/Job/train, whose pods would be refused, goes on waiting with 6 pods: {why}." in told


def test_a_suspended_job_that_waits_for_quota(run, tmp_path):
    jobs = [each for each in yaml.safe_load_all((EXAMPLE / "jobs.yaml").read_text()) if each]
    for each in jobs:
        each["spec"]["suspend"] = True
    (tmp_path / "jobs.yaml").write_text(yaml.safe_dump_all(jobs))
    names = (EXAMPLE / "nodes.yaml", EXAMPLE / "two-queues.yaml", tmp_path / "jobs.yaml")
    files = [word for name in names for word in ("-f", name)]
    why = "had room for some of them, but not for all at once (because of the quota of ClusterQueue/team-a)"

    made = run("plan", *CONFIG, *files, "-o", "json").json
    pods = {each["pod"]: each["reason"] for each in made["pending"]}
    assert len(pods) == 6
    assert len(made["bindings"]) == 2
    assert all(why in reason for reason in pods.values())

    told = run("explain", *CONFIG, *files, "--pod", min(pods), "-o", "json").json
    assert told["outcome"] == "pending"
    assert why in told["reason"]
    assert any("gang of 4 pods instead of 6" in each["text"] for each in told["cures"])
    assert run("audit", *CONFIG, *files, "-o", "json").json["pending"]

    unread = run("explain", *files, "--pod", min(pods))
    assert unread.status != 0
    assert (
        "would be created by a suspended object; to include it, set queues.source in the configuration"
        in unread.stderr
    )

    roomy = run("plan", *CONFIG, *files, "--add-nodes", "2", "-o", "json").json
    assert {each["pod"] for each in roomy["pending"]} == pods.keys()
