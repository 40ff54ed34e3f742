"""Provides the functions ``plan``, ``explain`` and ``audit`` of the Python interface."""

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
"""The percentage of use of each resource above which a node counts as hot."""


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
    """Return which waiting pods would be bound to which nodes, and why the other pods would wait.

    Takes the arguments of ``read``, or the cluster that ``read`` has returned. Raises ``InputError`` for input that
    cannot be used.

    Args:
        objects: the cluster; see ``read``, also for ``config``, ``models``, ``now``, ``kustomize`` and ``strict``.
        scheduler_names: schedule only pods with these values of ``spec.schedulerName``; empty: all waiting pods.
        move_cost: the points that a move of a running pod has to save; None: no pod moves.
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
    """Return for each node whether a pod may run there, why not, and what each model charges.

    The result also names changes that would give the pod a node.

    Takes the arguments of ``read``, or the cluster that ``read`` has returned. Raises ``InputError`` for input that
    cannot be used, and ``UnknownPodError`` for a pod that is not in the input.

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
    """Return which nodes moves could free, which nodes are overloaded, which pods wait, and what would place them.

    Takes the arguments of ``read``, or the cluster that ``read`` has returned. Raises ``InputError`` for input that
    cannot be used.

    Args: objects: the cluster; see ``read``, also for ``config``, ``models``, ``now``, ``kustomize`` and ``strict``.
        tries: the largest number of sets of nodes to free that are tried, each by rounds of the solver. most_moves: the
        largest number of pods that may move; None: any number. move_cost: the points that a move has to save. hot: the
        percentage of measured use, by resource, above which a node counts as hot. local_data_may_go: whether pods with
        emptyDir or hostPath volumes may move, although they lose the data in these. note: a function that is called
        with lines of text about the progress.
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
