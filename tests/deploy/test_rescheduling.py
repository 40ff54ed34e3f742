"""``deploy/rescheduling``: the account that it makes moves pods, with all of its rights and no other."""

from __future__ import annotations

import asyncio
import json
from functools import partial

from click.testing import CliRunner

from poseidon.cli import main
from poseidon.commands.reschedule import reschedule
from poseidon.testbed.controllers.controller_loop import drive
from poseidon.testbed.controllers.kubelet import KubeletSimulation
from poseidon.testbed.controllers.replica_controllers import PodReplacement
from poseidon.testbed.kubeconfig import write_kubeconfig
from poseidon.testbed.objects.resources import PODS
from tests.deploy.installation import installed
from tests.deploy.manifests import everything, make_parent, of_kind, rights_of
from tests.deploy.test_rights_in_use import DEFINITIONS, full_node
from tests.poseidon.rescheduling.test_end_to_end import owned
from tests.support.waiting import until

ACCOUNT = "system:serviceaccount:poseidon:rescheduler"


async def test_its_account_may_do_what_it_does_and_nothing_more(tmp_path):
    async with installed(
        tmp_path, (".", "rescheduling"), {"moves": {"keepPlaces": True}}, graceful=True
    ) as made:
        made.create(DEFINITIONS)
        made.create([full_node("n1"), full_node("n2")])
        allowing = {"name": "shop", "labels": {"firmament.io/reschedule": "allow"}}
        made.create([{"apiVersion": "v1", "kind": "Namespace", "metadata": allowing}])
        for index in range(4):
            pod = owned(f"p{index}", "n1", f"web{index}")
            pod["metadata"]["namespace"] = "shop"
            made.create([pod])
        store = made.operations.store
        replacement = PodReplacement(store, partial(made.operations.create, PODS))
        running = [
            asyncio.create_task(drive(KubeletSimulation(store))),
            asyncio.create_task(drive(replacement)),
        ]
        try:
            await made.start()
            token = made.cluster.accounts.issue("poseidon", "rescheduler", 600.0)[0]
            write_kubeconfig(tmp_path / "rescheduler", made.cluster.url, token)
            words = ["reschedule", "--kubeconfig", str(tmp_path / "rescheduler"), "--move-cost=1", "-ojson"]
            result = await asyncio.to_thread(CliRunner().invoke, main, words)
            assert result.exit_code == 0, result.output
            freeing = await asyncio.to_thread(CliRunner().invoke, main, [*words, "--objective=free-nodes"])
            assert len(json.loads(freeing.stdout)["freed"]) == 1, freeing.output
        finally:
            for each in running:
                each.cancel()
        assert "warning" not in result.stderr
        outcomes = json.loads(result.stdout)["outcomes"]
        assert [each["result"] for each in outcomes] == ["moved", "moved"]
        await until(lambda: len(set(made.nodes_of().values())) == 1)
        used = {(each.group, each.resource, each.verb) for each in made.cluster.access.used[ACCOUNT]}
        assert used == rights_of("poseidon-rescheduler", "rescheduling")


def test_the_job_runs_as_that_account_with_the_configuration_of_both_programs():
    (job,) = of_kind("CronJob", "rescheduling").values()
    pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] in of_kind("ServiceAccount", "rescheduling")
    assert job["spec"]["concurrencyPolicy"] == "Forbid"
    configured = [each["configMap"]["name"] for each in pod["volumes"] if "configMap" in each]
    assert configured == list(of_kind("ConfigMap"))
    name, *arguments = pod["containers"][0]["args"]
    assert name == reschedule.name
    assert reschedule.make_context(name, arguments, parent=make_parent()).params["most_moves"] == 50
    assert {each["kind"] for each in everything("rescheduling")} == {
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "CronJob",
    }
