"""Tables of the core with plain tasks: throughput, policies, workloads, comparison, optimum, growth, sizes.

Each function takes a saved report of its kind and returns the tables of it.
"""

from __future__ import annotations

from benchmarks.reports.sheets import NOTHING, Report, Sheet, number


def throughput_sheets(report: Report) -> list[Sheet]:
    """Return a line per scenario, and one for its later rounds."""
    rows = []
    for result in report["results"]:
        rows.append(_throughput_row(result["label"], result["algorithm"], result.get("grpc")))
        if "warm" in result:
            rows.append(_throughput_row("… later rounds", result["warm"], None))
    headings = (
        "scenario",
        "algorithm, tasks/s",
        "round / solver within",
        "round / OR-Tools alone",
        "gRPC, tasks/s",
        "gap",
    )
    return [Sheet("", headings, rows)]


def _throughput_row(label: str, algorithm: Report, through: Report | None) -> list[str]:
    return [
        label,
        number(algorithm["tasks_per_second"]),
        *(number(algorithm.get(name), 2) for name in ("ratio", "bare")),
        number(through["tasks_per_second"]) if through else NOTHING,
        f"{algorithm['gap']:.3%}",
    ]


def policies_sheets(report: Report) -> list[Sheet]:
    """Return a table per scenario, a line per policy: rate and where the time goes, in seconds."""
    headings = (
        "policy",
        "tasks/s",
        "seconds",
        "snapshot",
        "network",
        "solver",
        "admit",
        "ingest",
        "placed",
        "certified",
    )
    sheets = []
    for scenario in report["scenarios"]:
        rows = [
            [
                result["policy"],
                number(result["tasks_per_second"]),
                number(result["seconds"], 3),
                *(
                    number(result["stats"][f"{stage}_seconds"], 3)
                    for stage in ("snapshot", "network", "solve", "admit")
                ),
                number(result["ingest_seconds"], 3),
                number(result["placed"]),
                "yes" if result["stats"]["certified"] else "no",
            ]
            for result in scenario["policies"]
        ]
        sheets.append(Sheet(scenario["label"], headings, rows))
    return sheets


def workloads_sheets(report: Report) -> list[Sheet]:
    """Return a line per workload, stage and measured part."""
    rows = []
    for result in report["results"]:
        params = ", ".join(f"{value:,} {key}" for key, value in result["params"].items())
        for part in result["measured"]:
            broken = part.get("brokenRules")
            latency, rounds, reference = part["latencySeconds"], part["rounds"], result.get("reference")
            rows.append(
                [
                    f"{result['workload']} ({params})",
                    part.get("scheduler", result["stage"]),
                    number(part["podsPerSecond"]),
                    number(part["seconds"], 3),
                    NOTHING if latency["p99"] is None else f"{latency['p99']:.2f} s",
                    number(part["waiting"]),
                    f"{rounds['certified']} of {rounds['count']}" if rounds["count"] else NOTHING,
                    number(None if broken is None else sum(broken.values())),
                    number(reference["podsPerSecond"] if reference else None),
                ]
            )
    headings = (
        "workload",
        "stage",
        "pods/s",
        "seconds",
        "p99",
        "left",
        "certified",
        "rules broken",
        "reference, pods/s",
    )
    return [Sheet("", headings, rows)]


def comparison_sheets(report: Report) -> list[Sheet]:
    """Return a line per comparator and size."""
    rows = []
    for result in report["results"]:
        params = ", ".join(f"{value:,} {key}" for key, value in result["params"].items())
        for each in result["results"]:
            if "notMeasured" in each:
                rows.append([each["name"], params, "not run", each["notMeasured"], NOTHING, NOTHING])
                continue
            rows.append(
                [
                    each["name"],
                    params,
                    number(each["tasksPerSecond"]),
                    f"{each['timesSlower']:.1f}" if "timesSlower" in each else "1",
                    f"{each['costRatio']:.4f}" if each.get("costRatio") else "1",
                    number(each["quality"]["unplaced"]),
                ]
            )
    return [Sheet("", ("who", "size", "tasks/s", "times slower", "cost, relative", "unplaced"), rows)]


def optimum_sheets(report: Report) -> list[Sheet]:
    """Return a table of the tasks that each solver placed."""
    rows = [
        ("CP-SAT", number(report["optimum"]), "100 %"),
        ("this scheduler", number(report["placed"]), f"{report['share']:.1%}"),
        (
            "first fit, smallest first",
            number(report["smallestFirst"]),
            f"{report['smallestFirstShare']:.1%}",
        ),
        ("first fit, random order", number(report["firstFit"]), f"{report['firstFitShare']:.1%}"),
    ]
    return [
        Sheet("", (f"{report['instances']:,} {report['family']} instances", "tasks placed", "share"), rows)
    ]


def growth_sheets(report: Report) -> list[Sheet]:
    """Return a line per size."""
    rows = [
        [
            "base" if name == "base" else f"10 x {name}",
            *(number(size[key]) for key in ("nodes", "pods", "classes")),
            number(report["seconds"][name], 3),
            number(report["ratios"].get(name, 1), 2),
            number(report.get("exponents", {}).get(name), 2),
            *growth_memory(report, name),
        ]
        for name, size in report["sizes"].items()
    ]
    headings = ("size", "nodes", "pods", "classes", "seconds", "ratio", "exponent")
    return [Sheet("", (*headings, *growth_memory_headings(report)), rows)]


def growth_memory_headings(report: Report) -> list[str]:
    """Return the headings for the cells that ``growth_memory`` returns."""
    return [f"{process}, MiB (exponent)" for process in report.get("memoryMiB", {}).get("base", {})]


def growth_memory(report: Report, name: str) -> list[str]:
    """Return the memory of each process at a size, with the exponent of the last step; nothing if not measured."""
    exponents = report.get("memoryExponents", {}).get(name, {})
    used = report.get("memoryMiB", {}).get(name, {})
    return [
        number(mebibytes) + (f" ({exponents[process]:.2f})" if process in exponents else "")
        for process, mebibytes in used.items()
    ]


def wide_growth_sheets(report: Report) -> list[Sheet]:
    """Return a table per size that varies, a line per value, with the exponents over the whole range as its title."""
    sheets = []
    for result in report["results"]:
        rows = [
            [
                *(number(point[key]) for key in ("nodes", "tasks", "classes", "placed")),
                number(point["seconds"], 3),
                number(point.get("ofLinear"), 2) + (" (steep)" if point.get("steep") else ""),
                number(point["coreMiB"]),
                number(point.get("bridgeMiB")),
            ]
            for point in result["points"]
        ]
        exponents = ", ".join(
            f"{what} {result['exponents'][key]:.2f}"
            for what, key in (("time", "seconds"), ("core", "coreMiB"), ("bridge", "bridgeMiB"))
            if key in result["exponents"]
        )
        headings = (
            "nodes",
            "tasks",
            "classes",
            "placed",
            "CPU s",
            "of proportional",
            "core, MiB",
            "bridge, MiB",
        )
        sheets.append(Sheet(f"{result['axis']}: exponents {exponents}", headings, rows))
    return sheets


def hostile_sheets(report: Report) -> list[Sheet]:
    """Return a line per shape of a pod."""
    hostile, others = f"{report['hostile']:,} pods of one namespace", f"{report['pods']:,} of another"
    caption = f"{hostile} beside {others}, {report['nodes']:,} nodes"
    keys = ("alone", "beside", "behind", "waiting", "running", "delay")
    rows = [
        [
            row["shape"],
            number(row["bridgeSeconds"] * 1e3, 1),
            *(number(row[f"{key}Seconds"], 3) for key in keys),
            "yes" if row["holds"] else "no",
        ]
        for row in report["rows"]
    ]
    headings = (
        "too much of",
        "bridge, ms a pod",
        "others alone, s",
        "beside, s",
        "behind, s",
        "while they wait, s",
        "while they run, s",
        "delayed by, s",
        f"at most {report['boundSeconds']:g} s",
    )
    return [Sheet(caption, headings, rows)]


def sweep_sheets(report: Report) -> list[Sheet]:
    """Return a table per series: a row per size, with time per task relative to the size before."""
    sheets = []
    for result in report["results"]:
        rows = [
            [
                number(point["size"]) + (", past an edge" if point["edge"] else ""),
                number(point["seconds"] * 1e3, 2),
                number(point["seconds"] / point["tasks"] * 1e6, 1),
                number(point["growth"], 2) + (" (steep)" if point["steep"] else ""),
            ]
            for point in result["points"]
        ]
        grown = [point["growth"] for point in result["points"] if point["growth"] is not None]
        notes = (
            [f"The largest factor is {max(grown):.2f}; at most {report['bound']} is wanted"] if grown else []
        )
        headings = (result["name"], "milliseconds", "microseconds per task", "per task, to the size before")
        sheets.append(Sheet(result["what"], headings, rows, notes))
    return sheets
