"""Numbers in other formats are read as numbers with a notice, or refused by name."""

from __future__ import annotations

import json
from datetime import date

import numpy as np
import pandas as pd
import pytest

from cpgnn.errors import InputError
from cpgnn.io import FeatureColumns, read_graph

NODES = "abcdef"


def table(*columns: list[str], names: str = "x") -> str:
    """A feature file that is delimited by semicolons, one row for each of the first nodes."""
    head = ";".join(["id", *names.split()])
    rows = (";".join([node, *cells]) for node, *cells in zip(NODES, *columns, strict=False))
    return "\n".join([head, *rows]) + "\n"


def read(put, content: str, name: str = "f.csv", **options):
    width = content.count("\n") - 1
    edges = "source,target\n" + "".join(f"{NODES[i]},{NODES[i + 1]}\n" for i in range(width - 1))
    return read_graph(put("e.csv", edges), features=put(name, content), **options)


def days(year: int, month: int, day: int) -> int:
    return (date(year, month, day) - date(1970, 1, 1)).days


# cells, the numbers they are, words of the notice
READ = {
    "decimal comma": (["1,5", "2,25", "-3"], [1.5, 2.25, -3], "decimal comma"),
    "both signs, comma": (["1.234,5", "17", "2.000.000"], [1234.5, 17, 2e6], "'1.234,5'|2.000.000"),
    "both signs, point": (["1,234.5", "17", "2,000,000"], [1234.5, 17, 2e6], "decimal point"),
    "no thousands begin with 0": (["0,123", "1,234", "5"], [0.123, 1.234, 5], "decimal comma"),
    "blanks": (["1 234", "12\u00a0345", "7"], [1234, 12345, 7], "12345"),
    "apostrophes": (["1'234.50", "5", "6"], [1234.5, 5, 6], '"1\'234.50" is 1234.5'),
    "dollars": (["$1.50", "$ 2,000.25", "-$3"], [1.5, 2000.25, -3], "2000.25"),
    "whole dollars": (["$1,234", "$5", "$17,000"], [1234, 5, 17000], "17000"),
    "whole euros": (["1.234 €", "5 €", "17.000 €"], [1234, 5, 17000], "17000"),
    "codes": (["EUR 1,50", "2,00 EUR", "CHF 3,25"], [1.5, 2, 3.25], "decimal comma"),
    "accounting": (["(1,234.50)", "12.00-", "5.25"], [-1234.5, -12, 5.25], "-1234.5"),
    "lakhs": (["1,23,456.70", "12,34,567", "5"], [123456.7, 1234567, 5], "decimal point"),
    "powers of ten": (["5,577E+01", "1,250E+02", "3E-1"], [55.77, 125, 0.3], "decimal comma"),
    "units": (["12.5 kg", "3 kg", "7kg"], [12.5, 3, 7], "unit 'kg', decimal point"),
    "units, comma": (
        ["1.012,5 m²", "3 m²", "7,5 m²"],
        [1012.5, 3, 7.5],
        "unit 'm²', decimal comma",
    ),
    "percent": (["45 %", "5.5%", "100%"], [0.45, 0.055, 1], "percent"),
    "percent, comma": (["45,5 %", "5%", "7,25%"], [0.455, 0.05, 0.0725], "percent, decimal comma"),
    "true": (["true", "false", "TRUE"], [1, 0, 1], "yes or no: 'false' is 0"),
    "yes": (["Yes", "no", "no"], [1, 0, 0], "yes or no"),
    "ja": (["ja", "nein", "ja"], [1, 0, 1], "yes or no"),
    "dates": (
        ["2024-02-29", "1969-12-31", "2000-01-01"],
        [days(2024, 2, 29), -1, days(2000, 1, 1)],
        "days after 1970-01-01",
    ),
    "dates and times": (
        ["2024-02-29 12:00", "2024-02-29T06:00:00", "1970-01-01"],
        [days(2024, 2, 29) + 0.5, days(2024, 2, 29) + 0.25, 0],
        "days after 1970-01-01",
    ),
    "day first, with points": (["31.12.2023", "01.02.2024", "3.4.2024"], None, "dates"),
    "day first, since one is above 12": (["03/04/2024", "31/12/2023", "01/02/2024"], None, "dates"),
    "month first, since one is above 12": (["03/04/2024", "12/31/2023", "01/02/2024"], None, "dat"),
    "month by name": (["5 Jan 2024", "31 Dec 2023", "1 Feb 2024"], None, "dates"),
    "month by name, in Spanish": (["5-ene-24", "31-dic-23", "1-feb.-24"], None, "dates"),
    "month by name, in German": (
        ["5. Januar 2024", "31. Dez. 2023", "1. März 2024"],
        None,
        "dates",
    ),
    "month by name, in French": (["5 août 2024", "31 déc. 2023", "1 juillet 2024"], None, "dates"),
    "month by name, in Portuguese": (
        ["5 de maio de 2024", "31 dez 2023", "1 set 2024"],
        None,
        "dates",
    ),
    "years first, in Japanese": (["2024年1月5日", "2023年12月31日", "2024年2月1日"], None, "dates"),
    "am and pm": (
        ["01/31/2024 06:00 AM", "12/31/2023 12:00 PM", "01/02/2024 12:00 AM"],
        [days(2024, 1, 31) + 0.25, days(2023, 12, 31) + 0.5, days(2024, 1, 2)],
        "dates",
    ),
    "yen": (["1,234円", "5円", "17,000円"], [1234, 5, 17000], "17000"),
    "hai": (["はい", "いいえ", "はい"], [1, 0, 1], "yes or no"),
    "istina": (["Да", "нет", "нет"], [1, 0, 0], "yes or no"),
    "wahr": (["WAHR", "FALSCH", "WAHR"], [1, 0, 1], "yes or no"),
    "times": (["14:35", "00:00", "23:59:59"], [52500, 0, 86399], "seconds after midnight"),
}
DATES = {
    "day first, with points": [(2023, 12, 31), (2024, 2, 1), (2024, 4, 3)],
    "day first, since one is above 12": [(2024, 4, 3), (2023, 12, 31), (2024, 2, 1)],
    "month first, since one is above 12": [(2024, 3, 4), (2023, 12, 31), (2024, 1, 2)],
    "month by name": [(2024, 1, 5), (2023, 12, 31), (2024, 2, 1)],
    "month by name, in Spanish": [(2024, 1, 5), (2023, 12, 31), (2024, 2, 1)],
    "month by name, in German": [(2024, 1, 5), (2023, 12, 31), (2024, 3, 1)],
    "month by name, in French": [(2024, 8, 5), (2023, 12, 31), (2024, 7, 1)],
    "month by name, in Portuguese": [(2024, 5, 5), (2023, 12, 31), (2024, 9, 1)],
    "years first, in Japanese": [(2024, 1, 5), (2023, 12, 31), (2024, 2, 1)],
}


@pytest.mark.parametrize("one_hot", [False, True])
@pytest.mark.parametrize("case", READ)
def test_read_as_numbers_with_a_notice(put, case, one_hot):
    cells, numbers, words = READ[case]
    numbers = numbers or [days(*day) for day in DATES[case]]
    loaded = read(put, table(cells), one_hot=one_hot)
    np.testing.assert_allclose(loaded.graph.features.ravel(), np.float32(numbers), rtol=1e-6)
    notices = "\n".join(loaded.graph.notices)
    assert "column 'x' read as" in notices
    assert pd.Series([notices]).str.contains(words).all(), notices
    columns = FeatureColumns.from_dict(json.loads(json.dumps(loaded.columns.as_dict())))
    assert columns == loaded.columns
    again = read(put, table(cells[:2]), "later.csv", like=columns)
    np.testing.assert_array_equal(again.graph.features, loaded.graph.features[:2])


# cells, words of the error, the line
REFUSED = {
    "thousands or decimals": (["7", "1,234", "5,678"], "'1,234', which may be 1234 or 1.234", 3),
    "which comes first": (
        ["03/04/2024", "05/06/2024", "01/02/2024"],
        "2024-04-03 or 2024-03-04",
        2,
    ),
    "some percent": (["45 %", "0.5", "3%"], "must be a number. Got '45 %'", 2),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_by_name(put, case):
    cells, words, line = REFUSED[case]
    with pytest.raises(InputError, match=rf"f\.csv, line {line}: .*[Cc]olumn 'x'.*{words}"):
        read(put, table(cells))


def test_the_decimal_sign_can_be_said(put):
    content = table(["7", "1,234", "5,678"])
    as_point = read(put, content, decimal=".").graph.features.ravel()
    assert as_point.tolist() == [7, 1234, 5678]
    as_comma = read(put, content, decimal=",").graph.features.ravel()
    np.testing.assert_allclose(as_comma, [7, 1.234, 5.678], rtol=1e-6)
    with pytest.raises(InputError, match=r"'decimal' must be None, '\.' or ','\. Got ';'"):
        read(put, content, decimal=";")


@pytest.mark.parametrize("one_hot", [False, True])
def test_one_cell_among_many_that_does_not_fit_is_named(put, one_hot):
    ring = "".join(f"n{i},n{i + 1}\n" for i in range(19))
    rows = "".join(f"n{i};{'about 3' if i == 11 else f'{i},5'}\n" for i in range(20))
    words = r"line 13: Every cell of column 'x' must be readable as numbers .*95 % .*Got 'about 3'"
    with pytest.raises(InputError, match=words):
        read_graph(put("e.csv", ring), features=put("f.csv", "id;x\n" + rows), one_hot=one_hot)


def test_errors_of_spreadsheets_are_missing(put):
    content = table(["1,5", "#DIV/0!", "#NV"], ["1", "2", "#REF!"], names="x y")
    loaded = read(put, content)
    assert loaded.graph.mixed.gaps.toarray().tolist() == [[0, 0], [1, 0], [1, 1]]
    assert loaded.graph.features.tolist() == [[1.5, 1], [1.5, 2], [1.5, 1.5]]
    notices = "\n".join(loaded.graph.notices)
    assert "2 cells hold a spreadsheet error in column 'x' ('#DIV/0!', '#NV')" in notices
    assert "1 cell holds a spreadsheet error in column 'y' ('#REF!')" in notices


def test_a_value_for_every_row_is_never_a_category(put):
    content = table(["Ann", "Bob", "Cid"], ["1", "2", "4"], ["u", "v", "u"], names="name x kind")
    loaded = read(put, content, one_hot=True)
    assert loaded.graph.feature_names == ("x", "kind=u", "kind=v")
    unused = "column 'name' is not used: every row has a different value"
    assert any(unused in notice for notice in loaded.graph.notices)
    later = table(["Dan", "Ann"], ["3", "3"], ["v", "v"], names="name x kind")
    again = read(put, later, "later.csv", like=loaded.columns)
    assert again.graph.features.tolist() == [[3, 0, 1], [3, 0, 1]]
    assert "Dan" not in "\n".join(again.graph.notices)
    plain = read(put, table(["Ann", "Bob", "Cid"], ["1", "2", "4"], names="name x"))
    assert plain.graph.feature_names == ("x",)
    with pytest.raises(
        InputError, match=r"must have a column of numbers or categories\. Got 'name'"
    ):
        read(put, table(["Ann", "Bob", "Cid"], names="name"), one_hot=True)


def test_hardly_a_value_twice_is_no_category_either(put):
    names = [f"owner {chr(97 + i)}" for i in range(24)]
    ring = "".join(f"n{i},n{i + 1}\n" for i in range(24))
    content = "id;name;x\n" + "".join(f"n{i};{[*names, names[0]][i]};{3 * i}\n" for i in range(25))
    loaded = read_graph(put("e.csv", ring), features=put("f.csv", content))
    assert loaded.graph.feature_names == ("x",)
    assert "'name' is not used: nearly all rows have a different value" in loaded.graph.notices[0]


def test_columns_can_be_left_out(put):
    content = table(["Ann", "Bob", "Cid"], ["1", "2", "4"], names="name x")
    loaded = read(put, content, ignore="name")
    assert loaded.graph.feature_names == ("x",)
    again = read(put, content, "later.csv", like=loaded.columns)
    assert again.graph.features.ravel().tolist() == [1, 2, 4]
    with pytest.raises(
        InputError, match=r"'ignore' must name a column of .*'name', 'x'.*Got 'nam'"
    ):
        read(put, content, ignore=["nam"])


def test_a_later_file_is_read_alike(put, tmp_path):
    first = read(
        put,
        table(["1,5", "1.234", "7"], ["31.12.2023", "1.2.2024", ""], names="x day"),
        impute="median",
    )
    assert first.graph.features[1].tolist() == [1234, days(2024, 2, 1)]
    later = read(
        put,
        table(["1.234", "2.000"], ["1.1.2024", "2.1.2024"], names="x day"),
        "later.csv",
        like=first.columns,
    )
    assert later.graph.features[:, 0].tolist() == [1234, 2000], "thousands, as in the first file"
    with pytest.raises(InputError, match=r"line 3: .*'x'.*decimal comma.*fitted\. Got '2\.5'"):
        read(put, table(["1.234", "2.5"], ["", ""], names="x day"), "l.csv", like=first.columns)
    frame = pd.DataFrame({"id": ["a", "b"], "x": [1.234, 2.5]})
    frame["day"] = pd.to_datetime(["2024-01-01", "2024-01-02"])
    frame.to_parquet(tmp_path / "later.parquet")
    typed = read_graph(put("e.csv", "a,b\n"), None, tmp_path / "later.parquet", like=first.columns)
    expected = [[1.234, days(2024, 1, 1)], [2.5, days(2024, 1, 2)]]
    np.testing.assert_allclose(typed.graph.features, expected, rtol=1e-6)


def test_weights_in_another_dress(put):
    loaded = read_graph(put("e.csv", "von;nach;Zahlung\na;b;1.234,50 €\nb;c;2,00 €\n"))
    assert loaded.graph.adjacency.toarray()[0, 1] == 1234.5
    notices = "\n".join(loaded.graph.notices)
    assert "'Zahlung' is used as the edge weight" in notices
    assert "'1.234,50 €' is 1234.5" in notices


def test_what_is_text_stays_text(put):
    cells = ["red", "2 doors", "red", "9 to 5", "n/a", "red"]
    loaded = read(put, table(cells))
    assert loaded.graph.feature_names == ("x=2 doors", "x=9 to 5", "x=red")


def test_a_letter_that_is_not_behind_every_number_is_no_unit(put):
    loaded = read(put, table(["12A", "12A", "13A", "12A", "12B", "13A"]))
    assert loaded.graph.feature_names == ("x=12A", "x=12B", "x=13A")
