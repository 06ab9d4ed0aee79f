"""Columns by option and by the names people use; what is not used is named."""

from __future__ import annotations

import pytest

from cpgnn.errors import InputError
from cpgnn.io import read_graph

EXPORT = "no;date;from_account;to_account;amount;text\n"
EXPORT += "1;2024-01-05;a;b;1.234,50;rent\n2;2024-01-06;b;c;12,00;food\n;;;;;\n;;;;;\n"
EDGES = "source,target\na,b\nb,c\n"


def text(loaded) -> str:
    return "\n".join(loaded.graph.notices)


def names(loaded) -> list[str]:
    return loaded.graph.node_ids.tolist()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
def test_an_export_of_six_columns(put, encoding):
    data = EXPORT.encode(encoding)
    path = put("e.csv", b"\xfe\xff" + data if encoding == "utf-16-be" else data)
    loaded = read_graph(path)
    assert names(loaded) == ["a", "b", "c"]
    assert not loaded.graph.is_weighted
    assert "columns 'no', 'date', 'amount', 'text' not used" in text(loaded)
    assert "skipped 2 blank rows at the end" in text(loaded)
    assert "to weigh the edges by 'amount', use weight='amount'" in text(loaded)
    assert ("read as UTF-16" in text(loaded)) is encoding.startswith("utf-16")
    weighted = read_graph(path, weight="amount")
    assert weighted.graph.adjacency.toarray()[0, 1] == 1234.5
    assert "'no', 'date', 'text' not used" in text(weighted)


@pytest.mark.parametrize(
    ("header", "named"),
    [
        ("account,device,amount", {"weight": "amount"}),
        ("source,device,amount", {"weight": "amount"}),
        ("account,target,amount", {"weight": "amount"}),
        ("account,device,amount", {"weight": "amount", "source": "account"}),
        ("account,device,amount", {"weight": "amount", "target": "device"}),
        ("account,device,amount,type", {"weight": "amount"}),
    ],
)
def test_what_is_left_beside_a_named_weight_are_the_ends(put, header, named):
    last = ",x" if "type" in header else ""
    path = put("e.csv", f"{header}\na,x,2{last}\nb,x,3{last}\n")
    graph = read_graph(path, **named).graph
    assert graph.node_ids.tolist() == ["a", "b", "x"]
    assert graph.adjacency.toarray()[:, 2].tolist() == [2, 3, 0]


@pytest.mark.parametrize(
    ("payer", "payee"),
    [
        ("Payer", "Payee"),
        ("Auftraggeber", "Empfänger"),
        ("nameOrig", "nameDest"),
        ("citing", "cited"),
        ("Konto", "Gegenkonto"),
        ("Account No", "Counterparty"),
        ("Debit Account", "Credit Account"),
        ("Von Konto", "Nach Konto"),
        ("from_bank_account", "to_bank_account"),
    ],
)
def test_payer_and_payee_are_the_ends_of_a_payment(put, payer, payee):
    payments = EXPORT.replace("from_account", payer).replace("to_account", payee)
    loaded = read_graph(put("e.csv", payments))
    assert names(loaded) == ["a", "b", "c"]
    assert loaded.graph.num_edges == 2
    assert "columns 'no', 'date', 'amount', 'text' not used" in text(loaded)


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "#", "index", "Nr.", "lfd. Nr."])
@pytest.mark.parametrize("ends", ["source,target", "payer,payee", "wer,wen"])
def test_three_columns_of_which_the_first_counts_the_rows(put, name, ends):
    edges = put("e.csv", f"{name},{ends}\n0,a,b\n1,b,c\n2,a,c\n")
    labels = put("l.csv", f"{name},Konto,Art\n1,a,x\n2,b,y\n3,c,x\n")
    loaded = read_graph(edges, labels)
    assert names(loaded) == ["a", "b", "c"]
    assert loaded.graph.num_edges == 3
    assert not loaded.graph.is_weighted
    assert loaded.graph.labels.tolist() == [0, 1, 0]
    assert text(loaded).count(f"column {name!r} not used") == 2


@pytest.mark.parametrize(
    ("edges", "labels"),
    [
        ("index,other,weight\na,b,2\nb,c,3\n", "index,label,split\na,x,train\nb,y,train\n"),
        ("no,other,strength\na,b,2\nb,c,3\n", "index,class,set\na,x,train\nb,y,train\n"),
    ],
)
def test_a_first_column_that_is_needed_is_no_counter(put, edges, labels):
    loaded = read_graph(put("e.csv", edges), put("l.csv", labels))
    assert names(loaded) == ["a", "b", "c"]
    assert loaded.graph.adjacency[0, 1] == 2
    assert loaded.graph.labels.tolist() == [0, 1, -1]


@pytest.mark.parametrize("name", ["amount", "Betrag", "total"])
def test_an_amount_beside_two_ends_is_offered_not_taken(put, name):
    path = put("e.csv", f"source,target,{name}\na,b,1\nb,c,9\n")
    loaded = read_graph(path)
    assert not loaded.graph.is_weighted
    assert f"column {name!r} not used" in text(loaded)
    assert f"to weigh the edges by {name!r}, use weight={name!r}" in text(loaded)
    assert read_graph(path, weight=name).graph.adjacency[1, 2] == 9


@pytest.mark.parametrize("label", ["is_fraud", "Fraud", "Klasse", "catégorie", "target"])
def test_labels_among_many_columns_by_the_names_people_use(put, label):
    labels = put("l.csv", f"no,customer id,opened,{label},by\n1,a,2020,x,M\n2,b,2021,y,M\n")
    loaded = read_graph(put("e.csv", EDGES), labels)
    assert loaded.graph.labels.tolist() == [0, 1, -1]
    assert "columns 'no', 'opened', 'by' not used" in text(loaded)


def test_the_column_with_the_ids_can_be_named_where_no_id_fits(put):
    labels = put("l.csv", "no,c,Debitor,label\n1,b,a,x\n2,a,b,y\n")
    with pytest.raises(InputError, match=r"or name the column with the ids with id='…'"):
        read_graph(put("e.csv", EDGES), labels)
    assert read_graph(put("e.csv", EDGES), labels, id="Debitor").graph.labels.tolist() == [0, 1, -1]


def test_periods_are_no_ends(put):
    periods = EXPORT.replace("from_account", "from_date").replace("to_account", "to_date")
    periods = periods.replace(";a;b;", ";2024-01-05;2024-01-06;").replace(";b;c;", ";2024-01-06;;")
    with pytest.raises(InputError, match="Name them with source"):
        read_graph(put("e.csv", periods))


def test_ends_by_name(put):
    path = put("e.csv", "payee,when,payer\nb,1,a\nc,2,b\n")
    loaded = read_graph(path, source="payer", target="payee")
    assert names(loaded) == ["a", "b", "c"]
    assert "column 'when' not used" in text(loaded)
    weighted = read_graph(path, source="payer", target="payee", weight="when")
    assert weighted.graph.adjacency.toarray()[1, 2] == 2


def test_a_third_column_that_is_no_weight(put):
    loaded = read_graph(put("e.csv", "source,target,day\na,b,2024-01-05\nb,c,2024-01-06\n"))
    assert not loaded.graph.is_weighted
    assert "column 'day' not used" in text(loaded)


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("id,label,comment\na,x,good\nb,y,bad\n", {}),
        ("id,name,label,comment\na,Ann,x,good\nb,Bob,y,bad\n", {}),
        (",id,label\n0,a,x\n1,b,y\n", {"id": "id", "label": "label"}),
        (",id,label,comment\n0,a,x,good\n1,b,y,bad\n", {}),
        ("kind,who\nx,a\ny,b\n", {"id": "who"}),
        ("a1,kind,who\n5,x,a\n6,y,b\n", {"id": "who", "label": "kind"}),
    ],
)
def test_labels_among_other_columns(put, content, options):
    loaded = read_graph(put("e.csv", EDGES), put("l.csv", content), **options)
    assert loaded.graph.class_names == ("x", "y")
    assert loaded.graph.labels.tolist() == [0, 1, -1]
    assert loaded.split is None


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("id,x,y\na,1,2\nb,3,4\nc,5,6\n", {}),
        (",id,x,y\n0,a,1,2\n1,b,3,4\n2,c,5,6\n", {}),
        ("Unnamed: 0,id,x,y\n0,a,1,2\n1,b,3,4\n2,c,5,6\n", {}),
        ("y,z,who,x\n2,9,a,1\n4,9,b,3\n6,9,c,5\n", {"id": "who", "feature": ["x", "y"]}),
        ("id,z,x,y\na,u,1,2\nb,v,3,4\nc,w,5,6\n", {"ignore": ["z"]}),
    ],
)
def test_features_among_other_columns(put, content, options):
    loaded = read_graph(put("e.csv", EDGES), features=put("f.csv", content), **options)
    assert loaded.graph.feature_names == ("x", "y")
    assert loaded.graph.features.tolist() == [[1, 2], [3, 4], [5, 6]]
    again = read_graph(
        put("e.csv", EDGES),
        features=put("f.csv", content),
        like=loaded.columns,
        id=options.get("id"),
    )
    assert again.graph.features.tolist() == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        (EDGES, {"source": "payer"}, r"'source' must name a column of .*'target'\. Got 'payer'"),
        (EDGES, {"weight": "wieght"}, "'weight' must name a column"),
        ("a,b\nb,c\n", {"source": "payer"}, r"has no header\. Got 'payer'"),
        ("p,q,r,s\na,1,b,2\n", {}, r"must have 2 or 3 columns.*Got 4 .*source='…' and target="),
    ],
)
def test_what_cannot_be_chosen(put, content, options, words):
    with pytest.raises(InputError, match=words):
        read_graph(put("e.csv", content), **options)


def test_blank_rows_in_between_are_errors(put):
    with pytest.raises(InputError, match="line 3: A node id must not be empty"):
        read_graph(put("e.csv", "source,target\na,b\n,\nb,c\n"))


def test_the_ids_of_an_export(put):
    """A column that counts rows, then what nodes are called; `id` goes before `account`."""
    edges = put("e.csv", "no;payer;payee;text\n1;a;b;x\n2;b;c;y\n3;c;a;z\n")
    for name, header in (("f.csv", "no;account;x;y"), ("g.csv", "no;account;x;id")):
        cells = [(1, "a", 5), (2, "b", 6), (3, "c", 7)]
        last = {"y": [1, 2, 3], "id": ["a", "b", "c"]}[header.rpartition(";")[2]]
        body = "".join(
            f"{no};{node if 'y' in header else no};{x};{end}\n"
            for (no, node, x), end in zip(cells, last, strict=True)
        )
        graph = read_graph(edges, features=put(name, f"{header}\n{body}")).graph
        assert list(graph.node_ids) == ["a", "b", "c"]
        assert list(graph.features[:, graph.feature_names.index("x")]) == [5, 6, 7]
        assert "no" not in graph.feature_names
