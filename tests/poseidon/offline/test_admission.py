"""Pods that the API server would not take wait, and their plan and explanation say why."""

from __future__ import annotations

from tests.poseidon.offline.objects import node, pod

QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "few", "namespace": "shop"},
    "spec": {"hard": {"pods": 1}},
}
REASON = "exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1"


def test_a_pod_beyond_a_quota_waits_with_its_words(run, write):
    answer = run("plan", "-f", write(node("n1"), QUOTA, pod("a"), pod("b")), "-o", "json").json
    assert [each["pod"] for each in answer["bindings"]] == ["shop/a"]
    assert answer["pending"] == [{"pod": "shop/b", "reason": REASON}]


def test_it_is_explained_as_if_it_were_there_and_that_it_is_not(run, write):
    outcome = run("explain", "-f", write(node("n1"), QUOTA, pod("a"), pod("b")), "--pod", "shop/b")
    assert outcome.status == 0
    assert REASON in outcome.stdout
    assert "n1" in outcome.stdout


def test_an_audit_names_it(run, write):
    answer = run("audit", "-f", write(node("n1"), QUOTA, pod("a"), pod("b")), "-o", "json").json
    assert REASON in str(answer)
