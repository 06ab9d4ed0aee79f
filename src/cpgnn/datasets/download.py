"""One file from the net, whole or not at all."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from pathlib import Path

from cpgnn import __version__
from cpgnn.errors import CPGNNError, must_be

TIMEOUT = 30.0
"""Seconds without an answer."""
MAX_BYTES = 1 << 30
"""No file of a data set is anywhere near as large."""
_CHUNK = 1 << 20


class DownloadError(CPGNNError):
    """A data set could not be downloaded, or what came is not it."""


def fetch(url: str, path: Path, advice: str) -> None:
    """The file at `url` to `path`; `advice` ends the message if that fails."""
    request = urllib.request.Request(url, headers={"User-Agent": f"cpgnn/{__version__}"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer, path.open("wb") as file:
            declared = answer.headers.get("Content-Length")
            received = 0
            while part := answer.read(_CHUNK):
                received += file.write(part)
                if received > MAX_BYTES:
                    raise _failed(url, f"have at most {MAX_BYTES:,} bytes", "more", advice)
    except urllib.error.HTTPError as error:
        raise _failed(url, "be there", f"{error.code} {error.reason}", advice) from None
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        got = str(reason) or type(reason).__name__
        raise _failed(url, "come through the network", got, advice) from None
    if declared is not None and declared.isdigit() and received != int(declared):
        got = f"{received:,} of {int(declared):,} bytes"
        raise _failed(url, "come whole", got, advice)


def _failed(url: str, must: str, got: str, advice: str) -> DownloadError:
    return DownloadError(f"{url}: {must_be('The download', must, got.rstrip('.'), advice)}")
