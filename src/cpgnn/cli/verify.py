"""`cpgnn verify`: are the files of a run as they were written?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def verify(
    run: Annotated[Path, typer.Argument(help="A folder that 'cpgnn fit' wrote.")],
) -> None:
    """Check that no file of a run was changed or lost."""
    from cpgnn.engine.text import count
    from cpgnn.errors import must_be
    from cpgnn.run.manifest import verify_run

    found = verify_run(run)
    for word in ("changed", "missing", "unknown"):
        for name in getattr(found, word):
            print(f"{word}: {name}")
    print(f"{count(len(found.intact), 'file')} intact")
    if found.changed or found.missing:
        got = f"{len(found.changed)} changed and {len(found.missing)} missing"
        raise must_be(f"{run}", "be as it was written", got, "Fit again.")
