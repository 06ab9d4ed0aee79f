"""`cpgnn stats`: sizes, homophily and which classes connect, over the known labels."""

from __future__ import annotations

from cpgnn.cli import options as opt


def stats(
    edges: opt.Edges,
    labels: opt.Labels = None,
    features: opt.Features = None,
    unlabelled: opt.Unlabelled = None,
    strict_ids: opt.StrictIds = False,
    merge_rare: opt.MergeRare = None,
    impute: opt.Impute = None,
    one_hot: opt.OneHot = False,
    source: opt.Source = None,
    target: opt.Target = None,
    weight: opt.Weight = None,
    relation_column: opt.Relation = None,
    kind_column: opt.Kind = None,
    directed: opt.Directed = False,
    directed_types: opt.OneWay = None,
    node_id: opt.Id = None,
    label: opt.Label = None,
    feature: opt.Feature = None,
    ignore: opt.Ignore = None,
    decimal: opt.Decimal = None,
    header: opt.Header = None,
) -> None:
    """Describe a graph: sizes, homophily, which classes connect."""
    given = locals()
    from cpgnn.io.presence import check_files

    check_files(edges, labels, *(features or ()))

    from cpgnn.check.facts import Stats
    from cpgnn.cli.printing import print_stats

    loaded = opt.load(given)
    print_stats(Stats.of(loaded.graph))
