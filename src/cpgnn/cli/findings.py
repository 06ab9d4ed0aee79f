"""What `cpgnn check` prints."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cpgnn.check import CheckReport, Finding
from cpgnn.check.finding import SEVERITIES
from cpgnn.cli.printing import console, in_words, show, table
from cpgnn.engine.formatting import percent, ratio, shortened
from cpgnn.engine.records import json_text
from cpgnn.engine.text import count

STYLES = {"problem": "bold red", "risk": "bold yellow", "note": "bold"}


def print_json(report: CheckReport) -> None:
    made = report.to_dict()
    for finding in made["findings"]:
        finding["advice"] = in_words(finding["advice"])
    print(json_text(made), end="")


def print_report(report: CheckReport) -> None:
    """The findings, worst first; then whether the graph helps."""
    to = console()
    of = [f.severity for f in report.findings]
    counts = ", ".join(count(of.count(kind), kind) for kind in SEVERITIES)
    features = count(report.features, "feature") if report.features else "no features"
    to.print(
        f"{counts}, in {count(report.nodes, 'node')} ({report.labelled:,} labelled), "
        f"{count(report.edges, 'edge')}, {count(report.classes, 'class', 'classes')}, {features}."
    )
    for finding in report.findings:
        _print(to, finding)
    to.print()
    _print_worth(to, report)
    to.print()
    to.print("Clean: no problem, no risk." if report.clean else "Not clean: see above.")


def _print(to: Console, finding: Finding) -> None:
    to.print()
    to.print(Text(f"{finding.severity.capitalize()}: {finding.title}", STYLES[finding.severity]))
    lines = [finding.detail]
    if finding.nodes:
        lines.append(f"For example: {', '.join(map(shortened, finding.nodes))}")
    lines.append(f"To do: {in_words(finding.advice)}")
    for line in lines:
        to.print(Padding(Text(line), (0, 0, 0, 2), expand=False))


def _relations(report: CheckReport) -> Table:
    heads = ("relation", "labelled pairs", "within a class", "what it tells", "")
    made = table(*heads, title="What does each relation tell? (test labels left out)")
    said = {True: "helps", False: "no more than chance", None: "too few to say"}
    for one in report.relations:
        values = (ratio(one.within), ratio(one.informativeness))
        made.add_row(one.name, f"{one.edges:,}", *values, said[one.tells])
    return made


def _print_worth(to: Console, report: CheckReport) -> None:
    both = [report.homophily, *filter(None, [report.homophily_by_weight])]
    weighted, found = len(both) == 2, report.comparison
    heads = ("", "by edges", "by weight") if weighted else ("", "")
    made = table(*heads, title="Does the graph help?")
    made.show_header = weighted
    made.add_row("edges that join two labelled nodes", f"{report.labelled_edges:,}")
    for name, key in (
        ("edges within a class (homophily ratio h)", "edge_homophily"),
        ("neighbours of a node's class (node homophily)", "node_homophily"),
        ("the same beyond chance (adjusted homophily)", "adjusted_homophily"),
        ("what a neighbour's class tells (label informativeness)", "label_informativeness"),
    ):
        if report.labelled_edges:
            made.add_row(name, *(ratio(getattr(like, key)) for like in both))
    if found is not None:
        of = found.score + (f" of {found.positive!r}" if found.positive else "")
        if found.chance is not None:
            made.add_row(f"{of} by chance", percent(found.chance))
        made.add_row(
            f"{of} without the graph ({found.without})", percent(found.score_without.value)
        )
        made.add_row(f"{of} with the graph", percent(found.score_with.value))
    show(to, made)
    if report.relations:
        show(to, _relations(report))
    if report.independence is not None:
        to.print(str(report.independence))
    if found is None:
        to.print(f"Not compared with and without the graph: {in_words(report.not_compared or '')}.")
        return
    gain, n = found.difference, count(found.nodes, "labelled node")
    to.print(
        f"{found.verdict.capitalize()}: {100 * gain.value:+.1f} points of {found.score}, 95 % "
        f"interval {100 * gain.low:+.1f} to {100 * gain.high:+.1f} ({n}, "
        f"each held out {found.held_out}; models trained briefly)."
    )
