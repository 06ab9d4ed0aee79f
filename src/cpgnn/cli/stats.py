"""`cpgnn stats`: sizes, homophily and which classes connect, over the known labels."""

from __future__ import annotations

from cpgnn.cli import options as opt


def stats(
    edges: opt.Edges,
    labels: opt.Labels = None,
    features: opt.Features = None,
    unlabelled: opt.Unlabelled = None,
    strict_ids: opt.StrictIds = False,
    impute: opt.Impute = None,
    one_hot: opt.OneHot = False,
) -> None:
    """Describe a graph: sizes, homophily, which classes connect."""
    from cpgnn.check.facts import Stats
    from cpgnn.cli.printing import print_stats

    loaded = opt.read(edges, labels, features, unlabelled, strict_ids, impute, one_hot)
    print_stats(Stats.of(loaded.graph))
