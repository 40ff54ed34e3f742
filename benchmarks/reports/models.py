"""Tables of cost models and groups of tasks: load, bursts, gangs, preemption, network, NUMA, trees.

Each function takes a saved report of its kind and returns the tables of it.
"""

from __future__ import annotations

import statistics

from benchmarks.reports.sheets import NOTHING, Report, Sheet, number

_BURST_COLUMNS = {
    "waiting": ("pending", "{:.0f}"),
    "nodes above": ("above", "{:.1%}"),
    "hottest": ("worst", "{:.1f}"),
    "p99 - p50": ("spread", "{:.1f}"),
    "of nodes with metrics": ("open_spread", "{:.1f}"),
    "of it placement": ("placement", "{:.1f}"),
    "levelled by estimates": ("floor", "{:.1f}"),
    "all nodes": ("estimated_floor", "{:.1f}"),
    "in order": ("one_by_one", "{:.1f}"),
    "/ by requests": ("against_requests", "{:.2f}"),
    "/ default": ("against_default", "{:.2f}"),
}
"""Columns: heading, name of the figure, and its format."""


def load_sheets(report: Report) -> list[Sheet]:
    """Return tables of the time that ``load_threshold`` adds to a round, and of the time for a stream of reports."""
    overlay, stream = report["overlay"], report["stream"]
    rows = [
        _pair(
            "round with the overlay",
            overlay["seconds_without"],
            overlay["seconds_with"],
            overlay["ratio"],
        ),
        _pair(
            "round beside the stream",
            stream["round_seconds_without"],
            stream["round_seconds_with"],
            stream["ratio"],
        ),
    ]
    note = (
        f"{stream['machines']:,} machines and {stream['tasks']:,} tasks reported every {report['interval']:g} s: "
        f"{stream['share_of_a_core']:.1%} of a core, {stream['bytes'] / 2**20:.1f} MiB per interval"
    )
    return [Sheet(report["label"], ("measurement", "without", "with", "ratio"), rows, [note])]


def _pair(name: str, without: float, with_: float, ratio: float) -> list[str]:
    return [name, f"{without:.3f} s", f"{with_:.3f} s", number(ratio, 2)]


def burst_sheets(report: Report) -> list[Sheet]:
    """Return a table with a row per burst: true use, as median / worst over its runs."""
    size = report["bursts"][0]["burst"]
    caption = (
        f"{size['pods']:,} pods on {size['nodes']:,} nodes, metrics {size['lag']:.0f} s late, threshold "
        f"{size['threshold']} %: true utilisation of nodes (cpu), median / worst of {len(report['seeds'])} runs"
    )
    rows = [
        [each["label"], *(_both(each[name], form) for name, form in _BURST_COLUMNS.values())]
        for each in report["bursts"]
    ]
    return [Sheet(caption, ("burst", *_BURST_COLUMNS), rows)]


def _both(values: dict[str, float] | None, form: str) -> str:
    if values is None:
        return NOTHING
    return " / ".join(form.format(values[name]) for name in ("median", "worst"))


def gangs_sheets(report: Report) -> list[Sheet]:
    """Return a table with a row for the cluster with room for all gangs, and one for that with room for some."""
    size = report["options"]
    parts = {"room for all": report["room_for_all"], f"room for {size['room']:,}": report["room_for_some"]}
    rows = [
        [
            name,
            number(part["seconds"], 3),
            *(
                number(part[figure])
                for figure in ("pods_per_second", "decided_per_second", "gangs_placed", "gangs_split")
            ),
        ]
        for name, part in parts.items()
    ]
    caption = (
        f"{size['gangs']:,} gangs of {size['size']} in {size['kinds']} kinds on {size['nodes']:,} machines"
    )
    headings = ("cluster", "seconds", "pods placed/s", "pods decided/s", "gangs whole", "gangs split")
    return [Sheet(caption, headings, rows)]


def queues_sheets(report: Report) -> list[Sheet]:
    """Return a row for each shape, and the ratio of rounds with quotas to rounds without."""
    shapes = {name: part for name, part in report.items() if isinstance(part, dict) and "waiting" in part}
    rows = [
        [name, number(part["seconds"], 3), *(number(part[each]) for each in ("placed", "victims", "waiting"))]
        for name, part in shapes.items()
    ]
    notes = []
    if "idle" in report:
        notes.append(
            f"Pods that name no queue, beside quotas: {report['idle']['ratio']:.3f} times a round without."
        )
    headings = ("shape", "processor seconds", "pods placed", "told to go", "waiting")
    return [Sheet(f"Queues, sizes times {report['options']['scale']:g}", headings, rows, notes)]


def consolidation_sheets(report: Report) -> list[Sheet]:
    """Return sums over all clusters, and in how many of them the core found fewer machines than the search of
    prefixes.
    """
    size, clusters = report["options"], report["clusters"]

    def total(figure: str) -> float:
        return sum(each[figure] for each in clusters)

    rows = [
        ["prefixes", number(total("prefix")), number(total("prefixMoves")), "", ""],
        [
            "with as many moves",
            number(total("equal")),
            number(total("prefixMoves")),
            number(total("equal") / max(total("prefix"), 1), 2),
            number(sum(each["equal"] < each["prefix"] for each in clusters)),
        ],
        [
            "with any number",
            number(total("free")),
            number(total("freeMoves")),
            number(total("free") / max(total("prefix"), 1), 2),
            number(sum(each["free"] < each["prefix"] for each in clusters)),
        ],
        ["bound", number(total("most")), "", "", ""],
    ]
    caption = f"{len(clusters)} clusters of {size['machines']} machines in {size['pools']} pools"
    return [Sheet(caption, ("search", "emptied", "moves at most", "x prefixes", "clusters with fewer"), rows)]


def relief_sheets(report: Report) -> list[Sheet]:
    """Return hot machines before and after, compared with evictions by LowNodeUtilization."""
    size, clusters = report["options"], report["clusters"]

    def total(figure: str) -> float:
        return sum(each[figure] for each in clusters)

    slowest = max(each["seconds"] for each in clusters)
    rows = [
        ["before", number(total("hot")), "", ""],
        ["LowNodeUtilization", number(total("hotAfterEvictions")), number(total("evictions")), ""],
        ["moves that are tried", number(total("hotAfter")), number(total("moves")), number(slowest, 2)],
    ]
    caption = f"{len(clusters)} clusters of {size['machines']} machines, hot above {size['hot']:.0f} %"
    return [Sheet(caption, ("how", "hot machines", "moves", "seconds at most"), rows)]


def rescheduling_sheets(report: Report) -> list[Sheet]:
    """Return tables of a round of all tasks and networks per task, its frontier, and small clusters beside CP-SAT."""
    size, rounds = report["options"], report["rounds"]

    def median(*figures: str) -> float:
        return statistics.median(sum(each[figure] for figure in figures) for each in rounds)

    rows = [
        ["a round of everything", number(median("assess", "solve"), 3), ""],
        ["of it: costs of all places", number(median("assess"), 3), ""],
        ["of it: network and solves", number(median("solve"), 3), ""],
        *(
            [name, number(median(figure), 3), number(median(figure) / median("solve"), 1)]
            for name, figure in (
                ("a node per task, arcs to machines", "perTask"),
                ("a node per task, arcs to groups of machines", "perTaskGrouped"),
            )
        ),
    ]
    moves = rounds[0]["moves"]
    tasks = f"{report['tasks']:,} tasks of {size['classes']:,} classes"
    whole = f"{size['machines']:,} machines, {tasks}, {moves:,} moves"
    points = [
        [
            number(each["moves"]),
            number(each["saved"] / 100),
            f"{each['mostSaved'] / max(each['saved'], 1) - 1:.3%}",
        ]
        for each in report["frontier"]["points"]
    ]
    small = [
        [
            number(index),
            number(each["moves"]),
            f"{each['cost'] / each['cpSat'] - 1:.2%}",
            f"{each['cost'] / max(each['cpSatBound'], 1) - 1:.2%}",
            number(each["seconds"], 2),
        ]
        for index, each in enumerate(report["small"], 1)
    ]
    took = report["frontier"]["seconds"]
    if "beside" in report:
        beside = report["beside"]
        rows.append(["a round for 500 that wait, alone", number(beside["alone"], 3), ""])
        rows.append(
            ["the same beside a plan of moves", number(beside["beside"], 3), f"{beside['ratio']:.2f} x alone"]
        )
    return [
        Sheet(whole, ("network", "seconds", "x solving"), rows),
        Sheet(f"the frontier, {took:.1f} s", ("moves", "points saved", "more at most"), points),
        Sheet(
            "300 machines, 2,000 tasks, 3 % move",
            ("cluster", "moves", "above CP-SAT", "above its bound", "seconds"),
            small,
        ),
    ]


def preemption_sheets(report: Report) -> list[Sheet]:
    """Return a row per kind of victims, and the cost of preemption without victims."""
    size = report["options"]
    rows = [
        [
            name,
            number(report[name]["seconds"], 3),
            *(number(report[name][figure]) for figure in ("pods_per_second", "placed", "victims")),
        ]
        for name in ("equal", "mixed")
    ]
    return [
        Sheet(
            f"{size['preemptors']:,} preemptors on {size['nodes']:,} full machines",
            ("victims and preemptors", "seconds", "pods/s", "placed", "victims"),
            rows,
            [f"Nobody to evict: {report['idle']['ratio']:.3f} times the round without preemption"],
        )
    ]


def network_sheets(report: Report) -> list[Sheet]:
    """Return costs relative to placing pod by pod, limits that must hold, and speed if measured."""
    quality, strict, links = report["quality"], report["strict"], report["links"]
    against = Sheet(
        f"{quality['applications']:,} random applications, weight {report['options']['weight']}, "
        "network cost of joint placement beside pod by pod",
        ("pod by pod", "lower by, median", "lower by, at worst", "worse in", "fewer pods placed in"),
        [
            [
                "cheapest of six orders",
                f"{quality['median_saving_against_cheapest']:.1%}",
                f"{quality['worst_saving_against_cheapest']:.1%}",
                number(quality["worse_than_cheapest_order"]),
                number(quality["more_pending"]),
            ],
            [
                "default order",
                f"{quality['median_saving_against_default']:.1%}",
                NOTHING,
                NOTHING,
                NOTHING,
            ],
        ],
    )
    limits = Sheet(
        "Limits",
        ("limit", "pods", "placed", "violations", "fullest link"),
        [
            ["hard maxNetworkCost", *_format_limited(strict), number(strict["violations"]), NOTHING],
            ["narrow links", *_format_limited(links), NOTHING, f"{links['fullest_link']:.0%}"],
        ],
    )
    speed = report["throughput"]
    return [against, limits] + ([] if speed is None else [_network_speed(speed)])


def _format_limited(part: Report) -> list[str]:
    return [number(part["pods"]), number(part["placed"])]


def _network_speed(speed: Report) -> Sheet:
    rows = [
        ["with the overlay", number(speed["seconds"], 2), number(speed["pods_per_second"])],
        ["without", number(speed["seconds_without"], 2), NOTHING],
    ]
    return Sheet(f"{speed['placed']:,} pods at once", ("rounds", "seconds", "pods/s"), rows)


def numa_sheets(report: Report) -> list[Sheet]:
    """Return rounds with and without the overlay, and its cost where no zones are known."""
    zones, size, ratio = report["zones"], report["scenario"], report["no_records"]["ratio"]
    rows = [
        [
            "with numa_fit",
            number(zones["seconds_with"], 3),
            *(number(zones[figure]) for figure in ("pods_per_second", "placed", "pending")),
        ],
        ["without", number(zones["seconds_without"], 3), NOTHING, NOTHING, NOTHING],
    ]
    return [
        Sheet(
            f"{size['tasks']:,} guaranteed pods in {size['classes']} classes on {size['nodes']:,} machines of "
            f"2 to 8 zones, at most {report['containers']} container(s) each, {report['strategy']}",
            ("rounds", "seconds", "pods/s", "placed", "pending"),
            rows,
            [f"No record at all: {ratio:.3f} times the round without the overlay (median of pairs)"],
        )
    ]


def topology_sheets(report: Report) -> list[Sheet]:
    """Return the solver's time by rules and trees, a row per case; then whole rounds."""
    cases = [
        [
            each["name"],
            number(each["leaves"]),
            number(each["pods"]),
            number(1000 * each["seconds"], 1),
            number(1000 * each["slowest_seconds"], 1),
            " ".join(map(number, each["used"])) if each["placed"] else "not placed",
        ]
        for each in report["cases"]
    ]
    rounds = [
        [
            each["name"],
            number(each["seconds"], 3),
            *(number(each[figure]) for figure in ("pods_per_second", "groups_whole", "groups_split")),
        ]
        for each in report["rounds"]
    ]
    return [
        Sheet(
            "One group, the solver alone",
            ("case", "leaves", "pods", "median ms", "slowest ms", "units used, top to bottom"),
            cases,
        ),
        Sheet(
            "Whole rounds",
            ("round", "seconds", "pods placed/s", "groups whole", "groups split"),
            rounds,
        ),
    ]
