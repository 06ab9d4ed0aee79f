"""manifest.json: the SHA-256 of every file of a run, so that a changed one is noticed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

import cpgnn
from cpgnn.engine.records import Record, json_text, read_record
from cpgnn.errors import InputError, must_be

MANIFEST = "manifest.json"
UNLISTED = {MANIFEST, "report.html", "seconds.json"}
"""`cpgnn report` writes the page again, and a clock is read anew in every run."""


class ManifestRecord(Record):
    cpgnn_version: str
    files: dict[str, Annotated[str, Field(pattern="^[0-9a-f]{64}$")]]


@dataclass(frozen=True)
class Verified:
    """What became of the files of a run since they were written; paths within its folder."""

    intact: tuple[str, ...]
    changed: tuple[str, ...]
    missing: tuple[str, ...]
    unknown: tuple[str, ...]
    """Files that the run was not written with."""


def write_manifest(folder: Path) -> None:
    files = {name: _digest(folder / name) for name in _listed(folder)}
    record = {"cpgnn_version": cpgnn.__version__, "files": files}
    (folder / MANIFEST).write_text(json_text(record), encoding="utf-8")


def verify_run(folder: Path | str) -> Verified:
    """Compares every file of a run with its manifest."""
    folder = Path(folder)
    if not folder.is_dir():
        raise must_be(f"{folder}", "be a folder that 'cpgnn fit' wrote", "no folder")
    if not (folder / MANIFEST).is_file():
        hint = "Early runs of cpgnn have none; fit again."
        raise must_be(f"{folder}", f"be a run with a {MANIFEST}", "none", hint)
    files = read_record(ManifestRecord, folder / MANIFEST).files
    here = _listed(folder)
    there = [name for name in files if name in here]
    intact = [name for name in there if _digest(folder / name) == files[name]]
    return Verified(
        tuple(intact),
        tuple(name for name in there if name not in intact),
        tuple(name for name in files if name not in here),
        tuple(name for name in here if name not in files),
    )


def check_unchanged(folder: Path, names: Sequence[str]) -> None:
    """Raises if one of these files is not as it was written; runs without a manifest pass."""
    if not (folder / MANIFEST).is_file():
        return
    files = read_record(ManifestRecord, folder / MANIFEST).files
    for name in (name for name in names if name in files):
        if not (folder / name).is_file() or _digest(folder / name) != files[name]:
            raise InputError(
                f"{folder / name} was changed after it was written. Fit again, or delete "
                f"{folder / MANIFEST} if the change is yours."
            )


def _listed(folder: Path) -> list[str]:
    files = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in files if name not in UNLISTED)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
