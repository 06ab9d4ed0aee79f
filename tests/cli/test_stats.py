"""`cpgnn stats` over hand-made files."""

from __future__ import annotations


def test_counts_and_matrix(cpgnn, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # a-b, a-c join different classes; b-c the same; d is isolated; one self-loop, one repeat.
    (tmp_path / "edges.csv").write_text("source,target\na,b\na,c\nb,c\nc,b\na,a\n")
    (tmp_path / "labels.csv").write_text("id,label\na,x\nb,y\nc,y\nd,y\n")
    done = cpgnn("stats", "edges.csv", "--labels", "labels.csv")
    assert done.code == 0, done.err
    lines = {" ".join(line.split()) for line in done.out.splitlines()}
    assert {"nodes 4", "edges 3", "isolated nodes 1", "homophily ratio h 0.333"} <= lines
    assert "h with self-loops 0.500" in lines
    assert {"x 0 % 100 %", "y 50 % 50 %"} <= lines
    assert "1 self-loop row was set aside" in done.err
    assert "1 edge row repeated another and was collapsed" in done.err


def test_without_labels(cpgnn, files):
    done = cpgnn("stats", "edges.csv")
    assert done.code == 0
    assert "need labels: --labels" in done.out


def test_no_edge_between_labelled_nodes(cpgnn, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.csv").write_text("source,target\na,b\nc,d\n")
    (tmp_path / "labels.csv").write_text("id,label\na,x\nc,y\n")
    done = cpgnn("stats", "edges.csv", "--labels", "labels.csv")
    assert "no edge joins two labelled nodes" in done.out
    assert "nan" not in done.out


def test_a_weighted_graph_says_what_a_share_is_of(cpgnn, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.csv").write_text("source,target,weight\na,b,6\na,c,1\nb,c,1\n")
    (tmp_path / "labels.csv").write_text("id,label\na,x\nb,y\nc,y\n")
    out = cpgnn("stats", "edges.csv", "--labels", "labels.csv").out
    lines = {" ".join(line.split()) for line in out.splitlines()}
    assert "homophily ratio h, by edges 0.333" in lines  # one of three edges
    assert "homophily ratio h, by weight 0.125" in lines  # 1 of 8
    assert "Where the edge weight of a class (row) leads" in out
    assert "y 78 % 22 %" in lines  # 7 to x; 1 within, seen from both ends
