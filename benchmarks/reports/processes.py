"""Tables of whole processes: end to end, starts, memory, small requests, verdicts on their placements.

Each function takes a saved report of its kind and returns the tables of it.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.reports.sheets import NOTHING, Report, Sheet, number


def end_to_end_sheets(report: Report) -> list[Sheet]:
    """Return the figures of one run, line by line."""
    rows = [
        ["pods bound", number(report["bound"])],
        ["bound twice", number(report["boundTwice"])],
        ["overcommitted nodes", number(report["overcommittedNodes"])],
        ["nodes used", number(report["nodesUsed"])],
        ["rounds", number(report["rounds"])],
        ["seconds", number(report["seconds"], 2)],
        ["bindings per second", number(report["bindingsPerSecond"] or 0)],
    ]
    if not report["waiting"]:
        latency = report["latencySeconds"]
        shown = " / ".join(number(latency[percent], 2) for percent in ("p50", "p90", "p99"))
        rows.append(["creation to binding, p50 / p90 / p99", f"{shown} s"])
    if report["killed"]:
        rows.append([f"{report['killed']} killed, back after", f"{report['restartSeconds']:.2f} s"])
    events = report.get("events")
    if events is not None:
        rows.append([f"events within {events['withinSeconds']:.0f} s", f"{events['share'] or 0:.2%}"])
        rows.append(["last event after", f"{events['worstSeconds'] or 0:.0f} s"])
    rows += [
        [name, f"{used['cpuSeconds']:.1f} s CPU, {used['peakMiB']:,.0f} MiB"]
        for name, used in report["usage"].items()
    ]
    workload = f"{report['pods']:,} pods of {report['classes']} classes"
    caption = f"{workload} on {report['nodes']:,} nodes ({report['cluster']})"
    return [Sheet(caption, ("what", "figure"), rows, report["overcommitted"])]


def failover_sheets(report: Report) -> list[Sheet]:
    """Return a line per kind of end."""
    rows = [
        [kind, number(found["ends"]), number(found["medianSeconds"], 2), number(found["longestSeconds"], 2)]
        for kind, found in report["outages"].items()
    ]
    load = f"{report['rate']} pods a second on {report['nodes']:,} nodes ({report['cluster']})"
    bound = f"{report['bound']:,} of {report['pods']:,} pods bound, {report['boundTwice']} twice"
    notes = [f"{bound}, {report['overcommittedNodes']} nodes overcommitted", *report["overcommitted"]]
    caption = f"{load}, a Lease of {report['leaseSeconds']:g} s"
    return [Sheet(caption, ("what ended", "times", "median s", "longest s"), rows, notes)]


def hostile_sheets(report: Report) -> list[Sheet]:
    """Return a line per shape of a pod, measured with both programs."""
    hostile, others = f"{report['hostile']:,} pods of one namespace", f"{report['pods']:,} of another"
    caption = (
        f"{hostile} beside {others}, {report['nodes']:,} nodes, both programs and a simulated API server"
    )
    keys = ("alone", "beside", "there", "delay")
    processes = ("bridge", "solver", "cluster", "driver")
    rows = [
        [
            row["shape"],
            *(number(row[f"{key}Seconds"], 3) for key in keys),
            "yes" if row["holds"] else "no",
            *(number(_sum_used(row["processorSeconds"]["beside"], each), 2) for each in processes),
        ]
        for row in report["rows"]
    ]
    headings = (
        "too much of",
        "others alone, s",
        "while they come, s",
        "while they are there, s",
        "delayed by, s",
        f"at most {report['boundSeconds']:g} s",
        "bridge, cpu s",
        "solver, cpu s",
        "API server, cpu s",
        "tenants, cpu s",
    )
    return [Sheet(caption, headings, rows)]


def _sum_used(processor: Mapping[str, float], process: str) -> float:
    """Return the processor seconds of a process and its workers."""
    return sum(seconds for kind, seconds in processor.items() if kind.partition(" ")[0] == process)


def start_sheets(report: Report) -> list[Sheet]:
    """Return a line per phase, and below it one per process."""
    rows = []
    for name, phase in report["phases"].items():
        rate = phase.get("objectsPerSecond")
        rows.append([name, number(phase["seconds"], 1), NOTHING, NOTHING, number(rate)])
        rows += [
            [f"{name}: {process}", NOTHING, number(used["cpuSeconds"], 2), number(used["peakMiB"]), NOTHING]
            for process, used in phase["usage"].items()
        ]
    return [
        Sheet(
            f"{report['nodes']:,} nodes, {report['pods']:,} pods of {report['classes']} classes",
            ("phase", "seconds", "of the processor", "peak MiB", "objects/s"),
            rows,
            ["objects/s: per second of the processor of who reads: the bridge at first, then the solver"],
        )
    ]


def observability_sheets(report: Report) -> list[Sheet]:
    """Return a line per part: seconds without and with metrics and traces, and the median ratio of pairs."""
    size = report["options"]
    parts = {"rounds over gRPC": report["rounds"], "both processes": report.get("endToEnd")}
    rows = [
        [
            name,
            number(len(part["pairs"])),
            number(part["secondsWithout"], 3),
            number(part["secondsWith"], 3),
            number(part["ratio"], 3),
        ]
        for name, part in parts.items()
        if part
    ]
    headings = ("what", "pairs", "seconds with neither", "with both", "ratio of pairs")
    return [Sheet(f"{size['nodes']:,} nodes, {size['tasks']:,} pods", headings, rows)]


def dashboard_sheets(report: Report) -> list[Sheet]:
    """Return seconds of a burst's rounds with and without the page, and the results of many browsers."""
    size, crowd = report["options"], report["browsers"]
    rows = [
        [
            number(len(report["pairs"])),
            number(report["secondsWithout"], 3),
            number(report["secondsWith"], 3),
            number(report["ratio"], 3),
            " to ".join(number(each) for each in report["pageMiB"]),
            f"{crowd['listening']} of {size['browsers']}, {crowd['refused']} told to come later",
            number(crowd["overviewSeconds"], 3),
        ]
    ]
    headings = (
        "pairs",
        "seconds without",
        "with the page",
        "ratio of pairs",
        "page MiB",
        "browsers at a time",
        "overview beside them, s",
    )
    return [Sheet(f"{size['nodes']:,} nodes, bursts of {size['pods']:,} pods", headings, rows)]


def memory_sheets(report: Report) -> list[Sheet]:
    """Return a line per kind of process."""
    rows = []
    for name, peak in report["peakMiB"].items():
        change = report["drift"].get(name)
        counts = [
            " to ".join(map(str, report.get(kind, {}).get(name, ()))) or NOTHING
            for kind in ("threads", "descriptors")
        ]
        rows.append([name, number(peak), NOTHING if change is None else f"{change:+.1%}", *counts])
    head = (f"process, {report['params']['times']:,} rounds", "peak MiB", "drift", "threads", "descriptors")
    return [Sheet("", head, rows)]


def requests_sheets(report: Report) -> list[Sheet]:
    """Return a line per kind of server and client."""
    return [
        Sheet(
            f"{report['count']:,} bindings, {report['inFlight']} at a time, microseconds of the client's processor",
            ("server, client", "per binding", "the first on a connection"),
            [
                [
                    f"{row['scheme']}, {row['client']}",
                    number(row["microseconds"], 1),
                    number(row["firstMicroseconds"]),
                ]
                for row in report["rows"]
            ],
        )
    ]


def judge_sheets(report: Report) -> list[Sheet]:
    """Return a real kube-scheduler's verdict on placements and on pods left pending."""
    rows = [
        ["bindings judged", number(report["bindings"])],
        ["pending pods judged", number(report["pending"])],
        ["bindings refused", number(report["violations"])],
        *([f"pending pods it binds: {cause}", number(count)] for cause, count in report["misses"].items()),
        ["clusters in which only another order of bindings stands", number(report["otherOrders"])],
        ["messages equal", _share(report["messages"])],
        ["messages equal, one reason per node", _share(report["messagesWithOneReasonPerNode"])],
    ]
    caption = (
        f"{report['seeds']:,} random clusters, {report['byProcesses']:,} of them decided by both processes"
    )
    return [Sheet(caption, ("what", "figure"), rows)]


def _share(part: Report) -> str:
    """Return a share, and the number that it is a share of."""
    if part["share"] is None:
        return NOTHING
    return f"{part['share']:.2%} of {part['compared']:,}"
