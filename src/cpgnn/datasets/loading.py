"""`load_dataset`: a local folder first, then the cache, then the net."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from cpgnn.datasets.dataset import Dataset, as_dataset, read_dataset, write_arrays
from cpgnn.datasets.download import DownloadError, fetch
from cpgnn.datasets.specs import Spec, spec_of
from cpgnn.datasets.verifying import verify
from cpgnn.errors import InputError, must_be
from cpgnn.io.files import StrPath


def load_dataset(name: str, *, cache: StrPath | None = None) -> Dataset:
    """A benchmark graph by name, verified, with its published splits.

    Looked for in this order:

    1. `<name>.npz` anywhere below the folder that the environment variable CPGNN_DATA names;
    2. `<name>.npz` in the cache: `cache`, else CPGNN_CACHE, else $XDG_CACHE_HOME/cpgnn or
       ~/.cache/cpgnn;
    3. upstream, by download. It is parsed and verified before it enters the cache.
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
            fetch(url, Path(scratch, url.rpartition("/")[2]), advice)
        try:
            arrays = spec.parse(Path(scratch))
            dataset = as_dataset(Path(f"{name}.npz"), arrays, name, spec.origin)
            verify(dataset, spec.expected)
        except InputError as error:
            got = str(error).replace(f"{scratch}{os.sep}", "")
            raise DownloadError(
                f"What was downloaded as {name!r} must be the published data. "
                f"Got another: {got} {advice}"
            ) from None
    write_arrays(path, arrays)
    return dataset
