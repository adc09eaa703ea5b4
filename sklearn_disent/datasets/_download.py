"""Files from the network: verified, resumed, never half there.

pooch does most of this: it downloads to a temporary file, checks a hash, retries, shows a bar. It
is not used because of what it does not do (version 1.9.0), which matters for files of up to 12 GB:

- A broken download goes on where it stopped, in the same call or in a later one. pooch starts anew.
- A file is hashed once: a note beside it, with its size and time of change, spares the next call
  the reading of 12 GB. pooch hashes at every call.
- A file placed by hand that has the wrong checksum is reported and kept. pooch replaces it by a
  download.
- A file that the server does not have is not asked for again. pooch retries whatever the status.
"""

import hashlib
import logging
import os
import time
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

BLOCK = 1 << 20
TIMEOUT = 60.0

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RemoteFile:
    """A file that can be fetched.

    Parameters
    ----------
    name : str
        Name of the file on disk.
    url : str
        Where it comes from.
    checksum : str
        Algorithm and hexadecimal digest, such as "md5:7da3...".
    """

    name: str
    url: str
    checksum: str


def checksum_of(path: Path, algorithm: str) -> str:
    """Digest of a file, preceded by the name of its algorithm."""
    with path.open("rb") as stream:
        return f"{algorithm}:{hashlib.file_digest(stream, algorithm).hexdigest()}"


def _stamp(path: Path, remote: RemoteFile) -> str:
    status = path.stat()
    return f"{remote.checksum} {status.st_size} {status.st_mtime_ns}"


def _check_present(path: Path, remote: RemoteFile) -> None:
    """Verify a file that is there, once: a note beside it spares further hashing."""
    note = path.with_name(path.name + ".verified")
    if note.exists() and note.read_text() == _stamp(path, remote):
        return
    found = checksum_of(path, remote.checksum.split(":")[0])
    if found != remote.checksum:
        raise OSError(
            f"{path} is damaged or is not the file that this loader expects: its checksum must be "
            f"{remote.checksum}, got {found}. Delete it to have it downloaded again from "
            f"{remote.url}, or put the right file in its place."
        )
    _write_note(note, path, remote)


def _write_note(note: Path, path: Path, remote: RemoteFile) -> None:
    # In a folder that is read-only, the file is verified at every call.
    try:
        note.write_text(_stamp(path, remote))
    except OSError:
        _logger.info("%s cannot be written; %s will be verified again.", note, path)


def _total_size(response: HTTPResponse, have: int) -> int | None:
    length = response.headers.get("Content-Length")
    return None if length is None else have + int(length)


def _transfer(remote: RemoteFile, part: Path, progress: bool) -> None:
    """Append what is missing to the part, or write it anew if the server cannot resume."""
    from tqdm.auto import tqdm

    have = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "sklearn-disent", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    with urlopen(Request(remote.url, headers=headers), timeout=TIMEOUT) as response:
        if have and not (
            response.status == 206
            and response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        ):
            have = 0
        total = _total_size(response, have)
        bar = tqdm(
            total=total,
            initial=have,
            unit="B",
            unit_scale=True,
            unit_divisor=1024,
            desc=remote.name,
            disable=not progress,
        )
        with part.open("ab" if have else "wb") as stream, bar:
            while block := response.read(BLOCK):
                stream.write(block)
                have += len(block)
                bar.update(len(block))
    if total is not None and have < total:
        raise ConnectionError(f"the connection ended after {have} of {total} bytes")


def _attempt(remote: RemoteFile, part: Path, progress: bool) -> None:
    """One try: transfer and verify. A part that turns out wrong is discarded."""
    try:
        _transfer(remote, part, progress)
    except HTTPError as error:
        if error.code == 416:  # the part is not the beginning of this file
            part.unlink(missing_ok=True)
        raise
    found = checksum_of(part, remote.checksum.split(":")[0])
    if found != remote.checksum:
        part.unlink()
        raise ConnectionError(
            f"what arrived has the wrong checksum: {found} instead of {remote.checksum}"
        )


def _is_final(error: Exception) -> bool:
    """Whether trying again cannot help: the server does not have the file, or refuses it."""
    return isinstance(error, HTTPError) and error.code < 500 and error.code not in (408, 416, 429)


def fetch_file(
    remote: RemoteFile,
    folder: Path,
    *,
    download_if_missing: bool = True,
    n_retries: int = 3,
    delay: float = 1.0,
    progress: bool = True,
) -> Path:
    """Path of a verified file in a folder; the file is downloaded if it is missing.

    The download goes to ``<name>.part``, is resumed from there after an interruption, and gets
    its name only when its checksum is right.

    Parameters
    ----------
    remote : RemoteFile
        What to fetch.
    folder : Path
        Where the file is, or will be placed.
    download_if_missing : bool
        Whether a missing file is downloaded; if False, it is an OSError.
    n_retries : int
        How often a failed download is tried again.
    delay : float
        Seconds before the first retry, doubled before each further one.
    progress : bool
        Whether to show a progress bar.
    """
    path = folder / remote.name
    if path.exists():
        _check_present(path, remote)
        return path
    if not download_if_missing:
        raise OSError(
            f"{remote.name} is not in {folder} and download_if_missing is False. Set it to True, "
            f"or download {remote.url} yourself and place it as {path}."
        )
    folder.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    for attempt in range(n_retries + 1):
        try:
            _attempt(remote, part, progress)
            break
        except (URLError, HTTPException, ConnectionError, TimeoutError) as error:
            if attempt == n_retries or _is_final(error):
                raise OSError(
                    f"{remote.name} could not be downloaded from {remote.url} ({error}). Check the "
                    "connection and call again, which resumes what has arrived; or download it "
                    f"elsewhere and place it as {path}."
                ) from error
            _logger.info("Trying %s again (%s).", remote.url, error)
            time.sleep(delay * 2**attempt)
    os.replace(part, path)
    _write_note(path.with_name(path.name + ".verified"), path, remote)
    return path
