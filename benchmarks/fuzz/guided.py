"""Every reader under Atheris, guided by the coverage of our code (`pip install atheris`).

    python benchmarks/fuzz/guided.py --seconds 120             # all readers, one after the other
    python benchmarks/fuzz/guided.py --seconds 600 --only npz  # one of them

Atheris chooses which inputs to go on from; our mutators change them, so that archives stay sound.
An exception that is not ours is counted, kept in build/fuzz and told; 10 s or 2 GB end the search
of a reader. Each search is one line of results/guided.jsonl.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from contextlib import suppress
from pathlib import Path

from fuzz import FAILING, NAMES, RESULTS

LIMITS = ("-timeout=10", "-rss_limit_mb=2048", "-max_len=4000000", "-print_final_stats=1")


def search(name: str, options: list[str]) -> None:
    """Reads whatever Atheris comes up with, in this process, until it says stop."""
    import atheris

    with atheris.instrument_imports(include=["cpgnn"]):
        from readers import Files, put, readers

        from cpgnn.errors import CPGNNError

        reader = readers()[name]
    folder = Path(tempfile.mkdtemp())
    warnings.simplefilter("ignore")
    known = set[str]()

    def packed(files: Files) -> bytes:
        return json.dumps({name: data.decode("latin-1") for name, data in files.items()}).encode()

    def unpacked(data: bytes) -> Files | None:
        with suppress(ValueError, AttributeError, TypeError):
            return {name: text.encode("latin-1") for name, text in json.loads(data).items()}
        return None

    def read(data: bytes) -> None:
        files = unpacked(data)
        if files is None:
            return
        put(folder / "in", files)
        try:
            reader.read(folder / "in")
        except CPGNNError:
            pass
        except Exception as error:
            ours = [f for f in traceback.extract_tb(error.__traceback__) if "cpgnn" in f.filename]
            kind = f"{type(error).__name__} at {Path(ours[-1].filename).name}:{ours[-1].name}"
            if kind not in known:
                known.add(kind)
                put(FAILING / f"guided-{name}-{len(known)}", files)
                print(f"\nFOUND {kind}", file=sys.stderr, flush=True)

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        rng = random.Random(seed)
        return packed(reader.mutated(rng, unpacked(data) or reader.seeds[0]))[:most]

    corpus = folder / "corpus"
    corpus.mkdir()
    for i, files in enumerate(reader.seeds):
        (corpus / str(i)).write_bytes(packed(files))
    atheris.Setup([sys.argv[0], *LIMITS, *options, str(corpus)], read, custom_mutator=mutate)
    atheris.Fuzz()


def outcome(name: str, seconds: int, seed: int) -> dict[str, object]:
    """What a search of its own process found."""
    words = [sys.executable, __file__, "--search", name]
    options = [f"-max_total_time={seconds}", f"-seed={seed}"]
    with tempfile.TemporaryDirectory() as folder:
        said = subprocess.run(
            [*words, *options, f"-artifact_prefix={folder}/"], stderr=subprocess.PIPE
        ).stderr.decode(errors="replace")

    def last(pattern: str) -> int | None:
        found = re.findall(pattern, said)
        return int(found[-1]) if found else None

    kinds = re.findall(r"^FOUND (.*)$", said, re.MULTILINE)
    ended = re.search(r"SUMMARY: libFuzzer: (.*)", said)
    return {
        "reader": name,
        "seed": seed,
        "inputs": last(r"stat::number_of_executed_units:\s+(\d+)"),
        "branches": last(r"cov: (\d+)"),
        "crashes": len(kinds),
        "hangs": int(ended is not None),
        "peak_mb": last(r"stat::peak_rss_mb:\s+(\d+)"),
        "found": [*kinds, *([ended[1]] if ended else [])],
    }


def main() -> None:
    if sys.argv[1:2] == ["--search"]:
        search(sys.argv[2], sys.argv[3:])
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", choices=NAMES)
    parser.add_argument("--results", type=Path, default=RESULTS.with_name("guided.jsonl"))
    given = parser.parse_args()
    if given.only in (None, "blend", "typed"):
        from readers import fit_blends

        fit_blends()
    for name in [given.only] if given.only else NAMES:
        line = json.dumps(outcome(name, given.seconds, given.seed))
        with given.results.open("a") as file:
            file.write(line + "\n")
        print(line, flush=True)


if __name__ == "__main__":
    main()
