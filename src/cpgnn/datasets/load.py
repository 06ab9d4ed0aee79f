"""`load_dataset`: a local folder first, then the cache, then the net."""

from __future__ import annotations

import http.client
import os
import urllib.error
import urllib.request
from pathlib import Path
from tempfile import TemporaryDirectory

from cpgnn import __version__
from cpgnn.datasets.dataset import Dataset, as_dataset, read_dataset, write_arrays
from cpgnn.datasets.registry import Spec, spec_of
from cpgnn.datasets.verify import verify
from cpgnn.errors import CPGNNError, InputError, must_be
from cpgnn.io.files import StrPath

TIMEOUT = 30.0
"""Seconds without an answer."""
MAX_BYTES = 1 << 30
"""No file of a data set is anywhere near as large."""


class DownloadError(CPGNNError):
    """A data set could not be downloaded, or the download is not the data set."""


def load_dataset(name: str, *, cache: StrPath | None = None) -> Dataset:
    """A benchmark graph by name, verified, with its published splits.

    Looked for in this order:

    1. `<name>.npz` anywhere below the folder in the environment variable CPGNN_DATA;
    2. `<name>.npz` in the cache: `cache`, else CPGNN_CACHE, else $XDG_CACHE_HOME/cpgnn or
       ~/.cache/cpgnn;
    3. upstream. The download is parsed and verified before it enters the cache.
    """
    name, spec = spec_of(name)
    path = at_hand(name, cache=cache)
    if path is None:
        return _download(name, spec, cache_folder(cache) / f"{name}.npz")
    dataset = read_dataset(path, name)
    try:
        verify(dataset, spec.expected)
    except InputError as error:
        raise InputError(f"{path}: {error} Remove or replace the file.") from None
    return dataset


def at_hand(name: str, *, cache: StrPath | None = None) -> Path | None:
    """The file that `load_dataset` would read without the net; None if there is none."""
    name, _ = spec_of(name)
    local = os.environ.get("CPGNN_DATA")
    if local:
        if not Path(local).is_dir():
            raise must_be("CPGNN_DATA", "name a folder", repr(local))
        found = sorted(Path(local).rglob(f"{name}.npz"))
        if found:
            return found[0]
    cached = cache_folder(cache) / f"{name}.npz"
    return cached if cached.is_file() else None


def cache_folder(cache: StrPath | None = None) -> Path:
    """Where downloads are kept: `cache`, else what the environment says, else the user's."""
    own = cache or os.environ.get("CPGNN_CACHE")
    if own:
        return Path(own).expanduser()
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path.home() / ".cache") / "cpgnn"


def _download(name: str, spec: Spec, path: Path) -> Dataset:
    """Fetch, parse, verify; only what passed all three is written to `path`."""
    advice = f"Try again later, or set CPGNN_DATA to a folder with {name}.npz."
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        hint = "Set CPGNN_CACHE to another."
        raise must_be(f"The cache folder {path.parent}", "be usable", error, hint) from None
    with TemporaryDirectory(prefix="cpgnn-") as scratch:
        for url in spec.urls:
            _fetch(url, Path(scratch, url.rpartition("/")[2]), advice)
        try:
            arrays = spec.parse(Path(scratch))
            dataset = as_dataset(Path(f"{name}.npz"), arrays, name, spec.origin)
            verify(dataset, spec.expected)
        except InputError as error:
            found = str(error).replace(f"{scratch}{os.sep}", "")
            raise DownloadError(
                f"What was downloaded as {name!r} is not the published data: {found} {advice}"
            ) from None
    write_arrays(path, arrays)
    return dataset


def _fetch(url: str, path: Path, advice: str) -> None:
    """The file at `url` to `path`, whole; `advice` ends the message if that fails."""

    def failed(must: str, got: str) -> DownloadError:
        return DownloadError(f"{url}: {must_be('The download', must, got.rstrip('.'), advice)}")

    request = urllib.request.Request(url, headers={"User-Agent": f"cpgnn/{__version__}"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer, path.open("wb") as file:
            declared = answer.headers.get("Content-Length")
            received = 0
            while part := answer.read(1 << 20):
                received += file.write(part)
                if received > MAX_BYTES:
                    raise failed(f"have at most {MAX_BYTES:,} bytes", "more")
    except urllib.error.HTTPError as error:
        error.close()  # it holds the connection
        raise failed("be available", f"{error.code} {error.reason}") from None
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise failed("complete", str(reason) or type(reason).__name__) from None
    if declared is not None and declared.isdigit() and received != int(declared):
        raise failed("be complete", f"{received:,} of {int(declared):,} bytes")
