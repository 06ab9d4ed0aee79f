"""Spark's errors in our words: what a user can fix is said in a sentence, without Java."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pyspark.errors import PySparkException

from cpgnn.engine.text import first_line
from cpgnn.errors import BeliefOverflowError, CPGNNError, Message, advise
from cpgnn.io.files import wrong

ERRORS: tuple[type[Exception], ...] = (PySparkException,)
with suppress(ImportError):  # a client of Spark Connect needs no Java, and may not have this
    from py4j.protocol import Py4JJavaError

    ERRORS = (PySparkException, Py4JJavaError)

OVERFLOW = Message(
    "Beliefs of every node must be finite. Got infinite ones. ",
    advise("Try {}, or fewer layers.", normalization=("sym", "row")),
)
"""Raised by the executors, where beliefs are divided by their sum."""

_UNREADABLE = re.compile(
    r"(?:FAILED_READ_FILE\S*|CANNOT_READ_FILE_FOOTER).*?(?:file:?) (\S+?)\.?\s", re.DOTALL
)
_MISSING = re.compile(r"PATH_NOT_FOUND.*?: (\S+?)\.?\s", re.DOTALL)
_NOT_PARQUET = re.compile(r"(\S+) is not a Parquet file")
_OTHER_TYPE = re.compile(
    r"PARQUET_COLUMN_DATA_TYPE_MISMATCH.*?file (\S+?)\.\s"
    r".*?column \[(\S+)\].*?type (\S+), .*?type (\S+)\."
)
_BAD_PAGES = re.compile(r"(?:Error|Exception)\b.*\n\s+at org\.apache\.(?:parquet|\S+\.parquet)\.")
"""Bytes that decompress to something else end in any of Java's errors, in the reader of Parquet."""
_COLUMNS = re.compile(
    r"\[(?:COLUMN_ALREADY_EXISTS|UNSUPPORTED_TIME_TYPE|PARQUET_TYPE_ILLEGAL)\] (.*?)\.\s"
)
_TASK = re.compile(r".*?Lost task [^\n]*?\(\S+ executor \S+\): ", re.DOTALL)
_CLASS = re.compile(r"^(?:[a-z]\w*\.)+([A-Z]\w*)")


@contextmanager
def spark_errors(table: str | None = None) -> Iterator[None]:
    """Turns what Spark raises into a `CPGNNError`; also serves as a decorator.

    `table` is the path of the table that is read inside, if it is one.
    """
    try:
        yield
    except ERRORS as error:
        raise _translated(error, table) from error


def _translated(error: Exception, table: str | None) -> CPGNNError:
    text = str(error) + "\n"
    if OVERFLOW in text:
        return BeliefOverflowError(OVERFLOW)
    if found := _MISSING.search(text):
        return wrong(table or found[1], "The table", "exist", "nothing there", "Check the name.")
    if found := _OTHER_TYPE.search(text):
        path, column, wanted, got = found.groups()
        must = f"have column {column!r} as the other files of its table do, {wanted}"
        return wrong(path, "The file", must, got, "Write it again with that type.")
    if found := _NOT_PARQUET.search(text) or _UNREADABLE.search(text):
        hint = "Write or copy it again."
        return wrong(found[1], "The file", "be a complete Parquet file", "one that is not", hint)
    if "UNABLE_TO_INFER_SCHEMA" in text:
        return wrong(table or "The tables", "The table", "be Parquet", "no file that is")
    if _BAD_PAGES.search(text):
        got, hint = "a file whose bytes were changed", "Write or copy it again."
        return wrong(table or "The tables", "The files", "be complete Parquet files", got, hint)
    if found := _COLUMNS.search(text):
        must, hint = "have names and types that Spark reads", f"Spark says: {found[1]}."
        return wrong(table or "The tables", "The columns", must, "others", hint)
    if "Not enough memory to build and broadcast" in text:
        return CPGNNError(
            "Spark's memory is too small for what is sent to all executors. Give it more "
            "(spark.driver.memory), or send nothing (spark.sql.autoBroadcastJoinThreshold=-1)."
        )
    # Of an error in a worker's Python, the last line of its traceback says what it was.
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    said = next((line[2:] for line in lines if line.startswith(": ")), lines[0])
    if "Python worker" in text or "PythonException" in text:
        raised = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Warning): ", line)]
        said = raised[-1] if raised else said
    said = first_line(CPGNNError(_CLASS.sub(r"\1", _TASK.sub("", said))))
    return CPGNNError(f"Spark stopped: {said}. Set spark.log.level=ERROR to see its log.")
