"""Online Boutique as the network-aware scheduling proposal numbers it, and the orders that it gives."""

from __future__ import annotations

DEPENDENCIES = {
    "P1": ("P2", "P3", "P4", "P6", "P8", "P9", "P10"),
    "P2": ("P11",),
    "P8": ("P2", "P3", "P4", "P5", "P6", "P7"),
    "P9": ("P3",),
}
NUMBERED = tuple(f"P{number}" for number in range(1, 12))
FOR_TARJAN = ("P3", "P6", "P10", "P9", "P1", "P2", "P4", "P5", "P7", "P8", "P11")
"""The declaration with which the proposal's rows for Tarjan come out."""

ORDERS = {
    "KahnSort": "P1 P10 P9 P8 P7 P6 P5 P4 P3 P2 P11",
    "AlternateKahn": "P1 P11 P10 P2 P9 P3 P8 P4 P7 P5 P6",
    "ReverseKahn": "P11 P2 P3 P4 P5 P6 P7 P8 P9 P10 P1",
    "TarjanSort": "P1 P8 P7 P5 P4 P2 P11 P9 P10 P6 P3",
    "AlternateTarjan": "P1 P3 P8 P6 P7 P10 P5 P9 P4 P11 P2",
    "ReverseTarjan": "P3 P6 P10 P9 P11 P2 P4 P5 P7 P8 P1",
}


def graph(declared=FOR_TARJAN):
    return {name: DEPENDENCIES.get(name, ()) for name in declared}


def workload(name, suffix="-deployment"):
    return {
        "kind": "Deployment",
        "name": name + suffix,
        "selector": name,
        "apiVersion": "apps/v1",
        "namespace": "default",
    }


def spec(algorithm="KahnSort", declared=FOR_TARJAN, suffix="-deployment", **dependency):
    wanted = {"minBandwidth": "100M", "maxNetworkCost": 30, **dependency}
    return {
        "numMembers": 11,
        "topologySortingAlgorithm": algorithm,
        "workloads": [
            {
                "workload": workload(name, suffix),
                "dependencies": [
                    {"workload": workload(other, suffix), **wanted} for other in DEPENDENCIES.get(name, ())
                ],
            }
            for name in declared
        ],
    }
