"""Bad input: one clear message that names the file, the line, what must be and what was got."""

from __future__ import annotations

import gzip
import os
import re

import pandas as pd
import pytest

from cpgnn.errors import InputError
from cpgnn.io import read_graph

EDGES = "a,b\nb,c\nc,a\n"
LABELS = "id,label\na,x\nb,y\nc,x\n"
FEATURES = "id,f,g\na,1,2\nb,3,4\nc,5,6\n"
PACKED = gzip.compress(("a,b\n" * 50_000).encode(), mtime=0)


def parquet(**columns: list[object]) -> bytes:
    return pd.DataFrame(columns).to_parquet()


def graphml(body: str, head: str = "") -> str:
    key = '<key id="w" for="edge" attr.name="weight" attr.type="double"/>'
    key += '<key id="f" for="node" attr.name="f" attr.type="double"/>'
    return f"<?xml version='1.0'?>\n{head}<graphml>{key}<graph>\n{body}\n</graph></graphml>\n"


NODES = '<node id="a"><data key="f">1</data></node><node id="b"><data key="f">2</data></node>'

# role, file name, content, line (None: the message has none), words of the message
CASES = {
    # -- the file as a whole
    "missing": ("edges", "no.csv", None, None, "No such file"),
    "missing labels": ("labels", "no.csv", None, None, "No such file"),
    "missing features": ("features", "no.npz", None, None, "No such file"),
    "missing graphml": ("edges", "no.graphml", None, None, "No such file"),
    "missing parquet": ("edges", "no.parquet", None, None, "No such file"),
    "empty": ("edges", "e.csv", "", None, "at least one row. Got an empty file"),
    "blank lines only": ("labels", "l.csv", "\n\n \n", None, "at least one row. Got an empty file"),
    "comments only": ("edges", "e.txt", "# x\n# y\n", None, "at least one row. Got comments only"),
    "header only": ("edges", "e.csv", "source,target\n", None, "at least one row. Got none"),
    "no label rows": ("labels", "l.csv", "id,label\n", None, "at least one row. Got none"),
    "no feature rows": ("features", "f.csv", "id,label\n", None, "at least one row. Got none"),
    "binary": ("edges", "e.csv", b"\x00\x01\x02\xff" * 9, None, "must be text .* Got binary"),
    "empty gz": ("edges", "e.csv.gz!", b"", None, "must be gzip. Got an empty file"),
    "not gz": ("edges", "e.csv.gz!", b"a,b\n", None, "must be gzip. Got other content"),
    "truncated gz": ("edges", "e.csv.gz!", PACKED[:-15], None, "damaged or cut short"),
    "short gz": ("edges", "e.csv.gz!", PACKED[:12], None, "damaged or cut short"),
    "damaged gz": ("edges", "e.csv.gz!", PACKED[:-8] + b"\x00" * 8, None, "damaged or cut short"),
    "two encodings": ("edges", "e.csv", "a,b\nÉ,b\n".encode() + b"Jos\xe9,b\n", 3, "must be UTF-8"),
    "no encoding": ("edges", "e.csv", b"a,b\nJos\x81,b\n", 2, "must be UTF-8. Got other"),
    "no encoding, far down": (
        "edges",
        "e.csv",
        b"a,b\n" * 30_000 + b"Jos\x81,b\n",
        30_001,
        "must be UTF-8. Got other bytes in 'Jos",
    ),
    "ragged, Windows-1252": ("edges", "e.csv", "a,b\né,b\nc\n".encode("cp1252"), 3, "2 cells"),
    "cut utf-16": (
        "edges",
        "e.csv",
        EDGES.encode("utf-16")[:-1],
        None,
        "UTF-16 file must be whole",
    ),
    "broken parquet": ("edges", "e.parquet", b"PAR1 no PAR1", None, "must be whole. Got"),
    "empty parquet": ("labels", "l.parquet", b"", None, "must be whole. Got"),
    "text as parquet": ("edges", "e.parquet", EDGES, None, "must be whole. Got"),
    "cut parquet": ("edges", "e.parquet", parquet(s=["a"], t=["b"])[:-30], None, "must be whole"),
    "broken npz": ("edges", "e.npz", b"PK\x03\x04 no zip", None, "must be a whole zip archive"),
    "empty npz": ("edges", "e.npz", b"", None, "must be a whole zip archive"),
    "npz features broken": ("features", "f.npz", b"zip?", None, "must be a whole zip archive"),
    # -- rows and columns
    "ragged": (
        "edges",
        "e.csv",
        "a,b\nb,c\nc,d,5\n",
        3,
        "must have 2 cells, like the others. Got 3",
    ),
    "ragged after header": ("labels", "l.csv", "id,label\na,x\nb\n", 3, "2 cells.* Got 1"),
    "ragged, far down": (
        "edges",
        "e.csv",
        "source,target\n\n" + "a,b\n" * 30_000 + "c\n",
        30_003,
        "must have 2 cells, like the others. Got 1",
    ),
    "ragged blanks": ("edges", "e.txt", "a b\n\nb  c\nc d e\n", 4, "must have 2 cells.* Got 3"),
    "one column": ("edges", "e.csv", "a\nb\n", None, "must have 2 or 3 columns.* Got 1"),
    "four columns": ("edges", "e.csv", "a,b,1,2\n", None, "must have 2 or 3 columns.* Got 4"),
    "labels of one column": ("labels", "l.csv", "a\nb\n", None, "must have 2 or 3 columns"),
    "features of one column": ("features", "f.csv", "a\nb\nc\n", None, "and at least one more"),
    "open quote": ("edges", "e.csv", 'a,b\n"b,c\nc,a\n', 2, "must have 2 cells"),
    "quote over lines": ("edges", "e.csv", 'a,b\n"b\nx",c\n', 2, "must be on one line. Got"),
    "wrong header": ("edges", "e.csv", LABELS, 1, "must name source, target.* Got id, label"),
    "wrong weight header": ("edges", "e.csv", "src,dst,label\na,b,1\n", 1, "must name source"),
    "edges as labels": ("labels", "l.csv", "source,target\na,b\n", 1, "must name id, label"),
    "labels first": ("features", "f.csv", "# c\nlabel,id\nx,1\n", 2, "name the id column first"),
    # -- ids
    "blank source": ("edges", "e.csv", "a,b\n,c\n", 2, "A node id must not be empty. Got ''"),
    "blank target": ("edges", "e.csv", "source,target\na,b\nb, \n", 3, "must not be empty"),
    "blank label id": ("labels", "l.csv", "id,label\na,x\n,y\n", 3, "must not be empty"),
    "blank feature id": ("features", "f.csv", "id,x\na,1\n,2\n", 3, "must not be empty"),
    "ids differ by spaces": ("edges", "e.csv", "a,b\nb , c\nc,a\n", 2, "differ by more than surr"),
    "parquet ids": (
        "edges",
        "e.parquet",
        parquet(s=[0.5], t=[1]),
        None,
        "must be text or integers",
    ),
    "parquet null id": (
        "edges",
        "e.parquet",
        parquet(s=["a", None], t=["b", "c"]),
        2,
        "not be emp",
    ),
    "unknown labels": ("labels", "l.csv", "A,x\nB,y\n", 1, "must be in .*'A' appears there as 'a'"),
    "unknown features": ("features", "f.csv", "x,1\ny,1\n", 1, "Most ids must be in"),
    # -- weights
    "nan weight": ("edges", "e.csv", "a,b,1\nb,c,nan\n", 2, "finite number.* Got no number"),
    "no weight": ("edges", "e.csv", "a,b,1\nb,c,\n", 2, "finite number.* Got no number"),
    "infinite weight": ("edges", "e.csv", "a,b,1\nb,c,inf\n", 2, "finite number.* Got inf"),
    "negative weight": ("edges", "e.csv", "s,t,w\na,b,1\nb,c,-2\n", 3, "at least 0. Got -2.0"),
    "text weight": ("edges", "e.csv", "a,b,1\nb,c,2\nc,a,much\n", 3, "at least 0. Got 'much'"),
    "parquet weight": (
        "edges",
        "e.parquet",
        parquet(s=["a", "b"], t=["b", "c"], w=[1, -1]),
        2,
        "at least 0. Got -1.0",
    ),
    # -- labels
    "labelled twice": (
        "labels",
        "l.csv",
        LABELS + "a,y\n",
        5,
        r"once. Got 'a' again \(first in li",
    ),
    "same label twice": ("labels", "l.csv", LABELS + "\nb,y\n", 6, r"Got 'b' again .*line 3\)"),
    "unknown split": (
        "labels",
        "l.csv",
        "a,x,train\nb,y,dev\n",
        2,
        "must be train, val.* Got 'dev'",
    ),
    # -- features
    "features twice": ("features", "f.csv", FEATURES + "b,1,1\n", 5, r"Got 'b' again .*line 3\)"),
    "node without features": (
        "features",
        "f.csv",
        "id,f\na,1\n",
        None,
        r"must have features. Got none for 2 nodes, starting with 'b' \(.*edges.csv, line \d\)",
    ),
    "infinite": ("features", "f.csv", "a,1,2\nb,-inf,4\nc,5,6\n", 2, "column 2.*finite.* Got -inf"),
    "too large": ("features", "f.csv", "a,1\nb,1e39\nc,5\n", 2, "finite 32-bit number. Got inf"),
    "text column": (
        "features",
        "f.csv",
        "id,f,g\na,1,2\nb,3,red\nc,5,6\n",
        3,
        "column 'g'.* must be a number. Got 'red'.*one_hot=True",
    ),
    "parquet text": (
        "features",
        "f.parquet",
        parquet(id=["a", "b", "c"], f=["1", "u", "2"]),
        2,
        "column 'f'.* Got 'u'",
    ),
    # -- GraphML
    "broken graphml": (
        "edges",
        "g.graphml",
        graphml("<node id='a'>"),
        4,
        "must be well-formed XML",
    ),
    "empty graphml": ("edges", "g.graphml", "", 1, "must be well-formed XML. Got no element"),
    "other xml": ("edges", "g.graphml", "<html/>", 1, "must begin with <graphml>. Got <html>"),
    "entities": (
        "edges",
        "g.graphml",
        graphml("<node id='&e;'/>", '<!DOCTYPE g [<!ENTITY e "boom">]>\n'),
        2,
        "must have no document type",
    ),
    "no nodes": ("edges", "g.graphml", graphml(""), None, "must have nodes. Got none"),
    "node twice": (
        "edges",
        "g.graphml",
        graphml(NODES + "\n<node id='a'/>"),
        4,
        "'a' again .*line 3",
    ),
    "unknown end": (
        "edges",
        "g.graphml",
        graphml(NODES + "\n<edge source='a' target='z'/>"),
        4,
        "must join declared nodes. Got 'z'",
    ),
    "no end": ("edges", "g.graphml", graphml(NODES + "\n<edge source='a'/>"), 4, "have 'target'"),
    "hyperedge": ("edges", "g.graphml", graphml("<hyperedge/>"), 3, "must join two nodes"),
    "second graph": ("edges", "g.graphml", graphml("<graph/>"), 3, "must have one graph"),
    "graphml weight": (
        "edges",
        "g.graphml",
        graphml(NODES + "\n<edge source='a' target='b'><data key='w'>-1</data></edge>"),
        4,
        "at least 0. Got -1.0",
    ),
    "graphml feature": (
        "edges",
        "g.graphml",
        graphml("<node id='a'>\n<data key='f'>inf</data></node>"),
        3,
        "column 'f'.* must be a finite 32-bit number. Got inf",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_files(put, tmp_path, case):
    role, name, content, line, words = CASES[case]
    bad = tmp_path / name.removesuffix("!")  # marked names are written as they are
    if content is not None and name.endswith("!"):
        bad.write_bytes(content)
    elif content is not None:
        bad = put(name, content)
    files = {"edges": put("edges.csv", EDGES), role: bad}
    with pytest.raises(InputError) as caught:
        read_graph(**files)
    message = str(caught.value)
    assert message.startswith(str(bad))
    place = re.match(r"(, (line|row) (\d+))?: ", message.removeprefix(str(bad)))
    assert place is not None, message
    found = place[3] and int(place[3])
    assert found == line, message
    assert re.search(words, message), message
    unopened = content is None or "damaged" in words  # nothing is expected of such a file
    assert (" must " in message) == (" Got " in message) == (not unopened)
    assert "\n" not in message
    assert caught.value.__cause__ is None


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(InputError, match=r"a folder, not a file"):
        read_graph(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize("role", ["edges", "labels", "features"])
@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz", "x.parquet", "x.npz", "x.graphml", "x.xlsx"])
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_pipe_or_a_device_is_no_file(put, tmp_path, role, name, kind):
    """They may never begin, or never end."""
    odd = tmp_path / name
    if kind == "pipe":
        os.mkfifo(odd)
    else:
        odd.symlink_to("/dev/zero")
    with pytest.raises(InputError, match=r": This is a pipe or a device, not a file\. Save"):
        read_graph(**{"edges": put("edges.csv", EDGES), role: odd})


def test_too_many_categories(put):
    ring = "".join(f"n{i},n{i + 1}\n" for i in range(1001))
    kinds = "".join(f"n{i},k{i}\n" for i in range(1001)) + "n1001,k0\n"
    with pytest.raises(InputError, match=r"at most 1,000 different values .* Got 1,001"):
        read_graph(put("e.csv", ring), None, put("f.csv", kinds), one_hot=True)


def test_a_column_without_values_is_not_used(put):
    edges = put("e.csv", EDGES)
    graph = read_graph(edges, None, put("f.csv", "id,f,g\na,1,\nb,2,\nc,3,\n")).graph
    assert graph.feature_names == ("f",)
    assert "column 'g' is empty, so it is not used" in "\n".join(graph.notices)
    with pytest.raises(InputError, match="must have a column of numbers or categories"):
        read_graph(edges, None, put("f.csv", "id,g\na,\nb,\nc,\n"))


def test_senseless_options(put):
    with pytest.raises(InputError, match=r"'impute' must be None or 'median'\. Got 'mean'"):
        read_graph(put("e.csv", EDGES), impute="mean")
