"""Domains of machines: those with one value of a label, and those that count for a topology spread rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.model import TaskClass
from firmament.core.state.machines import MachineTable


@dataclass(frozen=True, slots=True)
class Domains:
    """``domain``: int64[M], -1 where the label is missing; ``count``: D, numbers are below it; ``coarse``: some domain
    holds several machines.
    """

    domain: Int64
    count: int
    coarse: bool


class DomainsByKey:
    """Domains of the machines by key, as they are now, each worked out once."""

    def __init__(self, machines: MachineTable) -> None:
        self._machines = machines
        self._by_key: dict[str, Domains] = {}
        self._eligible: dict[tuple[object, ...], Bool] = {}

    @property
    def single(self) -> Domains:
        """Every machine is a domain of its own."""
        count = len(self._machines)
        return Domains(np.arange(count), count, coarse=False)

    def get(self, key: str) -> Domains:
        """Domains by the value of a label."""
        topology = self._by_key.get(key)
        if topology is None:
            count = len(self._machines)
            column = self._machines.labels.column(key)
            domain = column.codes[:count].astype(np.int64) - 1
            domains = len(column) - 1
            sizes = np.bincount(domain[domain >= 0], minlength=domains)
            topology = Domains(domain, domains, coarse=bool((sizes > 1).any()))
            self._by_key[key] = topology
        return topology

    def eligible(
        self, content: TaskClass, keys: Sequence[str], *, by_affinity: bool, by_taints: bool
    ) -> tuple[tuple[object, ...], Bool]:
        """Machines that count for a spread rule of a class: they have all ``keys`` and pass the inclusion policies.

        Returns bool[M] with a mark that is equal for equal rules. As ``matchNodeInclusionPolicies`` of kube-scheduler's
        PodTopologySpread.
        """
        mark = (
            tuple(sorted(set(keys))),
            (content.node_selector, content.required) if by_affinity else None,
            content.tolerations if by_taints else None,
        )
        if mark not in self._eligible:
            self._eligible[mark] = self._judge(content, keys, by_affinity=by_affinity, by_taints=by_taints)
        return mark, self._eligible[mark]

    def _judge(self, content: TaskClass, keys: Sequence[str], *, by_affinity: bool, by_taints: bool) -> Bool:
        count = len(self._machines)
        eligible = np.ones(count, dtype=np.bool_)
        for key in keys:
            eligible &= self.get(key).domain >= 0
        if by_affinity:
            selectors = self._machines.selectors()
            if content.node_selector:
                eligible &= selectors.pairs(content.node_selector)
            if content.required:
                eligible &= selectors.terms(content.required)
        if by_taints:
            first, _ = self._machines.taints.first_untolerated(content.tolerations, count)
            eligible &= first < 0
        return eligible
