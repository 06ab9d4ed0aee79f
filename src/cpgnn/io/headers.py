"""Is the first line a header? And does it say that these are the wrong columns?

The rule. A first line is a header when

(a) no cell of it is a number, and some column holds numbers in every other line that was
    looked at, but not in this one (empty and missing cells do not count); or
(b) the cells where ids stand are all common names of id columns (`source`, `dst`, `node_id`,
    `u`, …), or all its cells are common names of some column (`id`, `label`, `weight`, …); none
    of the names is an id further down, and no cell is a number. (Feature columns may have
    numbers for names, such as `id,2023,2024`.)

(c) its cells are words without a digit, every id further down has a digit, and no cell occurs
    again in its column: `payer,payee` above `a01,b07`. This is announced.

Everything else is data. A first edge that is a misspelt header (`sorce,target`), or that may be
one (two words that occur nowhere else), is refused or announced by `cpgnn.io.edges`.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass


def plain(name: str) -> str:
    """A column name as the lists below spell it: `From Node-ID` is `fromnodeid`, `Émetteur` is
    `emetteur`."""
    bare = unicodedata.normalize("NFD", name.strip().lstrip("#%").lower())
    bare = re.sub(r"(?<=\w)\s*(\(.*\)|\[.*\])$", "", bare)  # a unit: `Montant (€)`
    return re.sub(r"[\s_.\-\u0300-\u036f]+", "", bare)


def one_line(name: str) -> str:
    """A column name as it is shown: what a spreadsheet broke into lines is put together."""
    return re.sub(r"\s*\n\s*", " ", name.strip())


def _names(text: str) -> frozenset[str]:
    return frozenset(plain(name) for name in text.split())


SOURCE = _names(
    "source src from u head start sender source_id src_id from_id source_node from_node "
    "from_node_id from_account source_account originator id1 id_1 node1 node_1 node_id1 node_a i"
)
TARGET = _names(
    "target dst to v tail end receiver dest destination target_id dst_id to_id target_node "
    "to_node to_node_id to_account target_account beneficiary id2 id_2 node2 node_2 node_id2 "
    "node_b j"
)
ID = _names(
    "id ids node nodes node_id id_node vertex vertex_id name key index user_id item_id "
    "account_id paper_id"
)
NODES = _names(
    "account account_no account_nr account_number customer customer_id customer_no client "
    "client_id user member member_id company company_id entity entity_id konto kontonummer kunde "
    "kundennummer compte cuenta conto rekening konto klient cliente client_no"
)
"""What nodes are called in exports: they say which of many columns has the ids, not that a line is
a header."""
LABEL = _names("label labels class classes y category class_label node_label")
CLASS = _names(
    "fraud is_fraud fraudulent klasse klassifikation kategorie classe clase categorie catégorie "
    "categoria categoría target"
)
"""What labels are called in exports: they say which of many columns has them."""
SPLIT = _names("split fold mask set subset")
WEIGHT = _names("weight weights w value count strength score edge_weight")
RELATION = _names(
    "type relation kind rel edge_type edge_kind link_type link_kind relation_type relationship "
    "predicate"
)
"""Names of a column of the edges that says what an edge means."""
KIND = _names("kind node_kind node_type")
"""Names of a column of labels or features that says what a node is."""
ENDS = ID | SOURCE | TARGET
KNOWN = ENDS | LABEL | SPLIT | WEIGHT
PAYER = _names(
    "payer payer_id debtor sender_id sender_account name_orig buyer buyer_id caller follower "
    "citing citing_id auftraggeber absender zahler donneur_d_ordre ordonnateur ordenante ordinante "
    "debit_account debtor_account account_debit sollkonto compte_debit cuenta_origen "
    "sending_account von émetteur expéditeur payeur débiteur mittente pagatore debitore remitente "
    "pagador deudor origen remetente origem betaler afzender nadawca płatnik avsändare betalare"
)
PAYEE = _names(
    "payee payee_id creditor receiver_id receiver_account recipient recipient_id name_dest seller "
    "seller_id callee followee cited cited_id empfänger empfaenger bénéficiaire beneficiaire "
    "beneficiario destinataire credit_account creditor_account account_credit habenkonto "
    "compte_credit cuenta_destino receiving_account an nach créancier destinatario creditore "
    "acreedor destino ontvanger begunstigde odbiorca mottagare"
)
"""The ends of a payment: they say which of many columns is which, not that a line is a header."""
OTHER_ACCOUNT = _names(
    "counterparty counterparty_id counterparty_account counter_account contra_account "
    "offset_account gegenkonto gegenpartei compte_contrepartie contrepartie contropartita "
    "contrapartida contracuenta"
)
"""The other end, where the first is called as nodes are: `Konto`, `Gegenkonto`."""
ENDINGS = NODES | _names("iban bank_account wallet address acct ac person phone")
WAYS = tuple(
    tuple(way.split())
    for way in (
        "from to",
        "von nach",
        "von an",
        "sender receiver",
        "orig bene",
        "orig dest",
        "src dst",
    )
)
"""What stands before the same of `ENDINGS` at the two ends: `Von Konto`, `Nach Konto`."""
COUNTER = _names(
    "# unnamed:0 index row no nr num number line line_no row_no row_number rowid lfd lfdnr lfd_nr "
    "zeile serial serial_no s_no sr_no n° nº nro núm lp poz poř"
)
"""What a first column that only counts the rows is called, by pandas, spreadsheets and people."""
AMOUNT = _names(
    "amount amounts sum total volume price betrag summe umsatz montant importe importo valor "
    "bedrag kwota belopp suma сумма"
)
"""Names of columns that may be meant as the weight."""
WEAK = _names("u v i j from to head tail start end node nodes name key index")
"""Names that could as well be ids (words, letters): a header known by them alone is announced."""

# fmt: off
SPREADSHEET_ERRORS = (
    "#n/a", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!", "#error!", "#spill!",
    "#nv", "#wert!", "#bezug!", "#zahl!",  # German
    "#valeur!", "#nom?", "#nombre!", "#nul!",  # French
    "#¡valor!", "#¡ref!", "#¿nombre?", "#¡num!", "#¡div/0!", "#¡nulo!",  # Spanish
    "#n/d", "#valore!", "#rif!", "#nome?",  # Italian
)
# fmt: on
MISSING = ("", "na", "n/a", "nan", "-nan", "null", "none", "?", *SPREADSHEET_ERRORS)
"""What stands for a missing number, in lower case."""

NUMBER = r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?"
_DRESSED = re.compile(r"[^\w]*(\d[\d.,:/'’ \u00a0-]*)[^\w]*")
"""Numbers in other formats (see `readings`), dates and times among them."""
LONGEST_NUMBER = 1000
"""Characters; what is longer is none, and would take patterns the square of its length."""


def is_number(cell: str) -> bool:
    return len(cell) <= LONGEST_NUMBER and re.fullmatch(NUMBER, cell.strip(), re.ASCII) is not None


@dataclass(frozen=True, kw_only=True)
class HeaderRule:
    """Who decides whether the first line of a table is a header."""

    ids: Sequence[int]
    """The columns with ids."""
    numbers: bool
    """Whether other columns may be numbers."""
    header: bool | None
    """The user's word; None: the rule above."""
    names: Collection[str]
    """A first line with one of them is a header."""

    def decide(self, first: Sequence[str], others: Sequence[Sequence[str]]) -> tuple[bool, bool]:
        """Whether `first` is a header, and whether that should be announced."""
        if self.header is not None:
            return self.header, False
        others = [row for row in others if any(cell.strip() for cell in row)]
        if any(cell.strip() in self.names for cell in first):
            return True, False
        number_names = self.numbers and tuple(self.ids) == (0,)  # features may have such names
        return is_header(first, others, self.ids, number_names)


def is_header(
    first: Sequence[str], others: Sequence[Sequence[str]], ids: Sequence[int], number_names: bool
) -> tuple[bool, bool]:
    """Whether `first` is a header by the rule above, and whether that should be announced."""
    has_number = any(is_number(cell) for cell in first)
    if not has_number and any(_tells(first, others, column) for column in range(len(first))):
        return True, False
    names = [plain(first[i]) for i in ids if i < len(first)]
    known = all(name in ENDS for name in names) or all(plain(cell) in KNOWN for cell in first)
    if len(names) == len(ids) and _unlike(first, others, ids):
        return True, not known
    if len(names) < len(ids) or not known or (has_number and not number_names):
        return False, False
    heads = {first[i] for i in ids if i < len(first)}
    below = {row[i] for row in others for i in ids if i < len(row)}
    return not heads & below, any(name in WEAK for name in names)


def _unlike(first: Sequence[str], others: Sequence[Sequence[str]], ids: Sequence[int]) -> bool:
    """Rule (c): words above ids that all have digits, none of them seen again."""
    if not others or not all(is_word(cell) for cell in first):
        return False
    below = [row[i] for row in others for i in ids if i < len(row)]
    if not all(any(char.isdigit() for char in cell) for cell in below):
        return False
    return not any(first[i] == row[i] for row in others for i in range(min(len(first), len(row))))


def is_word(name: str) -> bool:
    """Letters, perhaps with blanks, dashes or underscores between them; no digit."""
    return re.fullmatch(r"[^\W\d]([\w .\-]*[^\W])?", name.strip()) is not None and not any(
        char.isdigit() for char in name
    )


def near_name(name: str) -> str | None:
    """The common name of an end of an edge that `name` is, or is one slip away from."""
    strong = sorted(ENDS - WEAK)
    close = difflib.get_close_matches(plain(name), strong, n=1, cutoff=0.8)
    return close[0] if close else None


def _tells(first: Sequence[str], others: Sequence[Sequence[str]], column: int) -> bool:
    cells = [row[column] for row in others if column < len(row)]
    cells = [cell for cell in cells if cell.strip().lower() not in MISSING]
    name = first[column].strip().lower()
    counts_rows = column == 0 and not name and len(first) > 2  # as pandas writes an index
    return (
        (name not in MISSING or counts_rows)
        and bool(cells)
        and all(_is_value(cell) for cell in cells)
    )


def _is_value(cell: str) -> bool:
    short = len(cell) <= LONGEST_NUMBER
    return short and (is_number(cell) or _DRESSED.fullmatch(cell.strip()) is not None)


def misplaced(header: Sequence[str], allowed: Sequence[frozenset[str]]) -> bool:
    """Whether some column carries the well-known name of another one.

    `allowed` has the well-known names for each column, by position; unknown names pass.
    """
    return any(
        plain(name) in KNOWN - fitting for name, fitting in zip(header, allowed, strict=False)
    )
