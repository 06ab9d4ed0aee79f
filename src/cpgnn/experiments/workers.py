"""Processes of one thread each that end with the one that started them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

import torch

from cpgnn.errors import CPGNNError, Mention, Message

Outcomes = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]


@contextmanager
def worker_processes(count: int) -> Iterator[Outcomes]:
    """Yields `outcomes(function, jobs)`: what the function gives for each job, as they end.

    The processes start with the first job. When the block is left by an exception, Ctrl-C say, or
    this process is killed, their work ends at once.
    """
    context = multiprocessing.get_context("spawn")
    # Nothing is ever sent: the workers notice that this end is closed.
    far_end, our_end = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_start, initargs=(far_end,))

    def outcomes(function: Callable[[Any], Any], jobs: Iterable[Any]) -> Iterator[Any]:
        for future in as_completed([pool.submit(function, job) for job in jobs]):
            yield future.result()

    try:
        yield outcomes
    except BrokenProcessPool:
        text = (
            "A worker process was killed, perhaps because memory ran out. Try again with a smaller "
        )
        end = ". Finished runs are kept."
        raise CPGNNError(Message(text, Mention("workers"), end)) from None
    except BaseException:
        our_end.close()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        our_end.close()
        far_end.close()


def _start(far_end: Connection) -> None:
    torch.set_num_threads(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C: the one that started us says it
    threading.Thread(target=_end_with, args=(far_end,), daemon=True).start()


def _end_with(far_end: Connection) -> None:
    far_end.poll(None)
    os._exit(1)
