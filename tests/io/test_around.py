"""What exports put around a table, and marks that spreadsheets leave on ids."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

from cpgnn.errors import InputError
from cpgnn.io import read_graph
from cpgnn.io.around import is_total

RING = [(f"n{i}", f"n{(i + 1) % 12}") for i in range(12)]
LABELS = "id,label\n" + "".join(f"n{i},{'xy'[i % 2]}\n" for i in range(12))


def text(loaded) -> str:
    return "\n".join(loaded.graph.notices)


def rows() -> str:
    return "".join(f"{i};{a};{b};5,20\n" for i, (a, b) in enumerate(RING))


HEADER = "Lfd. Nr.;Sollkonto;Habenkonto;Betrag\n"


@pytest.mark.parametrize(
    ("above", "first"),
    [
        ("Payments of March 2024\n\n", "Payments of March 2024"),
        ("Payments of March 2024;;;\n;;;\n", "Payments of March 2024"),
        ("Account:;DE 12\nFrom:;01.03.2024;;\n\n", "Account:;DE 12"),
    ],
)
def test_lines_above_the_header_are_left_out(put, above, first):
    loaded = read_graph(put("e.csv", above + HEADER + rows()), put("l.csv", LABELS))
    assert (loaded.graph.num_nodes, loaded.graph.num_edges) == (12, 12)
    assert f"above the header ('{first}" in text(loaded)


def test_lines_above_the_header_count_in_the_lines_of_messages(put):
    broken = rows().replace("3;n3;n4", "3;;n4")
    with pytest.raises(InputError, match="line 7: A node id must not be empty"):
        read_graph(put("e.csv", "Payments of March\n\n" + HEADER + broken))


def test_a_first_row_with_a_gap_is_no_title(put):
    labels = put("l.csv", "n0,\n" + LABELS.removeprefix("id,label\n").replace("n0,x\n", ""))
    edges = "source,target\n" + "".join(f"{a},{b}\n" for a, b in RING)
    loaded = read_graph(put("e.csv", edges), labels)
    assert (loaded.graph.labels >= 0).sum() == 11
    assert "above the header" not in text(loaded)


@pytest.mark.parametrize(
    ("below", "said"),
    [
        ("Summe;;;62,40\n", "skipped the last row ('Summe 62,40'), which sums up the others"),
        (";Summe:;;62,40\n;;;\n", "which sums up the others"),
        ("Total;;;62,40\nAverage;;;5,20\n", "which sum up the others"),
        ("Count: 12;;;\n", "skipped the last row ('Count: 12'), which sums up the others"),
        (
            "(12 rows affected)\n",
            "skipped the last line ('(12 rows affected)'), which is not in the table",
        ),
        ("Summe: 62,40\n", "skipped the last line ('Summe: 62,40'), which is not in the table"),
    ],
)
def test_totals_below_the_edges_are_left_out(put, below, said):
    loaded = read_graph(put("e.csv", HEADER + rows() + below), put("l.csv", LABELS))
    assert (loaded.graph.num_nodes, loaded.graph.num_edges) == (12, 12)
    assert said in text(loaded)


@pytest.mark.parametrize(
    ("below", "problem"),
    [
        ("12;;n3;1,00\n", "line 14: A node id must not be empty"),
        ("n3\n", "line 14: A row must have 4 cells"),
        ("a;b\nThe end of it\n", "line 14: A row must have 4 cells"),
    ],
)
def test_a_last_row_that_is_no_total_is_an_error_as_before(put, below, problem):
    with pytest.raises(InputError, match=problem):
        read_graph(put("e.csv", HEADER + rows() + below))


def test_totals_below_nodes_are_left_out_unless_they_are_nodes(put):
    edges = put("e.csv", "source,target\n" + "".join(f"{a},{b}\n" for a, b in RING))
    features = "id,x\n" + "".join(f"n{i},{i}\n" for i in range(12))
    loaded = read_graph(
        edges, put("l.csv", LABELS + "Total,12\n"), put("f.csv", features + "Sum,66\nMean,5.5\n")
    )
    assert (loaded.graph.num_nodes, loaded.graph.class_names) == (12, ("x", "y"))
    np.testing.assert_array_equal(np.ravel(loaded.graph.features), range(12))
    assert "skipped the last 2 rows ('Sum'), which sum up the others" in text(loaded)
    company = put("g.csv", "source,target\nn0,Total\n" + "".join(f"{a},{b}\n" for a, b in RING))
    loaded = read_graph(company, put("l.csv", LABELS + "Total,x\n"))
    assert (loaded.graph.num_nodes, (loaded.graph.labels >= 0).sum()) == (13, 13)


@pytest.mark.parametrize("cell", ["Total", "Grand Total:", "SUMME", "Итого", "Count: 1,2", "合計"])
def test_words_for_totals(cell):
    assert is_total(cell)


@pytest.mark.parametrize("cell", ["", "12", "n1", "Totalenergies", "Summer", None, 3.0])
def test_words_that_are_no_totals(cell):
    assert not is_total(cell)


@pytest.mark.parametrize("delimiter", [";", ",", "\t"])
def test_a_first_line_that_names_the_delimiter(put, delimiter):
    content = f"sep={delimiter}\nvon;nach\n" + "".join(f"{a};{b}\n" for a, b in RING)
    loaded = read_graph(put("e.csv", content.replace(";", delimiter)))
    assert loaded.graph.num_edges == 12


def test_names_of_columns_over_two_lines(put):
    header = '"From\nAccount",To Account,"Amt,\nUSD"\n'
    loaded = read_graph(put("e.csv", header + "".join(f"{a},{b},2\n" for a, b in RING)))
    assert loaded.graph.num_nodes == 12
    same = "".join(f"{a},{b},2\n" for a, b in RING)
    loaded = read_graph(
        put("e.csv", header + same), source="From Account", target="To Account", weight="Amt, USD"
    )
    assert set(loaded.graph.adjacency.data.tolist()) == {2}


def test_titles_and_totals_in_a_workbook(put):
    pytest.importorskip("openpyxl")
    book = io.BytesIO()
    frame = pd.DataFrame(RING, columns=["Payer", "Payee"])
    frame["Amount"] = 5.2
    frame.loc[len(frame)] = [None, None, 62.4]
    frame.insert(0, "No", [*range(1, 13), "Total"])
    with pd.ExcelWriter(book) as writer:
        frame.to_excel(writer, index=False, startrow=3)
        writer.sheets["Sheet1"]["A1"] = "Payments of March"
    loaded = read_graph(put("e.xlsx", book.getvalue()), put("l.csv", LABELS))
    assert (loaded.graph.num_nodes, loaded.graph.num_edges) == (12, 12)
    assert "skipped 1 line above the header ('Payments of March')" in text(loaded)


# -- ids ----------------------------------------------------------------------------------------


def test_whole_numbers_with_a_point_fit_those_without(put):
    edges = "".join(f"{i},{(i + 1) % 12}\n" for i in range(12))
    labels = put("l.csv", LABELS.replace("n", "").replace(",", ".0,").replace("id.0", "id"))
    loaded = read_graph(put("e.csv", "source,target\n" + edges), labels)
    assert (loaded.graph.num_nodes, (loaded.graph.labels >= 0).sum()) == (12, 12)
    assert "ids such as '0.0' are read as '0'" in text(loaded)
    floats = edges.replace("\n", ".0\n")
    loaded = read_graph(put("e.csv", "source,target\n" + floats), labels)
    assert loaded.graph.node_ids.tolist() == [str(i) for i in range(12)]
    versions = floats.replace("3", "3.5")
    kept = read_graph(put("e.csv", "source,target\n" + versions)).graph.node_ids
    assert {"1.0", "1"} <= {*kept}


def test_apostrophes_of_excel(put):
    edges = "".join(f"00{i},00{(i + 1) % 12}\n" for i in range(12))
    labels = put("l.csv", LABELS.replace("n", "'00"))
    loaded = read_graph(put("e.csv", "source,target\n" + edges), labels)
    assert loaded.graph.num_nodes == 12
    assert """ids such as "'000" are read as '000'""" in text(loaded)


def test_ids_that_a_spreadsheet_shortened_are_refused(put):
    with pytest.raises(InputError, match=r"all its digits\. Got '5\.51234E\+11'\. A spreadsheet"):
        read_graph(put("e.csv", "source,target\n5.51234E+11,n1\nn1,n2\n"))
    twice = put("l.csv", LABELS + "5.5E+11,x\n5.5E+11,y\n")
    edges = put("e.csv", "source,target\n" + "".join(f"{a},{b}\n" for a, b in RING))
    with pytest.raises(InputError) as refused:
        read_graph(edges, twice)
    assert "labelled once" not in str(refused.value)


# -- labels and features in one file ------------------------------------------------------------


def test_the_label_is_no_feature(put):
    edges = put("e.csv", "source,target\n" + "".join(f"{a},{b}\n" for a, b in RING))
    nodes = "id,x,fraud,z\n" + "".join(f"n{i},{i},{i % 2},1\n" for i in range(12))
    one = put("nodes.csv", nodes)
    loaded = read_graph(edges, one, one)
    assert loaded.graph.feature_names == ("x", "z")
    assert "column 'fraud' is also in the labels, so it is not used" in text(loaded)
    assert "'x', 'z' not used" not in text(loaded)
    other = put("labels.csv", "id,fraud\nn0,0\nn1,1\n")
    assert read_graph(edges, other, one).graph.feature_names == ("x", "z")
    asked = read_graph(edges, other, one, feature=["x", "fraud"])
    assert asked.graph.feature_names == ("x", "fraud")


def test_a_matrix_is_no_list_of_edges(put):
    names = [f"n{i}" for i in range(5)]
    matrix = pd.DataFrame(np.eye(5, dtype=int), index=names, columns=names).to_csv()
    with pytest.raises(InputError, match=r"Edges must be a list.* Got a matrix"):
        read_graph(put("e.csv", matrix))


def test_debits_weigh_what_they_amount_to(put):
    rows = "".join(
        f"{a},{b},-{i + 1},50 €\n".replace(",50", ".50") for i, (a, b) in enumerate(RING)
    )
    loaded = read_graph(put("e.csv", "source,target,betrag\n" + rows), weight="betrag")
    assert sorted(set(loaded.graph.adjacency.data.tolist())) == [i + 1.5 for i in range(12)]
    assert "no weight is above 0, so minus signs are ignored" in text(loaded)
    mixed = rows.replace("-3.50", "3.50")
    with pytest.raises(InputError, match=r"at least 0\. Got -1\.5"):
        read_graph(put("e.csv", "source,target,betrag\n" + mixed), weight="betrag")


def test_another_encoding_above_lines_that_are_no_rows(tmp_path):
    """Far down, where nobody looks at first: without these lines, the table is read once more."""
    many = "".join(f"n{i};n{i + 1}\n" for i in range(3000)).encode()
    (tmp_path / "e.csv").write_bytes(b"source;target\n" + many + b"n\xfc;n1\n" + b"Total\n")
    loaded = read_graph(tmp_path / "e.csv")
    assert "nü" in loaded.graph.node_ids
    assert "Total" in text(loaded)
