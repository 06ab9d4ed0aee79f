"""Are the files there? Asked by commands before anything slow is imported."""

from __future__ import annotations

from pathlib import Path

from cpgnn.errors import InputError, must_be, tidy
from cpgnn.io.address import Address, StrPath, locate
from cpgnn.io.problems import Problems

CONFIG = "config.json"
TABLE_ENDINGS = (".csv", ".parquet")


def no_such_file(path: StrPath) -> InputError:
    error = InputError(f"{tidy(str(path))}: No such file. Check the name.")
    error.file = str(path)
    return error


def check_files(*paths: StrPath | None) -> None:
    """Raises, once for all, about those that do not exist; addresses of servers are skipped."""
    problems = Problems()
    for path in dict.fromkeys(paths):
        with problems.noted():
            place = None if path is None else locate(path)
            file = place.file if isinstance(place, Address) else place
            if file is not None and not file.exists():
                raise no_such_file(file)
    problems.stop()


def check_run_folder(folder: StrPath) -> None:
    """Raises unless this is a folder that a fit may have written."""
    folder = Path(folder)
    if not (folder / CONFIG).is_file():
        got = f"one without {CONFIG}" if folder.is_dir() else "no folder"
        raise must_be(f"{folder}", "be a folder that 'cpgnn fit' wrote", got)


def check_table_path(path: StrPath) -> Path:
    """The path, if its ending names a format that tables are written in."""
    path = Path(path)
    if path.suffix.lower() not in TABLE_ENDINGS:
        got = repr(path.suffix or path.name)
        error = must_be(f"{path}: The ending of a table", "be '.csv' or '.parquet'", got)
        error.file = str(path)
        raise error
    return path
