"""Looks the pinned dependencies up in the databases of known vulnerabilities (`make audit`).

Exit code 1 if one is affected. Where no database can be reached, a note says that nothing was
looked up, and the exit code is 0.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PINS = Path(__file__).parent.parent / "constraints.txt"
IGNORED: dict[str, str] = {}
"""Vulnerabilities that do not concern us, each with the reason."""


def audit() -> int:
    words = [sys.executable, "-m", "pip_audit", "--requirement", str(PINS), "--no-deps"]
    words += ["--disable-pip", "--format", "json", "--progress-spinner", "off", "--timeout", "15"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
        found = [x for x in json.loads(done.stdout)["dependencies"] if "vulns" in x]
    except (ValueError, KeyError, subprocess.TimeoutExpired):
        found = []
    if not found:  # one that was not found in the database has a "skip_reason" instead
        print("Note: dependencies were not audited: pip-audit or its database is out of reach.")
        return 0
    affected = [
        f"{package['name']} {package['version']}: {problem['id']} ({problem['fix_versions']})"
        for package in found
        for problem in package.get("vulns", ())
        if problem["id"] not in IGNORED
    ]
    print("\n".join(affected) or f"{len(found)} pinned packages, none with a known vulnerability.")
    return int(bool(affected))


if __name__ == "__main__":
    sys.exit(audit())
