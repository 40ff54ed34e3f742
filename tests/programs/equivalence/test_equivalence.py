"""A plan over manifests decides as a bridge that reads the same objects from an API server."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from poseidon.embedding import load_configuration
from poseidon.manifests.loader import Manifests, load_manifests
from poseidon.offline.cluster import build_offline_cluster
from poseidon.offline.plan import Plan, make_plan
from poseidon.pods.scheduling_gates import GATED_REASON
from protos.configuration.file import ConfigurationError
from tests.programs.equivalence.api_side import ApiSide, Object, objects_of
from tests.programs.equivalence.clusters import NOW, small_cluster
from tests.programs.equivalence.told import told
from tests.programs.equivalence.watched import WatchedCluster
from tests.support.effort import examples

EXAMPLES = Path(__file__).parents[3] / "examples"
BLOCKS = 10
SEEDS = examples(500, slow=True)
OURS = frozenset({"poseidon"})
LOADS = EXAMPLES / "06-load-aware" / "config.yaml"


def inputs() -> list[Any]:
    """Each folder of examples, with each of its configurations and without any; rules by themselves besides.

    Of each folder as a whole all is tried; a rule with a configuration is in one of those, too.
    """
    found = []
    for folder in sorted(each for each in EXAMPLES.iterdir() if each.is_dir()):
        files = sorted(folder.rglob("*.yaml"))
        configurations = [each for each in files if "SchedulerConfiguration" in each.read_text()]
        usable = [each for each in configurations if is_usable(each)]
        # What is suspended has no pods in a cluster; plans show what it would come to.
        held = [each for each in files if "suspend: true" in each.read_text()]
        manifests = [each for each in files if each not in (*configurations, *held)]
        if not manifests:
            continue
        nodes = [each for each in manifests if each.stem in ("nodes", "cluster")]
        parts = [[*nodes, each] for each in manifests if each not in nodes]
        for paths in (manifests, *parts):
            for configuration in (None, *usable):
                name = f"{folder.name}-{paths[-1].stem}-{configuration.stem if configuration else 'default'}"
                marks = [pytest.mark.full] if configuration and paths is not manifests else []
                found.append(pytest.param(paths, configuration, id=name, marks=marks))
    return found


def is_usable(configuration: Path) -> bool:
    """Whether all models of a configuration are installed."""
    try:
        load_configuration(configuration)
    except ConfigurationError:
        return False
    return True


@pytest.mark.parametrize(("paths", "configuration"), inputs())
def test_examples(paths: list[Path], configuration: Path | None):
    try:
        manifests = load_manifests(map(str, paths))
    except ValueError:
        pytest.skip("the files are no input together")
    assert faults(manifests, objects_of(manifests), configuration, frozenset(), Random(1)) == []


@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_clusters(block: int, tmp_path: Path):
    found = []
    for seed in range(block, SEEDS, BLOCKS):
        objects = small_cluster(seed)
        path = tmp_path / "cluster.json"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": read_from_server(objects)}))
        manifests = load_manifests([str(path)])
        names = OURS if seed % 3 else frozenset()
        config = LOADS if seed % 4 == 1 else None
        draw = Random(f"events {seed}")
        found += [f"{seed}: {each}" for each in faults(manifests, objects, config, names, draw)]
    assert found == []


def read_from_server(objects: list[Object]) -> list[Object]:
    """The objects as an API server shows them; what a file of one's own lacks, an offline command supplies."""
    return [{**each, "metadata": {**each["metadata"], "resourceVersion": "1"}} for each in objects]


def complete(objects: list[Object]) -> list[Object]:
    """The objects, with those that a cluster cannot lack: namespaces of pods, and DaemonSets if all were left out."""
    pods = [each for each in objects if each["kind"] == "Pod"]
    known = {each["metadata"]["name"] for each in objects if each["kind"] == "Namespace"}
    more = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        for name in sorted({each["metadata"]["namespace"] for each in pods} - known)
    ]
    if not any(each["kind"] == "DaemonSet" for each in objects):
        more += _named_daemon_sets(pods)
    return [*more, *objects]


def _named_daemon_sets(pods: list[Object]) -> list[Object]:
    found = {}
    for pod in pods:
        for owner in pod["metadata"].get("ownerReferences", ()):
            if owner["kind"] == "DaemonSet":
                name = {"name": owner["name"], "namespace": pod["metadata"]["namespace"]}
                metadata = {**name, "uid": owner.get("uid") or owner["name"]}
                found[str(name)] = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata}
    return [*found.values()]


def faults(
    manifests: Manifests, objects: list[Object], config: Path | None, names: frozenset[str], draw: Random
) -> list[str]:
    """What differs between a plan and a bridge, and between a bridge that lists and one that hears of all by and by."""
    configuration, objects = load_configuration(config), complete(objects)
    # Of files nobody else admits pods to queues.
    queues = configuration.queues.model_copy(update={"admission": "poseidon"})
    configuration = configuration.model_copy(update={"queues": queues})
    listed = WatchedCluster(ApiSide(objects, NOW), configuration, NOW, names or frozenset({"*"}))
    listed.list_all()
    offline = build_offline_cluster(manifests, configuration, NOW, scheduler_names=names)
    ours, theirs = told(offline.state.snapshot()), told(listed.state.snapshot())
    found = [f"told otherwise: {each}" for each in differences(ours, theirs)]
    heard = WatchedCluster(ApiSide((), NOW), configuration, NOW, names or frozenset({"*"}))
    hear(heard, ApiSide(objects, NOW), draw)
    found += [f"heard otherwise: {each}" for each in differences(theirs, told(heard.state.snapshot()))]
    listed.schedule()
    found += outcomes(make_plan(manifests, configuration, NOW, names), listed)
    found += [f"set aside: {each}" for each in (*listed.quarantine, *heard.quarantine)]
    return found


def hear(heard: WatchedCluster, api: ApiSide, draw: Random) -> None:
    """Tell of everything by watches, in any order; some objects come twice, some had a namesake before them."""
    asyncio.run(_sync(heard))
    heard.api = api
    lines: list[tuple[str, Object]] = []
    first: list[tuple[str, Object]] = []
    for collection in api.collections.values():
        for each in collection.values():
            # Which class a pod has is settled when it is created: priority classes are known then.
            (first if each["kind"] == "PriorityClass" else lines).append(("ADDED", each))
    draw.shuffle(lines)
    # Who has a part in a topology group with too many pods is settled among those that are there when it is described.
    lines.sort(key=lambda line: line[1]["kind"] == "ConfigMap")
    for word, each in (*first, *lines):
        if draw.random() < 0.1 and each["kind"] != "PriorityClass":
            former = {**each, "metadata": {**each["metadata"], "uid": "former"}}
            heard.show("ADDED", former)
            heard.show("DELETED", former)
        heard.show(word, each)
        if draw.random() < 0.1:
            heard.show("MODIFIED", each)
    asyncio.run(heard.look_elsewhere())
    heard.state.expire()
    heard.state.gangs.begin()


async def _sync(heard: WatchedCluster) -> None:
    for each in heard.reflectors.values():
        await each._list()


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """What of two solvers' knowledge is not the same, uids apart."""
    one, other = ({plain(key): plain(each) for key, each in found.items()} for found in (ours, theirs))
    return [
        f"{key}: {one.get(key)} | {other.get(key)}"
        for key in sorted({*one, *other})
        if one.get(key) != other.get(key)
    ]


def plain(value: Any) -> str:
    """Something as text, with the uids of pods as plans have them."""
    return str(value).replace("uid-", "")


def outcomes(plan: Plan, listed: WatchedCluster) -> list[str]:
    """What differs in who is bound where, who has to go, and why pods wait."""
    found = []
    bound = {each.pod: each.node for each in plan.bindings}
    if bound != listed.bound:
        found.append(f"bound otherwise: {sorted(bound.items() ^ listed.bound.items())}")
    evicted = {each.pod for each in plan.preemptions}
    if evicted != listed.evicted.keys():
        found.append(f"evicted otherwise: {evicted ^ listed.evicted.keys()}")
    if plan.nodes:
        pending = {each.pod: each.reason for each in plan.pending if each.reason != GATED_REASON}
        all_said = [each for each in (listed.messages, listed.before_claims) if each is not None]
        for pod, why in pending.items():
            said = [plain(each.get(pod, "")) for each in all_said]
            if plain(why) not in said:
                found.append(f"reason of {pod}: {why!r} | {said!r}")
    return found
