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
    if found := _NOT_PARQUET.search(text) or _UNREADABLE.search(text):
        hint = "Write or copy it again."
        return wrong(found[1], "The file", "be a complete Parquet file", "one that is not", hint)
    if "UNABLE_TO_INFER_SCHEMA" in text:
        return wrong(table or "The tables", "The table", "be Parquet", "no file that is")
    # Of an error in a worker's Python, the last line of its traceback says what it was.
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    said = next((line[2:] for line in lines if line.startswith(": ")), lines[0])
    if "Python worker" in text or "PythonException" in text:
        raised = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Warning): ", line)]
        said = raised[-1] if raised else said
    said = first_line(CPGNNError(said))
    return CPGNNError(f"Spark stopped: {said}. Set spark.log.level=ERROR to see its log.")
