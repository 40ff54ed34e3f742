"""Every setting of the bridge arrives: with another value, the object that heeds it holds something else.

A bridge is put together from a file as ``poseidon run`` does it, and all that its objects hold is compared with what
they hold by default.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from random import Random
from typing import Any, get_args

import pytest
import yaml
from prometheus_client import CollectorRegistry
from pydantic import BaseModel
from pydantic.alias_generators import to_snake

from poseidon.bridge.options import BridgeOptions
from poseidon.bridge.runner import Bridge, BridgeProcess
from poseidon.commands.run import _options
from poseidon.commands.shared.connection import Solvers
from poseidon.configuration.document import BridgeConfiguration, load
from poseidon.kube.client.errors import SettingsError
from poseidon.kube.environment import Environment
from poseidon.leadership.options import LeaderElectionOptions
from protos.configuration.sections import Document
from tests.documentation.markdown import ROOT
from tests.support.needs import words_of

NOWHERE = Environment(
    None,  # type: ignore[arg-type]  # nothing is asked for
    random=Random(1),
    clock=lambda: 0.0,
    wall=lambda: 0.0,
)
HEADER = {"apiVersion": "firmament.io/v1alpha1", "kind": "SchedulerConfiguration"}
PROMETHEUS = {"url": "http://p", "queries": [{"resource": "cpu", "query": "a"}]}
KUEUE = {"queues": {"source": ["kueue"]}}
LIST = {"defaultingType": "List"}
CONSTRAINT = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}


def prometheus(**more):
    return {"utilisation": {"prometheus": {**PROMETHEUS, **more}}}


def queried(**more):
    return prometheus(queries=[*PROMETHEUS["queries"], {"resource": "cpu", "query": "b", **more}])


def server(**more):
    return {"utilisation": {"metricsServer": {"mode": "auto", **more}}}


def overlay(name, **args):
    return {"costModels": [{"name": name, "args": args}]}


def profile(scheduler, name, **args):
    return {"profiles": [{"schedulerName": scheduler, **overlay(name, **args)}]}


ROWS: tuple[tuple[str, dict[str, Any], dict[str, Any], str], ...] = (
    ("schedulerNames", {}, {"schedulerNames": ["b"]}, "WatchedPods"),
    ("costModels.name", overlay("x", nodeLabels=["z"]), overlay("topology", nodeLabels=["z"]), "ClusterTrees"),
    ("costModels.args", {}, overlay("network_overhead", namespaces=["a"]), "NetworkState"),
    ("costModels.args", {}, overlay("network_overhead", percentile="p50"), "Topologies"),
    ("costModels.args", {}, overlay("topology", topologyConfigMapNameSpace="a"), "ClusterTrees"),
    ("profiles.schedulerName", {}, profile("poseidon", "topology", nodeLabels=["z"]), "ClusterTrees"),
    ("profiles.costModels.name", profile("poseidon", "x", nodeLabels=["z"]),
     profile("poseidon", "topology", nodeLabels=["z"]), "ClusterTrees"),
    ("profiles.costModels.args", {}, profile("poseidon", "network_overhead", namespaces=["a"]), "NetworkState"),
    ("devices.bindTimeout", {}, {"devices": {"bindTimeout": "5m"}}, "DeviceState"),
    ("devices.disabledFeatures", {}, {"devices": {"disabledFeatures": ["DRAAdminAccess"]}}, "dict"),
    ("devices.sharing", {}, {"devices": {"sharing": ["hami"]}}, "SharedGpus"),
    ("queues.source", {}, {"queues": {"source": ["volcano"]}}, "KnownQueues"),
    ("queues.admission", KUEUE, {"queues": {"source": "kueue", "admission": "poseidon"}}, "KnownQueues"),
    ("queues.fairSharing", KUEUE, {"queues": {"source": "kueue", "fairSharing": True}}, "KueueQueues"),
    ("queues.preemptionStrategies", KUEUE,
     {"queues": {"source": "kueue", "preemptionStrategies": ["LessThanInitialShare"]}}, "KueueQueues"),
    ("queues.podSetFlavors", KUEUE, {"queues": {"source": "kueue", "podSetFlavors": "Any"}}, "KueueQueues"),
    ("utilisation.nodeMetric", {}, {"utilisation": {"nodeMetric": "off"}}, "Utilisation"),
    ("utilisation.metricsServer.mode", {}, server(), "Poller"),
    ("utilisation.metricsServer.interval", server(), server(interval=7), "Poller"),
    ("utilisation.metricsServer.pods", server(), server(pods=False), "MetricsServerSource"),
    ("utilisation.prometheus.url", prometheus(), prometheus(url="http://q"), "ConnectionSettings"),
    ("utilisation.prometheus.queries.query", queried(), queried(query="c"), "PrometheusSource"),
    ("utilisation.prometheus.queries.resource", queried(), queried(resource="memory"), "PrometheusSource"),
    ("utilisation.prometheus.queries.of", queried(), queried(of="pods"), "PrometheusSource"),
    ("utilisation.prometheus.queries.statistic", queried(statistic="avg", window=5),
     queried(statistic="p95", window=5), "PrometheusSource"),
    ("utilisation.prometheus.queries.window", queried(statistic="avg", window=5),
     queried(statistic="avg", window=6), "PrometheusSource"),
    ("utilisation.prometheus.interval", prometheus(), prometheus(interval=7), "Poller"),
    ("utilisation.prometheus.timeout", prometheus(), prometheus(timeout=7), "ClientTimeout"),
    ("utilisation.prometheus.tokenFile", prometheus(tokenFile="/a"), prometheus(tokenFile="/b"),
     "PosixPath"),
    ("utilisation.prometheus.nodeLabel", prometheus(), prometheus(nodeLabel="a"), "PrometheusSource"),
    ("utilisation.prometheus.namespaceLabel", prometheus(), prometheus(namespaceLabel="a"), "PrometheusSource"),
    ("utilisation.prometheus.podLabel", prometheus(), prometheus(podLabel="a"), "PrometheusSource"),
    ("recovery.recreateBarePods", {}, {"recovery": {"recreateBarePods": True}}, "RefusedPods"),
    ("recovery.maxRecreations", {}, {"recovery": {"maxRecreations": 2}}, "RefusedPods"),
    ("recovery.deleteReplacedPods", {}, {"recovery": {"deleteReplacedPods": True}}, "RefusedPods"),
    ("announcements.countsAfter", {}, {"announcements": {"countsAfter": 7}}, "PendingReasons"),
    ("stream.silenceTimeout", {}, {"stream": {"silenceTimeout": 7}}, "Session"),
    ("watch.reconcilePeriod", {}, {"watch": {"reconcilePeriod": 7}}, "Environment"),
    ("volumes.capacityScoring", {}, {"volumes": {"capacityScoring": True}}, "StorageCapacities"),
    ("volumes.bindTimeout", {}, {"volumes": {"bindTimeout": 7}}, "VolumeBindings"),
    ("network.controllers", {}, {"network": {"controllers": "never"}}, "NetworkController"),
    ("network.percentile", {}, {"network": {"percentile": "p99"}}, "Topologies"),
    ("network.bandwidthAnnotations", {}, {"network": {"bandwidthAnnotations": True}}, "Visibility"),
    ("gangs.timeout", {}, {"gangs": {"timeout": 7}}, "GangsCompleteBeforeRestart"),
    ("gangs.keepRoom", {}, {"gangs": {"keepRoom": 7}}, "RestartRoomRecords"),
    ("gangs.keepRoomAtMost", {}, {"gangs": {"keepRoomAtMost": 7}}, "RestartRoomRecords"),
    ("evictions.perSecond", {}, {"evictions": {"perSecond": 7}}, "EvictionRate"),
    ("evictions.burst", {}, {"evictions": {"burst": 7}}, "EvictionRate"),
    ("moves.keepPlaces", {}, {"moves": {"keepPlaces": True}}, "KeptPlaces"),
    ("moves.most", {"moves": {"keepPlaces": True}}, {"moves": {"keepPlaces": True, "most": 7}}, "KeptPlaces"),
    ("podTopologySpread.defaultingType", {}, {"podTopologySpread": LIST}, "Spreading"),
    ("podTopologySpread.defaultConstraints", {"podTopologySpread": LIST},
     {"podTopologySpread": {**LIST, "defaultConstraints": [CONSTRAINT]}}, "Spreading"),
)  # fmt: skip
"""A setting, two documents that differ in it alone, and the class of the object that heeds it."""

ELSEWHERE = {
    **{
        f"leaderElection.{each.alias}": "of the process, not of its bridge: tests/poseidon/leadership"
        for each in LeaderElectionOptions.model_fields.values()
    },
    "utilisation.prometheus.caFile": "a test of its own: it is read at once",
    "costModels.weight": "the solver's",
    "profiles.costModels.weight": "the solver's",
    **{f"profiles.policy.{each}": "the solver's" for each in ("name", "weight", "args")},
    "gangs.evictFailed": "the solver's",
    "podTopologySpread.defaultConstraints.maxSkew": "the solver's",
    "podTopologySpread.defaultConstraints.topologyKey": "the solver's",
    "podTopologySpread.defaultConstraints.whenUnsatisfiable": "has one value",
}


def leaves(model: type[BaseModel], path: str = "") -> Iterator[str]:
    """Every setting of a part, by its path in the document."""
    for field in model.model_fields.values():
        inner = next(sections(field.annotation), None)
        here = f"{path}{field.alias}"
        if inner is not None:
            yield from leaves(inner, f"{here}.")
        elif here not in HEADER:
            yield here


def sections(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for each in get_args(annotation):
        yield from sections(each)


def held(root: object) -> set[tuple[str, str, str]]:
    """Class, attribute and value of all that a program's objects hold; of options for the whole, nothing."""
    found, seen, left = set(), set(), [root]
    while left:
        each = left.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        for name, value in parts(each):
            if isinstance(value, (BaseModel, str, int, float)) or value is None:
                found.add((type(each).__name__, name, repr(value)))
            elif isinstance(value, (tuple, frozenset)) and all(isinstance(item, str) for item in value):
                found.add((type(each).__name__, name, repr(sorted(value))))
            elif not isinstance(value, type):
                found.add((type(each).__name__, name, type(value).__name__))
                left.append(value)
    return found


def parts(each: object) -> Iterator[tuple[str, object]]:
    if isinstance(each, (BridgeOptions, Document)):
        return
    if isinstance(each, (list, tuple, set, frozenset)):
        yield from ((str(index), value) for index, value in enumerate(each))
    elif isinstance(each, Mapping):
        yield from ((str(key), value) for key, value in each.items())
    elif isinstance(each, types.MethodType):
        yield "self", each.__self__
    elif isinstance(each, types.FunctionType):
        yield from ((str(index), cell.cell_contents) for index, cell in enumerate(each.__closure__ or ()))
    elif type(each).__module__.partition(".")[0] in ("poseidon", "aiohttp"):
        yield from vars(each).items() if hasattr(each, "__dict__") else ()
        names = [name for kind in type(each).__mro__ for name in getattr(kind, "__slots__", ())]
        yield from ((name, getattr(each, name)) for name in names if hasattr(each, name))
    elif hasattr(each, "__fspath__"):
        yield "path", str(each)


async def holdings(folder, document) -> set[tuple[str, str, str]]:
    """What the objects of a bridge hold that is configured like this, those of its sources among them."""
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump({**HEADER, **document}))
    options = _options(load(path), Solvers(("127.0.0.1:1",), "c"), dry_run=False)
    bridge = Bridge(
        BridgeProcess(NOWHERE),
        replace(options, fencing=1, needs=words_of("network_overhead", "topology")),
        CollectorRegistry(),
    )
    async with AsyncExitStack() as stack:
        return held([bridge, await bridge._watching._utilisation._pollers(stack)])


@pytest.mark.parametrize(("setting", "before", "after", "user"), ROWS, ids=[row[0] for row in ROWS])
async def test_a_setting_reaches_the_object_that_heeds_it(tmp_path, setting, before, after, user):
    changed = await holdings(tmp_path, before) ^ await holdings(tmp_path, after)
    assert user in {holder for holder, _, _ in changed}, sorted(changed)


def test_every_setting_is_followed():
    followed = {row[0] for row in ROWS} | set(ELSEWHERE)
    assert {leaf for leaf in leaves(BridgeConfiguration) if leaf not in followed} == set()


def test_every_setting_is_read_by_name():
    """Sections are handed on whole, so that holding one does not show that all of it is heeded."""
    files = [*(ROOT / "poseidon").rglob("*.py"), *(ROOT / "protos/configuration").glob("*.py")]
    source = "\n".join(file.read_text() for file in files)
    names = {path.rpartition(".")[2] for path in leaves(BridgeConfiguration) if path not in ELSEWHERE}
    unread = [name for name in names if not re.search(rf"\.{to_snake(name)}\b", source)]
    assert unread == []


async def test_certificates_are_read(tmp_path):
    with pytest.raises(SettingsError, match=r"caFile: /nowhere: cannot be used"):
        await holdings(tmp_path, prometheus(url="https://p", caFile="/nowhere"))


async def test_what_is_read_and_thrown_away_is_found(tmp_path):
    """No object of the bridge heeds this one, which is the solver's."""
    document = {"gangs": {"evictFailed": False}}
    assert await holdings(tmp_path, {}) == await holdings(tmp_path, document)
