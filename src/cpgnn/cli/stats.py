"""`cpgnn stats`: sizes, homophily and which classes connect, over the known labels."""

from __future__ import annotations

from cpgnn.cli import options as opt


@opt.reads_tables
def stats(
    edges: opt.Edges,
    labels: opt.Labels = None,
    features: opt.Features = None,
    tables: opt.Tables = opt.Tables(),
) -> None:
    """Describe a graph: sizes, homophily, which classes connect."""
    given = opt.by_name(locals())
    from cpgnn.check.facts import Stats
    from cpgnn.cli.printing import print_stats

    loaded = opt.load(given)
    print_stats(Stats.of(loaded.graph))
