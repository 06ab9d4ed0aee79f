"""One reader under Atheris, guided by the coverage of our code (`pip install atheris`).

    python benchmarks/fuzz/guided.py npz -max_total_time=600

Atheris chooses which inputs to go on from; our mutators change them, so that archives stay sound.
An exception that is not ours, 10 s or 2 GB end the search and leave the input as a file.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["cpgnn"]):
    from readers import Files, put, readers

    from cpgnn.errors import CPGNNError

    READERS = readers()


def packed(files: Files) -> bytes:
    """A folder as one input."""
    return json.dumps({name: data.decode("latin-1") for name, data in files.items()}).encode()


def unpacked(data: bytes) -> Files | None:
    with suppress(ValueError, AttributeError, TypeError):
        return {name: text.encode("latin-1") for name, text in json.loads(data).items()}
    return None


def main() -> None:
    name, *options = sys.argv[1:]
    reader = READERS[name]
    folder = Path(tempfile.mkdtemp())
    warnings.simplefilter("ignore")

    def read(data: bytes) -> None:
        files = unpacked(data)
        if files is not None:
            put(folder / "in", files)
            with suppress(CPGNNError):
                reader.read(folder / "in")

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        rng = random.Random(seed)
        files = unpacked(data) or reader.seeds[0]
        return packed(reader.mutated(rng, files))[:most]

    corpus = folder / "corpus"
    corpus.mkdir()
    for i, files in enumerate(reader.seeds):
        (corpus / str(i)).write_bytes(packed(files))
    limits = ["-timeout=10", "-rss_limit_mb=2048", "-max_len=4000000"]
    atheris.Setup([sys.argv[0], *limits, *options, str(corpus)], read, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
