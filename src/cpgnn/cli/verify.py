"""`cpgnn verify`: are the files of a run as they were written?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cpgnn.engine.text import count
from cpgnn.errors import InputError


def verify(run: Annotated[Path, typer.Argument(help="A folder that 'cpgnn fit' wrote.")]) -> None:
    """Check that no file of a run was changed or lost."""
    from cpgnn.run.manifest import verify_run

    found = verify_run(run)
    for word in ("changed", "missing", "unknown"):
        for name in getattr(found, word):
            print(f"{word}: {name}")
    print(f"{count(len(found.intact), 'file')} intact")
    if found.changed or found.missing:
        odd = f"{count(len(found.changed), 'file')} changed, {len(found.missing):,} missing"
        raise InputError(f"{run} has changed since it was written: {odd}. Fit again.")
