"""Which columns of a table are which: by option, by the names people use, else by position."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict

from cpgnn.engine.text import did_you_mean, listed
from cpgnn.errors import InputError, advise, check_choice, wrong_value
from cpgnn.io.address import Place
from cpgnn.io.files import is_encoding, wrong
from cpgnn.io.headers import (
    AMOUNT,
    CLASS,
    COUNTER,
    ENDINGS,
    ID,
    KIND,
    KNOWN,
    LABEL,
    NODES,
    OTHER_ACCOUNT,
    PAYEE,
    PAYER,
    RELATION,
    SOURCE,
    SPLIT,
    TARGET,
    WAYS,
    WEAK,
    WEIGHT,
    plain,
)
from cpgnn.relations.edge_types import Directed

if TYPE_CHECKING:
    from cpgnn.io.readings import Decimal

Header = tuple[str, ...] | None


class ColumnOptions(TypedDict, total=False):
    """How `read_graph` finds and reads columns; see `Columns`."""

    source: str | None
    target: str | None
    weight: str | None
    id: str | None
    label: str | None
    feature: Sequence[str]
    ignore: Sequence[str]
    decimal: Decimal | None
    header: bool | None
    headers: Collection[Collection[str]]
    optional: Collection[str]
    relation_column: str | None
    kind_column: str | None
    split_time: str | None
    directed: Directed | None
    encoding: str | None


@dataclass(frozen=True)
class Columns:
    """The names of columns, as far as they were given, and how tables are written."""

    source: str | None = None
    target: str | None = None
    weight: str | None = None
    id: str | None = None
    label: str | None = None
    feature: Sequence[str] = ()
    ignore: Sequence[str] = ()
    decimal: Decimal | None = None
    header: bool | None = None
    """Whether tables have one; found from their first lines by default."""
    headers: Collection[Collection[str]] = ()
    """Those of the tables of an earlier graph: a first line with such words is one, too."""
    optional: Collection[str] = ()
    """Parameters, such as `source`, whose columns a file may lack, as those of an earlier file:
    columns are then found by the rules."""
    relation_column: str | None = None
    """The column that holds the type of an edge; "": none, whatever it is called."""
    kind_column: str | None = None
    """The column of labels and features that says what a node is; "": none."""
    split_time: str | None = None
    """The column of edges, or of labels, that says when each came."""
    directed: Directed | None = None
    """Whether edges have a direction, or which types of them do; None: not said."""
    encoding: str | None = None
    """Of text tables that are neither UTF-8 nor UTF-16; None: Windows-1252."""
    of_labels: Sequence[str] = ()
    """Columns of the labels besides the id: unless they are named, they are not features."""

    def __post_init__(self) -> None:
        check_choice("decimal", self.decimal, (None, ".", ","))
        if self.encoding is not None and not is_encoding(self.encoding):
            must = "be an encoding that Python knows, such as 'cp1250' or 'shift_jis'"
            raise wrong_value("encoding", must, repr(self.encoding))
        for parameter in ("feature", "ignore"):
            if isinstance(name := getattr(self, parameter), str):
                object.__setattr__(self, parameter, (name,))

    @property
    def names(self) -> set[str]:
        """Every name that was given: a first line with one of them is a header."""
        ends = (self.source, self.target, self.weight, self.relation_column, self.split_time)
        nodes = (self.id, self.label, self.kind_column, *self.feature, *self.ignore)
        return {name for name in (*ends, *nodes) if name}

    def for_one_of(self, files: int) -> Columns:
        """The same where each column may be in one of so many files only."""
        several = () if files < 2 else ("feature", "ignore")
        return replace(self, optional=(*self.optional, *several))

    def edges(self, path: Place, header: Header, width: int) -> list[int]:
        """Positions of source, target[, weight][, type][, time]."""
        find = _Finder(path, header, self.optional)
        last = _there(self.find_relation(path, header), self.find_time(header))
        rest = [i for i in range(width) if i not in last]
        given = [find.named(key, getattr(self, key)) for key in ("source", "target", "weight")]
        called = [*find.ends(), find.called(WEIGHT)]
        if not _there(*given) and len(rest) <= 3:
            return [*_in_order(called, find.uncounted(rest, called, WEIGHT | AMOUNT)), *last]
        source, target, weight = (
            by_name if i is None else i for i, by_name in zip(given, called, strict=True)
        )
        ends = [i for i in rest if i != weight]
        if len(ends) == 2:  # there is nothing else that they could be
            source = next(i for i in ends if i != target) if source is None else source
            target = next(i for i in ends if i != source) if target is None else target
        if source is None or target is None:
            hint = advise("Name them with {} and {}.", source="…", target="…")
            raise find.unclear("Edges", "source, target[, weight]", width, hint)
        return [source, target, *_there(weight), *last]

    def find_relation(self, path: Place, header: Header) -> int | None:
        """Where the types of edges stand: the column named, or one called so after the ends."""
        find = _Finder(path, header, self.optional)
        if self.relation_column is not None:
            return find.named("relation_column", self.relation_column or None)
        found = find.called(RELATION)
        ends = {self.source, self.target, self.weight}
        if found is None or found < 2 or (header and header[found] in ends):
            return None
        return found

    def find_time(self, header: Header) -> int | None:
        """Where the times stand, if this is the file that has them."""
        if self.split_time is None or self.split_time not in (header or ()):
            return None
        return (header or ()).index(self.split_time)

    def find_kind(self, path: Place, header: Header) -> int | None:
        """Where the kinds of nodes stand: the column named, or one called so after the ids."""
        find = _Finder(path, header, (*self.optional, "kind_column"))
        if self.kind_column is not None:
            return find.named("kind_column", self.kind_column or None)
        found = find.called(KIND)
        return found or None

    def labels(self, path: Place, header: Header, width: int) -> list[int]:
        """Positions of id, label[, split][, kind]."""
        find = _Finder(path, header, self.optional)
        ids, label = find.named("id", self.id), find.named("label", self.label)
        last = _there(self.find_kind(path, header), self.find_time(header))
        rest = [i for i in range(width) if i not in last]
        if ids is None and label is None and len(rest) <= 3:
            called = [find.called(names) for names in (ID, LABEL, SPLIT)]
            return [*_in_order(called, find.uncounted(rest, called, SPLIT)), *last]
        ids = find.id() if ids is None else ids
        if label is None:
            label = next(iter(_there(find.called(LABEL), find.called(CLASS))), None)
        if label is None and width == 2:
            label = 1 - ids
        if label is None or label == ids:
            hint = advise("Name the column with {}.", label="…")
            raise find.unclear("Labels", "id, label[, split]", width, hint)
        return [*_there(ids, label, find.called(SPLIT)), *last]

    def features(self, path: Place, header: Header, width: int) -> list[int]:
        """Positions of id and every feature."""
        find = _Finder(path, header, self.optional)
        ids = find.named("id", self.id)
        if ids is None:  # a first column called label is refused later: these are no features
            foreign = header is not None and plain(header[0]) in KNOWN - ID
            ids = 0 if foreign else find.id()
        if chosen := find.several("feature", self.feature):
            return [ids, *_there(*chosen, self.find_kind(path, header))]
        ignored = {*find.several("ignore", self.ignore)}
        ignored |= {i for i, name in enumerate(header or ()) if name in self.of_labels}
        if ids and find.is_index(0):
            ignored.add(0)
        return [ids, *(i for i in range(width) if i != ids and i not in ignored)]

    def node_ids(self, path: Place, header: Header) -> int:
        """Position of the id in a list of nodes: the column named, or called so, or the first."""
        find = _Finder(path, header, self.optional)
        named = find.named("id", self.id)
        called = [i for i, name in enumerate(header or ()) if plain(name) in ID]
        return named if named is not None else [*called, 0][0]


def _there(*places: int | None) -> list[int]:
    """The places of columns that are there, each once."""
    return [i for i in dict.fromkeys(places) if i is not None]


def _in_order(called: Sequence[int | None], rest: list[int]) -> list[int]:
    """Columns by their names, if that is all of them; otherwise as they stand."""
    return _there(*called) if {*_there(*called)} == {*rest} else rest


class UnclearColumnsError(InputError):
    """Nothing says which column is which: neither an option nor a name."""


@dataclass(frozen=True)
class _Finder:
    path: Place
    header: Header
    optional: Collection[str]

    def named(self, parameter: str, name: str | None) -> int | None:
        """The position of a column that an option names; None if it is optional and not here."""
        header = self.header or ()
        if name is None or (name not in header and parameter in self.optional):
            return None
        if name not in header:
            raise self._unknown(parameter, name)
        return header.index(name)

    def several(self, parameter: str, names: Sequence[str]) -> list[int]:
        return _there(*(self.named(parameter, name) for name in names))

    def _unknown(self, parameter: str, name: str) -> InputError:
        must, hint = f"name a column, but {self.path} has no header", ""
        if self.header is not None:
            must = f"name a column of {self.path}: {listed(self.header, 12)}"
            hint = did_you_mean(name, self.header)
        error = wrong_value(parameter, must, repr(name), hint)
        error.file = str(self.path)
        return error

    def unclear(self, what: str, usual: str, width: int, hint: str) -> InputError:
        """The error for a table in which nothing says which column is which."""
        must = f"have 2 or 3 columns: {usual}; or a header that names them"
        got = f"{width}{f' ({listed(self.header)})' if self.header else ''}"
        made = wrong(self.path, what, must, got, hint if self.header else "Add a header.")
        error = UnclearColumnsError(*made.args)
        error.file = made.file
        return error

    def called(self, names: frozenset[str]) -> int | None:
        """The position of the only column whose name is one of these."""
        found = [i for i, name in enumerate(self.header or ()) if plain(name) in names]
        return found[0] if len(found) == 1 else None

    def ends(self) -> list[int | None]:
        """Where source and target stand, by their names."""
        known = [self.called(SOURCE | PAYER), self.called(TARGET | PAYEE)]
        accounts = [self.called(NODES), self.called(OTHER_ACCOUNT)]
        ways = [
            [self.called(frozenset(way + ending for ending in ENDINGS)) for way in both]
            for both in WAYS
        ]
        return next((ends for ends in (known, accounts, *ways) if None not in ends), known)

    def uncounted(
        self, rest: list[int], called: Sequence[int | None], third: frozenset[str]
    ) -> list[int]:
        """Three columns without a first one that only counts the rows.

        Unless the others are no table by themselves: the second a label, or the last a `third`.
        """
        if len(rest) != 3 or rest[0] != 0 or not self.is_index(0):
            return rest
        second, last = (plain((self.header or ())[i]) for i in rest[1:])
        needed = {*_there(*called)} != {*rest[1:]} and (second in LABEL or last in third)
        return rest if needed else rest[1:]

    def id(self) -> int:
        """The first column; the one called id where the first is called something else."""
        called = [self.called(ID - {"index"}), self.called(ID - WEAK), self.called(NODES)]
        first = plain((self.header or ("id",))[0])
        if first in ID - {"index"} or (first in NODES and not self.is_index(0)):
            return 0
        found = called if self.is_index(0) else called[1:]
        return next((i for i in found if i is not None), 0)

    def is_index(self, i: int) -> bool:
        """Whether a column is named as pandas and spreadsheets name one that counts rows."""
        return self.header is not None and plain(self.header[i]) in COUNTER
