"""Whether files exist, checked by commands before anything slow is imported."""

from __future__ import annotations

from pathlib import Path

from cpgnn.errors import InputError, either, must_be, tidy, wrong_value
from cpgnn.io.address import Address, StrPath, locate
from cpgnn.io.problems import Problems

CONFIG, REPORT = "config.json", "report.html"
TABLES = "a table", ".csv", ".parquet"
EXPLANATIONS = "an explanation", ".json", ".csv", ".parquet"
PICTURES = "a picture", ".png", ".svg"
"""What is written, and in which formats."""


def no_such_file(path: StrPath) -> InputError:
    error = InputError(f"{tidy(str(path))}: No such file. Check the name.")
    error.file = str(path)
    return error


def check_files(*paths: StrPath | None) -> None:
    """Raises one error about all that do not exist; addresses of servers are skipped."""
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


def check_spares(parameter: str, out: StrPath | None, *kept: StrPath | None) -> None:
    """Raises if the file that this parameter names would replace one of these files, or one in
    these folders."""
    if out is None or not Path(out).exists():
        return
    for path in kept:
        if path is None:
            continue
        place = locate(path)
        file = place.file if isinstance(place, Address) else place
        if file is None or not file.exists():
            continue
        inside = file.is_dir() and Path(out).resolve().is_relative_to(file.resolve())
        if inside or file.samefile(out):
            must = f"not replace {'a file of the run' if inside else 'a file that is read'}"
            raise wrong_value(parameter, must, repr(str(out)), "Try another name.")


def check_ending(path: StrPath, what: str, *known: str) -> Path:
    """The path, if its ending names a format that `what` is written in."""
    path = Path(path)
    if path.suffix.lower() not in known:
        must, got = f"be {either([repr(ending) for ending in known])}", path.suffix or path.name
        error = must_be(f"{path}: The ending of {what}", must, repr(got))
        error.file = str(path)
        raise error
    return path
