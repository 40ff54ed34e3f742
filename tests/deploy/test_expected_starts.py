"""``deploy/expected-starts``: its account tells pods when they start, with all of its rights and no other."""

from __future__ import annotations

import asyncio
import json

from click.testing import CliRunner

from poseidon.cli import main
from poseidon.commands.tell_starts import tell_starts
from poseidon.kube.api.metadata import seconds
from poseidon.simulate.forecasts.past_forecasts import FIRST_EXPECTED
from poseidon.simulate.start_annotations import ASKS, EXPECTED
from poseidon.testbed.kubeconfig import write_kubeconfig
from tests.deploy.installation import installed
from tests.deploy.manifests import everything, make_parent, of_kind, rights_of
from tests.deploy.test_rights_in_use import DEFINITIONS, full_node
from tests.support.cluster import pod

ACCOUNT = "system:serviceaccount:poseidon:start-teller"


def waiting(name, *, asks=True, cpu="2"):
    made = pod(name, cpu=cpu)
    made["metadata"]["annotations"] = {ASKS: "true"} if asks else {}
    return made


EARLIER = '{"computed":"2026-01-01T00:00:00Z","median":null,"earliest":null,"latest":null,"lookedAhead":60}'


def running(name, for_seconds):
    made = pod(name, cpu="4", nodeName="n1", activeDeadlineSeconds=for_seconds)
    made["status"] = {"phase": "Running"}
    return made


def answers_in(made, annotation=EXPECTED):
    """Return the expected start that each pod has been told, by name."""
    notes = {
        each["metadata"]["name"]: each["metadata"].get("annotations", {}) for each in made.listed("pods")
    }
    return {name: json.loads(each[annotation]) for name, each in notes.items() if annotation in each}


async def test_its_account_tells_those_that_ask_and_may_do_nothing_more(tmp_path):
    async with installed(tmp_path, (".", "expected-starts")) as made:
        made.create(DEFINITIONS)
        pods = [
            waiting("told"),
            waiting("large", cpu="64"),
            waiting("quiet", asks=False),
            running("first", 600),
        ]
        pods[1]["metadata"]["annotations"][FIRST_EXPECTED] = EARLIER
        made.create([full_node("n1"), *pods])
        await made.cluster.start()
        token = made.cluster.accounts.issue("poseidon", "start-teller", 600.0)[0]
        write_kubeconfig(tmp_path / "teller", made.cluster.url, token)
        words = ["tell-starts", "--kubeconfig", str(tmp_path / "teller"), "-ojson"]
        tried = await asyncio.to_thread(CliRunner().invoke, main, [*words, "--dry-run"])
        assert tried.exit_code == 0, tried.output
        assert not answers_in(made)
        result = await asyncio.to_thread(CliRunner().invoke, main, words)
        assert result.exit_code == 0, result.output
        assert "warning" not in result.stderr
        assert [each["pod"] for each in json.loads(result.stdout)["expectedStarts"]] == [
            "default/large",
            "default/told",
        ]
        answers = answers_in(made)
        assert answers.keys() == {"told", "large"}
        told = answers["told"]
        computed, earliest, median, latest = (
            seconds(told[name]) or 0.0 for name in ("computed", "earliest", "median", "latest")
        )
        assert computed < earliest <= median <= latest < computed + 700
        assert answers["large"]["median"] is answers["large"]["earliest"] is None
        assert answers["large"]["lookedAhead"] > 600
        assert answers_in(made, FIRST_EXPECTED) == {"told": told, "large": json.loads(EARLIER)}, (
            "the first stays"
        )
        used = {(each.group, each.resource, each.verb) for each in made.cluster.access.used[ACCOUNT]}
        assert used == rights_of("poseidon-start-teller", "expected-starts")


async def test_nothing_is_simulated_or_written_if_no_pod_asks(tmp_path):
    async with installed(tmp_path, ()) as made:
        made.create([full_node("n1"), waiting("quiet", asks=False)])
        await made.cluster.start()
        write_kubeconfig(tmp_path / "all", made.cluster.url, "of the administrator")
        words = ["tell-starts", "--kubeconfig", str(tmp_path / "all")]
        result = await asyncio.to_thread(CliRunner().invoke, main, words)
        assert result.exit_code == 0, result.output
        assert (
            result.stdout == "no waiting pod asks; pods ask by the annotation firmament.io/tell-start=true\n"
        )


def test_the_job_runs_as_that_account_with_the_configuration_of_both_programs():
    (job,) = of_kind("CronJob", "expected-starts").values()
    found = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert found["serviceAccountName"] in of_kind("ServiceAccount", "expected-starts")
    assert job["spec"]["concurrencyPolicy"] == "Forbid"
    configured = [each["configMap"]["name"] for each in found["volumes"] if "configMap" in each]
    assert configured == list(of_kind("ConfigMap"))
    name, *arguments = found["containers"][0]["args"]
    assert name == tell_starts.name
    assert tell_starts.make_context(name, arguments, parent=make_parent()).params["every"] is None
    assert {each["kind"] for each in everything("expected-starts")} == {
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "CronJob",
    }
