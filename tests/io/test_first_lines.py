"""Headers with unusual names, ids with spaces, classes that look alike."""

from __future__ import annotations

import pytest

from cpgnn.errors import InputError
from cpgnn.io import read_graph

WORDS = "ann bob cid dan eve fay gus hal ida joe kim lee".split()  # noqa: SIM905
RING = "".join(f"{a},{b}\n" for a, b in zip(WORDS, [*WORDS[1:], WORDS[0]], strict=True))


def text(loaded) -> str:
    return "\n".join(loaded.graph.notices)


def test_an_unknown_header_above_ids_with_digits(put):
    loaded = read_graph(put("e.csv", "payer,payee\na1,b2\nb2,c3\n"))
    assert loaded.graph.node_ids.tolist() == ["a1", "b2", "c3"]
    assert "line 1 (payer, payee) was read as a header" in text(loaded)


@pytest.mark.parametrize(
    "content",
    [
        "hub,a1\na1,b2\nb2,c3\n",  # only one of the two is unlike the others
        "hub,centre\nhub,b2\nb2,c3\n",  # seen again
        "ann,bob\nbob,c3\nc3,dan\n",  # the others are words as well
    ],
)
def test_a_first_edge_stays_an_edge(put, content):
    assert read_graph(put("e.csv", content)).graph.num_edges == 3


def test_a_header_of_labels_above_ids_with_digits(put):
    labels = put("l.csv", "customer,kind\na1,good\nb2,bad\n")
    loaded = read_graph(put("e.csv", "a1,b2\nb2,c3\n"), labels)
    assert loaded.graph.class_names == ("bad", "good")
    assert "(customer, kind) was read as a header" in text(loaded)
    labels = put("l.csv", "root,good\na1,good\nb2,bad\n")
    assert (read_graph(put("e.csv", "a1,b2\nb2,root\n"), labels).graph.labels >= 0).sum() == 3


def test_headers_of_an_earlier_graph_are_known_again(put):
    first = read_graph(
        put("e.csv", "person,friend,since\na1,b2,9\nb2,c3,8\n"),
        put("l.csv", "member,group\na1,x\nb2,y\n"),
        put("f.csv", "member,\u009f,town\na1,1,r\nb2,2,r\nc3,2,s\n"),
        ignore=["\u009f"],
    )
    assert first.headers == (("person", "friend", "since"), ("member", "group"), ("member", "town"))
    later = put("later.csv", "friend,person\nann,bob\n")
    assert "person" in read_graph(later).graph.node_ids
    found = read_graph(later, headers=first.headers).graph
    assert sorted(found.node_ids) == ["ann", "bob"]
    features = put("g.csv", "member,town\nann,r\nbob,s\n")
    found = read_graph(later, features=features, like=first.columns, headers=first.headers).graph
    assert sorted(found.node_ids) == ["ann", "bob"]
    assert "person" in read_graph(later, headers=first.headers, header=False).graph.node_ids


@pytest.mark.parametrize("header", ["sorce,target", "source,taget", "sourc,targt"])
def test_a_misspelt_header_is_refused(put, header):
    with pytest.raises(InputError, match=r"line 1: The first row.*Did you mean source, target\?"):
        read_graph(put("e.csv", f"{header}\n{RING}"))


def test_two_words_that_occur_nowhere_else_are_an_edge_with_a_note(put):
    edges = put("e.csv", f"payer,payee\n{RING}")
    loaded = read_graph(edges)
    assert loaded.graph.num_edges == 13
    assert "the first row (payer, payee) was read as an edge" in text(loaded)
    labels = put("l.csv", "id,label\npayer,x\nann,y\nbob,x\n")
    assert "first row" not in text(read_graph(edges, labels)), "it is a node after all"
    assert "first row" not in text(read_graph(put("r.csv", RING)))


@pytest.mark.parametrize("labels", ["id,label\n a,x\nb,y\n", "id,label\na,x\nb ,y\n"])
def test_ids_that_differ_by_spaces_between_files(put, labels):
    with pytest.raises(InputError, match=r"l\.csv, line \d: Node ids must differ by more than"):
        read_graph(put("e.csv", "source,target\na,b\nb,c\n"), put("l.csv", labels))


def test_classes_that_look_alike_or_unknown(put):
    labels = "id,label\nann,Fraud\nbob,fraud \ncid,fine\ndan,?\neve,?\nfay,n/a\n"
    notices = text(read_graph(put("e.csv", RING), put("l.csv", labels)))
    assert "'Fraud' (1), 'fraud ' (1) count as different classes" in notices
    assert "'?' (2 nodes) counts as a class" in notices
    assert "unlabelled='?'" in notices
    assert "'n/a' (1 node)" in notices
    assert "'?'" not in text(
        read_graph(put("e.csv", RING), put("l.csv", labels), unlabelled="?")
    ).replace("n/a", "")
