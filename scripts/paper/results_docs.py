"""Writes the tables and figures of the docs from the committed results: `make results-docs`.

On the pages of `PAGES` the lines between `<!-- begin NAME -->` and `<!-- end NAME -->` are
generated; figures go to docs/pictures/ and carry a hash of what they show,
so that a test can tell whether page, pictures and results agree.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

import default_docs
import figures
import spark_docs
from claims import CLAIMS, published, verdict
from cpgnn.experiments.choice import needed
from cpgnn.experiments.config import load_experiment
from cpgnn.experiments.matrices import tracked
from cpgnn.experiments.store import results_of
from cpgnn.experiments.tables import markdown, table
from misses import comparison, miss_list
from pipeline import pipeline

ROOT = Path(__file__).parents[2]
PICTURE_FOLDER = ROOT / "docs" / "pictures"


WHAT = {
    "real": "11 methods and `CPGNN-auto` on six graphs, with and without features",
    "synthetic": "10 methods on generated graphs over eleven levels of homophily",
    "ablation": "five variants of CPGNN-MLP-1 over the same levels",
    "compatibility": "the true, initial and learned H at h = 0 and on the real graphs",
}


def runs_text() -> str:
    """Every experiment with its runs and what they took."""
    lines = ["| name | what | runs | hours of one core |", "|---|---|---:|---:|"]
    for name, what in WHAT.items():
        experiment, results = load_experiment(name), results_of(name).read()
        runs = needed(experiment, list(experiment.jobs()), results)
        hours = sum(results[job.key]["cpu_seconds"] for job in runs if job.key in results) / 3600
        lines.append(f"| `{name}` | {what} | {len(runs):,} | {hours:.1f} |")
    return "\n".join(lines) + "\n"


def claims_text() -> str:
    """Every claim with the paper's number, ours and whether it holds."""
    lines = ["| claim | measured as | paper | ours | holds |", "|---|---|---|---|---|"]
    for claim in CLAIMS:
        found, numbers = verdict(claim), published(claim.experiment)
        paper = f"{claim.measure(numbers):.4g}" if numbers else "–"
        ours = "not run yet" if found is None else f"{found.ours:.4g}"
        holds = "" if found is None else ("yes" if found.holds else "**no**")
        lines.append(f"| {claim.text} | {claim.unit} | {paper} | {ours} | {holds} |")
    return "\n".join(lines) + "\n"


EXPERIMENTS: dict[str, Callable[[], str]] = {
    "runs": runs_text,
    "real": lambda: markdown("real"),
    "synthetic": lambda: markdown("synthetic"),
    "ablation": lambda: markdown("ablation"),
    "compatibility": lambda: markdown("compatibility"),
    "comparison": comparison,
    "misses": miss_list,
    "claims": claims_text,
}
SPARK: dict[str, Callable[[], str]] = {
    "runs": spark_docs.runs,
    "sent": spark_docs.sent,
    "relations": spark_docs.relations,
    "model": spark_docs.model,
    "on-paper": spark_docs.on_paper,
}
DEFAULT: dict[str, Callable[[], str]] = {
    "paper": default_docs.paper,
    "published-splits": default_docs.published_splits,
    "successor": default_docs.successor,
    "neighbours": default_docs.neighbours,
    "elsewhere": default_docs.elsewhere,
}
BENCHMARKS = ROOT / "benchmarks" / "results"
SPEED: dict[str, Callable[[], str]] = {
    name: lambda name=name: (BENCHMARKS / f"{name}.md").read_text(encoding="utf-8")
    for name in (
        "epoch",
        "runs",
        "beside_prior",
        "products",
        "fits",
        "scale",
        "field",
        "predict",
        "million",
    )
}
PAGES = {
    ROOT / "docs" / "default.md": DEFAULT,
    ROOT / "docs" / "experiments.md": EXPERIMENTS,
    ROOT / "docs" / "spark.md": SPARK,
    ROOT / "docs" / "speed.md": SPEED,
}
"""Which parts of which page are generated, and how."""

PICTURES: dict[str, tuple[Callable[[], Figure], Callable[[], str]]] = {
    "pipeline": (pipeline, lambda: "pipeline"),
    "accuracy-over-h": (figures.accuracy_over_h, lambda: table("synthetic").to_csv()),
    "ablations-over-h": (figures.ablations_over_h, lambda: table("ablation").to_csv()),
    "compatibility-h0": (
        figures.compatibility_at_h0,
        lambda: json.dumps(tracked().get("h=0.0"), sort_keys=True),
    ),
    "compatibility-real": (
        figures.compatibility_on_real_graphs,
        lambda: json.dumps(tracked(), sort_keys=True),
    ),
}
"""Name → how it is drawn, and the text of what it shows."""


def generated(page: str, parts: dict[str, Callable[[], str]]) -> str:
    """The page with every generated part made anew."""
    for name, make in parts.items():
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
        text = f"{begin}\n\n{make()}\n{end}"
        page, count = pattern.subn(lambda _, text=text: text, page)
        if count != 1:
            raise SystemExit(f"The page must have one part {begin} … {end}. Got {count}.")
    return page


def fingerprint(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def main() -> None:
    for path, parts in PAGES.items():
        path.write_text(generated(path.read_text(encoding="utf-8"), parts), encoding="utf-8")
    PICTURE_FOLDER.mkdir(exist_ok=True)
    for name, (draw, shown) in PICTURES.items():
        mark = {"Title": name, "Description": fingerprint(shown())}
        draw().savefig(PICTURE_FOLDER / f"{name}.png", dpi=110, metadata=mark)


if __name__ == "__main__":
    main()
