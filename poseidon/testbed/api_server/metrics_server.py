"""metrics-server: ``metrics.k8s.io`` served from what is really in use, as of its last scrape.

As with the real one, objects have neither uid nor version, can be listed and read, and neither watched nor written.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from poseidon.testbed.controllers.true_use import RunningPod, TrueUse, Use
from poseidon.testbed.objects import errors

if TYPE_CHECKING:
    from poseidon.testbed.api_server.koordlet import ReportOptions
    from poseidon.testbed.api_server.requests import Target

Object = dict[str, Any]

GROUP, VERSION = "metrics.k8s.io", "v1beta1"
_API_VERSION = f"{GROUP}/{VERSION}"
_KINDS = {"nodes": ("NodeMetrics", False), "pods": ("PodMetrics", True)}
_WINDOW = "10s"


class MetricsServer:
    """Scrapes all nodes every ``interval`` seconds and serves what it found, ``lag`` seconds late.

    Nodes in ``missing`` are left out with their pods; of those in ``stale`` the first scrape is served for ever.
    """

    def __init__(self, use: TrueUse, options: ReportOptions) -> None:
        self._use = use
        self._options = options
        self._scraped: list[tuple[float, dict[str, Object]]] = []
        self._served: dict[str, Object] = {}
        self._next = float("-inf")

    def advance(self, now: float) -> float:
        """Scrape if it is time at ``now`` (seconds since the epoch), serve what has come in; return the next due."""
        if now >= self._next:
            self._use.refresh()
            time = now if self._next == float("-inf") else self._next
            self._scraped.append((time + self._options.lag, self._scrape(time)))
            self._next = time + self._options.interval
        while self._scraped and self._scraped[0][0] <= now:
            _, found = self._scraped.pop(0)
            kept = {
                node: self._served[node] for node in self._options.stale & self._served.keys() & found.keys()
            }
            self._served = {**found, **kept}
        return min([self._next, *(due for due, _ in self._scraped)])

    def _scrape(self, time: float) -> dict[str, Object]:
        """Return what nodes and their pods use at ``time``, by node."""
        stamp = datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        found: dict[str, Object] = {}
        for node in self._use.nodes:
            if node in self._options.missing:
                continue
            pods = {
                f"{pod.namespace}/{pod.name}": _pod(pod, pod.use_at(time), stamp)
                for pod in self._use.pods_on(node)
            }
            found[node] = {"node": _node(node, self._use.of_node(node, time), stamp), "pods": pods}
        return found

    # --- answers -------------------------------------------------------------------------------------------

    def answer(self, method: str, target: Target) -> bytes:
        """Return the JSON text that answers a request for ``target``. Raises ``ApiError``."""
        if target.version != VERSION or target.plural not in _KINDS or target.subresource:
            raise errors.path_not_found()
        kind, namespaced = _KINDS[target.plural]
        if target.namespace and not namespaced:
            raise errors.path_not_found()
        if method != "GET":
            raise errors.method_not_allowed()
        if target.name:
            return msgspec.json.encode({"kind": kind, "apiVersion": _API_VERSION, **self._one(target)})
        items = list(self._nodes() if target.plural == "nodes" else self._pods(target.namespace))
        return msgspec.json.encode(
            {"kind": f"{kind}List", "apiVersion": _API_VERSION, "metadata": {}, "items": items}
        )

    def document(self, parts: list[str], groups: Object | None) -> Object | None:
        """Return a discovery document of this group, or ``groups`` (that of ``/apis``) with it; None: not about it."""
        version = {"groupVersion": _API_VERSION, "version": VERSION}
        group = {"name": GROUP, "versions": [version], "preferredVersion": version}
        match parts:
            case ["apis"] if groups is not None:
                return {**groups, "groups": [*groups["groups"], group]}
            case ["apis", name] if name == GROUP:
                return {"kind": "APIGroup", "apiVersion": "v1", **group}
            case ["apis", name, found] if (name, found) == (GROUP, VERSION):
                resources = [
                    {
                        "name": plural,
                        "singularName": "",
                        "namespaced": namespaced,
                        "kind": kind,
                        "verbs": ["get", "list"],
                    }
                    for plural, (kind, namespaced) in _KINDS.items()
                ]
                return {
                    "kind": "APIResourceList",
                    "apiVersion": "v1",
                    "groupVersion": _API_VERSION,
                    "resources": resources,
                }
        return None

    def _nodes(self) -> list[Object]:
        return [found["node"] for found in self._served.values()]

    def _pods(self, namespace: str) -> list[Object]:
        return [
            pod
            for found in self._served.values()
            for pod in found["pods"].values()
            if not namespace or pod["metadata"]["namespace"] == namespace
        ]

    def _one(self, target: Target) -> Object:
        name = target.name
        if target.plural == "nodes":
            found = self._served.get(name)
            if found is None:
                raise errors.not_found(f"nodes.{GROUP}", name)
            node: Object = found["node"]
            return node
        for found in self._served.values():
            pod: Object | None = found["pods"].get(f"{target.namespace}/{name}")
            if pod is not None:
                return pod
        raise errors.not_found(f"pods.{GROUP}", name)


def _node(name: str, use: Use, stamp: str) -> Object:
    return {"metadata": {"name": name}, "timestamp": stamp, "window": _WINDOW, "usage": _usage(use)}


def _pod(pod: RunningPod, use: Use, stamp: str) -> Object:
    return {
        "metadata": {"name": pod.name, "namespace": pod.namespace},
        "timestamp": stamp,
        "window": _WINDOW,
        "containers": [{"name": "all", "usage": _usage(use)}],
    }


def _usage(use: Use) -> dict[str, str]:
    """Write amounts as kubelets do."""
    return {"cpu": f"{use.cpu * 1_000_000}n", "memory": f"{-(-use.memory // 1024)}Ki"}
