"""Columns whose names say nothing are found by what they hold; where two could be meant, nobody
guesses."""

from __future__ import annotations

import pytest

from cpgnn.errors import InputError
from cpgnn.io import read_graph

ROWS = [("k1", "k2"), ("k2", "k3"), ("k3", "k1"), ("k4", "k2"), ("k5", "k3"), ("k1", "k5")]


def table(header: str, rows, end: str = "") -> str:
    return "\n".join([header, *(";".join(map(str, row)) for row in rows)]) + "\n" + end


PAYMENTS = table(
    "Č.;Den;Odesílatel;Příjemce;Částka",
    [(i, f"0{i}.03.2024", *row, f"{i} 200,50 Kč") for i, row in enumerate(ROWS, 1)],
)


def told(loaded) -> str:
    return "\n".join(loaded.graph.notices)


def edges(loaded) -> set[tuple[str, str]]:
    A, names = loaded.graph.adjacency.tocoo(), loaded.graph.node_ids
    return {tuple(sorted((names[i], names[j]))) for i, j in zip(*A.coords, strict=True)}


WANTED = {tuple(sorted(row)) for row in ROWS}


def test_two_columns_that_share_their_values_are_the_ends(put):
    loaded = read_graph(put("e.csv", PAYMENTS))
    assert edges(loaded) == WANTED
    assert (
        "'Odesílatel' and 'Příjemce' share their ids, so they are taken as source and target"
        in told(loaded)
    )
    assert loaded.guessed == {"source": "Odesílatel", "target": "Příjemce"}
    weighted = read_graph(put("e.csv", PAYMENTS), weight="Částka")
    assert weighted.graph.adjacency.max() == 6200.5


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("a;b;c;d", lambda i, u, v: (u, v, f"bank{i % 3}", f"bank{i % 2}")),  # banks share too
        ("a;b;c;d", lambda i, u, v: (u, f"shop{v}", i * 2.5, "x")),  # nothing is shared
        ("a;b;c;d", lambda i, u, v: (f"0{i}.03.2024", f"0{i + 1}.03.2024", u, f"shop{v}")),
        ("a;b;c;d", lambda i, u, v: (f"0{i}.03.2024", i + 0.5, i * 2.5, "2,50 €")),  # no ids at all
    ],
)
def test_two_pairs_or_none_are_no_ground_to_guess(put, header, row):
    rows = [row(i, *pair) for i, pair in enumerate(ROWS, 1)]
    with pytest.raises(InputError, match="Name them with source='…' and target='…'"):
        read_graph(put("e.csv", table(header, rows)))


@pytest.mark.parametrize("ids", [lambda name: name, lambda name: f"71{name[1:]}"])
def test_a_number_of_the_row_is_no_weight_and_no_end(put, ids):
    rows = [(i, *map(ids, row)) for i, row in enumerate(ROWS, 1)]
    loaded = read_graph(put("e.csv", table("Rang;Wer;Wen", rows)))
    assert edges(loaded) == {tuple(sorted(map(ids, row))) for row in ROWS}
    assert not loaded.graph.is_weighted
    assert "column 'Rang' not used" in told(loaded)


def test_sources_in_order_with_a_weight_stay_what_they_are(put):
    rows = [(i, 100 + i % 3, 1 + i % 4) for i in range(1, 9)]
    loaded = read_graph(put("e.csv", table("customer;product;stars", rows)))
    assert loaded.graph.is_weighted
    assert "8" in loaded.graph.node_ids


@pytest.mark.parametrize(
    "labels",
    [
        table("L.p.;Klient;Segment", [(i, f"k{i}", "xyx"[i % 3]) for i in range(1, 6)]),
        table("Segment;L.p.;Klient", [("xyx"[i % 3], i, f"k{i}") for i in range(1, 6)]),
        table("Klient;Segment", [(f"k{i}", "xyx"[i % 3]) for i in range(1, 6)], ";\n;\n"),
        table("Segment;Klient", [("xyx"[i % 3], f"k{i}") for i in range(1, 6)], ";\n;\n"),
        table("a;b;c;d;label", [(i, 7, f"k{i}", "u", "xyx"[i % 3]) for i in range(1, 6)]),
    ],
)
def test_labels_by_the_ids_of_the_edges(put, labels):
    """Also beside --source and --target, which say nothing about labels."""
    path = put("l.csv", labels)
    files = put("e.csv", PAYMENTS), path
    for options in ({}, {"source": "Odesílatel", "target": "Příjemce"}):
        graph = read_graph(*files, **options).graph
        found = dict(zip(graph.node_ids, graph.labels, strict=True))
        assert [found[f"k{i}"] for i in range(1, 6)] == [1, 0, 0, 1, 0]
        assert graph.class_names == ("x", "y")


def test_a_header_of_words_above_ids_of_words(put):
    names = ["ann", "bob", "cid", "dora", "eve"]
    pairs = "".join(f"{u},{v}\n" for u in names for v in names if u < v)
    body = "".join(f"{name},{'xyx'[i % 3]}\n" for i, name in enumerate(names))
    loaded = read_graph(put("e.csv", pairs), put("l.csv", "wer,was\n" + body))
    assert loaded.graph.class_names == ("x", "y")
    assert loaded.graph.num_nodes == 5
    assert "the first line (wer, was) was read as a header" in told(loaded)
    kept = read_graph(put("e.csv", pairs), put("l.csv", "wer,was\n" + body), header=False)
    assert "was" in kept.graph.class_names


def test_features_by_the_ids_of_the_edges(put):
    rows = [(i, f"{i},5", f"k{i}", 9 - i) for i in range(1, 6)]
    features = put("f.csv", table("Rang;Wert;Wer;Rest", rows))
    loaded = read_graph(put("e.csv", PAYMENTS), features=features)
    at = list(loaded.graph.node_ids).index("k4")
    assert loaded.graph.features[at, list(loaded.graph.feature_names).index("Wert")] == 4.5
    assert "the ids are in column 'Wer'" in told(loaded)


def test_blank_rows_do_not_hide_a_header(put):
    rows = [(f"a{i}", "xy"[i % 2]) for i in range(1, 6)]
    labels = put("l.csv", table("Compte;Catégorie", rows, ";\n;\n;\n"))
    loaded = read_graph(put("e.csv", "a1,a2\na2,a3\na3,a4\na4,a5\n"), labels)
    assert loaded.graph.class_names == ("x", "y")


@pytest.mark.parametrize(
    ("ends", "amount"),
    [("Émetteur;Bénéficiaire", "Montant (€)"), ("Mittente;Destinatario", "Importo [EUR]"),
     ("Nadawca;Odbiorca", "Kwota"), ("Remitente;Destinatario", "Importe")],
)  # fmt: skip
def test_names_with_accents_and_units_where_the_ends_share_nothing(put, ends, amount):
    rows = [(i, f"k{i}", f"shop{i % 3}", f"{i},50") for i in range(1, 7)]
    loaded = read_graph(put("e.csv", table(f"N°;{ends};{amount}", rows)))
    assert loaded.graph.num_nodes == 9
    assert f"to weigh the edges by {amount!r}" in told(loaded)


@pytest.mark.parametrize("rows", ["k9\nk1\nk2\nk3\nk4\n", "\ufeff\n\ufeff", "1e5,1" + "4" * 9000])
def test_labels_that_are_hardly_a_table_are_refused_in_a_sentence(put, rows):
    """The first row of a table without a header is compared with the others, cell by cell; names
    that are whole numbers are sorted as such, which Python refuses beyond 4,300 digits."""
    with pytest.raises(InputError, match=r"l\.csv"):
        read_graph(put("e.csv", PAYMENTS), put("l.csv", rows))
