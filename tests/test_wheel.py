"""The wheel is a function of the sources: whoever builds it again gets the same bytes."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_two_builds_have_the_same_hash(tmp_path):
    hashes = []
    for i, zone in enumerate(("UTC", "Asia/Tokyo")):
        out = tmp_path / str(i)
        words = [
            sys.executable,
            "-m",
            "build",
            "--quiet",
            "--wheel",
            "--outdir",
            str(out),
            str(ROOT),
        ]
        subprocess.run(words, check=True, env={**os.environ, "TZ": zone, "PYTHONHASHSEED": str(i)})
        [wheel] = out.glob("*.whl")
        hashes.append(hashlib.sha256(wheel.read_bytes()).hexdigest())
        time.sleep(2)  # the smallest difference of times in a zip
    assert hashes[0] == hashes[1]
