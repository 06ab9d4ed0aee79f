"""Work for other processes, in a module that they can import."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def double(number: int) -> int:
    return 2 * number


def fail(number: int) -> int:
    raise ZeroDivisionError(number)


def kill_itself(number: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def write_id_and_sleep(folder: str) -> None:
    if folder:
        Path(folder, str(os.getpid())).touch()
        time.sleep(600)
