"""The mutators of `benchmarks/fuzz`, driven by hypothesis: every reader accepts or explains."""

from __future__ import annotations

import random
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpgnn.errors import CPGNNError

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks" / "fuzz"))

from mutation import MUTATORS
from readers import put, readers

READERS = {name: reader for name, reader in readers().items() if name != "duckdb"}
"""DuckDB takes a moment for every file, and writes other bytes each time: see `make fuzz`."""
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=30)
@given(seed=st.integers(0, 2**40), changes=st.integers(1, 3))
def test_almost_right_files(name, seed, changes):
    reader, rng = READERS[name], random.Random(seed)
    files = rng.choice(reader.seeds)
    for _ in range(changes):
        files = reader.mutated(rng, files)
    with tempfile.TemporaryDirectory() as folder:
        put(Path(folder) / "in", files)
        try:
            reader.read(Path(folder) / "in")
        except CPGNNError as error:
            lines = str(error).split("\n")
            assert all(line.isprintable() and len(line) < 2000 for line in lines)


@pytest.mark.parametrize("role", ["edges", "labels", "features"])
@given(content=st.binary(max_size=300) | st.text(max_size=100).map(str.encode))
def test_any_bytes_as_a_table(role, content):
    from cpgnn.io import read_graph

    with tempfile.TemporaryDirectory() as folder:
        for name in ("edges", "labels", "features"):
            Path(folder, f"{name}.csv").write_bytes(
                b"a,b\nb,c\n" if name == "edges" else b"a,1\nb,2\nc,3\n"
            )
        Path(folder, f"{role}.csv").write_bytes(content)
        files = {name: Path(folder, f"{name}.csv") for name in {"edges", role}}
        with suppress(CPGNNError):
            read_graph(**files, impute="median")


def test_a_mutation_is_a_function_of_its_seed():
    for reader in READERS.values():
        one, two = (reader.mutated(random.Random(7), reader.seeds[0]) for _ in range(2))
        assert one == two
        assert all(Path(name).suffix in MUTATORS for name in one if reader.changed(name))
