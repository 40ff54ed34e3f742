"""The functions ``plan``, ``explain`` and ``audit`` of the Python interface."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from poseidon.api.errors import input_errors
from poseidon.api.reading import Config, Model, get_cluster
from poseidon.api.results import AuditResult, ExplainResult, PlanResult

HOT: Mapping[str, float] = MappingProxyType({"cpu": 80.0, "memory": 90.0})
"""By resource, the percentage of use at which a node counts as hot."""


def plan(
    *objects: Any,
    config: Config = None,
    models: Iterable[Model] | Model = (),
    scheduler_names: Iterable[str] = (),
    move_cost: float | None = None,
    now: float | datetime | None = None,
    kustomize: Sequence[str | Path] = (),
    strict: bool = False,
) -> PlanResult:
    """Say which waiting pods would be bound to which nodes, and why the others would wait.

    Takes the arguments of ``read``, or what it has returned. Raises ``InputError`` for input that cannot be used.

    Args:
        objects: the cluster; see ``read``, also for ``config``, ``models``, ``now``, ``kustomize`` and ``strict``.
        scheduler_names: schedule only pods with these values of ``spec.schedulerName``; empty: all waiting pods.
        move_cost: also say which running pods should move, if each move saves so many points; None: no pod moves.
    """
    from poseidon.offline.plan import make_plan

    options = {"config": config, "models": models, "now": now, "kustomize": kustomize, "strict": strict}
    cluster, unseen = get_cluster(objects, options)
    with input_errors():
        made = make_plan(
            cluster.manifests, cluster.configuration, cluster.now, frozenset(scheduler_names), move_cost
        )
    return PlanResult.of_plan(made, unseen)


def explain(
    *objects: Any,
    pod: str,
    config: Config = None,
    models: Iterable[Model] | Model = (),
    now: float | datetime | None = None,
    kustomize: Sequence[str | Path] = (),
    strict: bool = False,
) -> ExplainResult:
    """Return for one pod, node by node, whether it may go there or why not, what each model charges, and what would
    help.

    Takes the arguments of ``read``, or what it has returned. Raises ``InputError`` for input that cannot be used, and
    ``UnknownPodError`` for a pod that is not in it.

    Args:
        objects: the cluster; see ``read``, also for ``config``, ``models``, ``now``, ``kustomize`` and ``strict``.
        pod: ``NAMESPACE/NAME``; a bare name is in namespace ``default``.
    """
    from poseidon.offline.explain import explain_pod

    options = {"config": config, "models": models, "now": now, "kustomize": kustomize, "strict": strict}
    cluster, unseen = get_cluster(objects, options)
    name = pod if "/" in pod else f"default/{pod}"
    with input_errors():
        explained = explain_pod(cluster.manifests, cluster.configuration, cluster.now, name)
    return ExplainResult.of_explanation(explained, unseen)


def audit(
    *objects: Any,
    config: Config = None,
    models: Iterable[Model] | Model = (),
    tries: int = 500,
    most_moves: int | None = None,
    move_cost: float = 20.0,
    hot: Mapping[str, float] = HOT,
    local_data_may_go: bool = False,
    note: Callable[[str], None] = lambda _: None,
    now: float | datetime | None = None,
    kustomize: Sequence[str | Path] = (),
    strict: bool = False,
) -> AuditResult:
    """Return which nodes moves could free, which nodes hold too much, which pods wait, and what would place these.

    Takes the arguments of ``read``, or what it has returned. Raises ``InputError`` for input that cannot be used.

    Args:
        objects: the cluster; see ``read``, also for ``config``, ``models``, ``now``, ``kustomize`` and ``strict``.
        tries: how many choices of nodes to free are tried at most, each by rounds of the solver.
        most_moves: how many pods may move; None: any number.
        move_cost: points that a move has to save.
        hot: by resource, the percentage of measured use at which a node counts as hot.
        local_data_may_go: also move pods with emptyDir or hostPath volumes.
        note: receives lines about the progress, for people.
    """
    from poseidon.offline.audit.make_audit import make_audit

    options = {"config": config, "models": models, "now": now, "kustomize": kustomize, "strict": strict}
    cluster, unseen = get_cluster(objects, options)
    with input_errors():
        made = make_audit(
            cluster.manifests,
            cluster.configuration,
            cluster.now,
            tries=tries,
            budget=most_moves,
            move_cost=move_cost,
            hot=hot,
            local_data_may_go=local_data_may_go,
            note=note,
        )
    return AuditResult.of_audit(made, unseen)
