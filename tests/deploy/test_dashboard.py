"""``deploy/ui``: the page runs as an account that reads, with all of its rights and no other."""

from __future__ import annotations

import asyncio
import re

from poseidon.commands.ui import ui
from poseidon.testbed.api_server.measured_use import MetricsServer, ReportOptions
from poseidon.testbed.controllers.true_use import TrueUse
from poseidon.testbed.harness.child import Child
from poseidon.testbed.kubeconfig import write_kubeconfig
from poseidon.ui.server.access import Access, check_exposure
from tests.deploy.installation import installed
from tests.deploy.manifests import DEPLOY, everything, make_parent, of_kind, pod_of, rights_of
from tests.deploy.test_rights_in_use import DEFINITIONS, full_node
from tests.poseidon.ui.test_command import answer, ask_for_cures
from tests.support import preloaded
from tests.support.cluster import pod
from tests.support.time_limits import stretch
from tests.support.waiting import until

CONFIGURATION = (
    "{apiVersion: firmament.io/v1alpha1, kind: SchedulerConfiguration, "
    "queues: {source: [kueue], admission: poseidon}}"
)
"""Suspended Jobs are looked at only if the scheduler admits them."""
ACCOUNT = "system:serviceaccount:poseidon:dashboard"


async def test_its_account_may_do_what_it_does_and_nothing_more(tmp_path):
    async with installed(tmp_path, (".", "ui")) as made:
        made.create(DEFINITIONS)
        made.create([full_node("n1"), pod("huge", cpu="9")])
        made.cluster.serve_metrics(MetricsServer(TrueUse(made.operations.store), ReportOptions(60.0, 0.0)))
        await made.start()
        token = made.cluster.accounts.issue("poseidon", "dashboard", 600.0)[0]
        write_kubeconfig(tmp_path / "dashboard", made.cluster.url, token)
        words = [
            *("ui", "--kubeconfig", str(tmp_path / "dashboard"), "--listen", "127.0.0.1:0"),
            *("--firmament", made.stack.solver_address, "--cluster-name", tmp_path.name),
            *("--config", str(tmp_path / "page.yaml")),
        ]
        (tmp_path / "page.yaml").write_text(CONFIGURATION)
        page = Child("poseidon ui", "poseidon", words, tmp_path / "page.log", preloaded.fork)
        await page.start()
        try:
            base = await page.read_address()
            await asyncio.wait_for(_knows_all(base), stretch(60))
            found = await asyncio.to_thread(ask_for_cures, base, "default/huge")
            assert found["state"] == "done", found
            assert {each["kind"] for each in found["cures"]} & {"enlarge-node", "lower-request", "add-node"}
            await asyncio.to_thread(answer, base, "queues")  # which begins to look
            expected = rights_of("poseidon-dashboard", "ui")
            await until(lambda: _used(made) == expected | LEASES, within=60)
        finally:
            await page.stop(10)
        assert _used(made) == expected | LEASES


LEASES = {("coordination.k8s.io", "leases", "get")}


def _used(made):
    return {(each.group, each.resource, each.verb) for each in made.cluster.access.used[ACCOUNT]}


async def _knows_all(base):
    async def told() -> bool:
        overview = await asyncio.to_thread(answer, base, "overview")
        return overview["pods"]["pending"] == 1 and overview["solver"]["state"] == "connected"

    await until(told, within=60)


def test_it_reads_and_does_nothing_else():
    verbs = {verb for _, _, verb in rights_of("poseidon-dashboard", "ui")}
    assert verbs == {"list", "watch"}
    (role,) = of_kind("Role", "ui").values()
    assert [rule["verbs"] for rule in role["rules"]] == [["get"]]
    assert not any("secrets" in rule["resources"] for rule in role["rules"])


def test_it_runs_as_that_account_behind_a_token():
    (deployment,) = of_kind("Deployment", "ui").values()
    spec = pod_of(deployment)
    assert spec["serviceAccountName"] in of_kind("ServiceAccount", "ui")
    assert spec["schedulerName"] == "default-scheduler"
    assert spec["securityContext"]["runAsNonRoot"] is True
    (container,) = spec["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    name, *arguments = container["args"]
    assert name == ui.name
    options = ui.make_context(name, list(arguments), parent=make_parent()).params
    check_exposure(options["listen"][0], Access(token="x" * 48))
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    secret = volumes[mounts[str(options["token_file"].parent)]]["secret"]["secretName"]
    configured = volumes[mounts[str(options["config"].parent)]]["configMap"]["name"]
    assert configured in of_kind("ConfigMap")
    # Nobody's token is checked in: whoever installs it makes one, as the first lines say.
    made = re.search(
        r"create secret generic (\S+) --from-literal=token=", (DEPLOY / "ui" / "rbac.yaml").read_text()
    )
    assert made is not None
    assert made[1] == secret
    assert "Secret" not in {each["kind"] for each in everything("ui")}
    for probe in ("livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"] == {"path": "/healthz", "port": "http"}
    assert container["ports"] == [{"name": "http", "containerPort": options["listen"][1]}]


def test_it_reaches_what_it_asks():
    services = of_kind("Service", "ui")
    (container,) = pod_of(of_kind("Deployment", "ui")["dashboard"])["containers"]
    options = ui.make_context("ui", list(container["args"][1:]), parent=make_parent()).params
    for url, program in ((options["bridge"], "poseidon"), (options["solver"], "firmament")):
        host, port = url.removeprefix("http://").removesuffix("/metrics").split(":")
        spec = services[host]["spec"]
        assert spec["selector"] == {"app.kubernetes.io/name": program}
        assert spec["ports"][0]["port"] == int(port)
    policy = of_kind("NetworkPolicy", "ui")["firmament-dashboard"]["spec"]
    labels = of_kind("Deployment", "ui")["dashboard"]["spec"]["template"]["metadata"]["labels"]
    allowed = policy["ingress"][0]["from"][0]["podSelector"]["matchLabels"]
    assert allowed.items() <= labels.items()
    assert policy["podSelector"] == of_kind("NetworkPolicy")["firmament"]["spec"]["podSelector"]
