"""Files from the network: verified, resumed, never half there.

pooch does most of this: it downloads to a temporary file, checks a hash, retries, shows a bar. It
is not used because of what it does not do (version 1.9.0), which matters for files of up to 12 GB:

- A broken download goes on where it stopped, in the same call or in a later one. pooch starts anew.
- A file is hashed once: a note beside it, with its size and time of change, spares the next call
  the reading of 12 GB. pooch hashes at every call.
- A file placed by hand that has the wrong checksum is reported and kept. pooch replaces it by a
  download.
- A file that the server does not have is not asked for again. pooch retries whatever the status.
- One process downloads, others that want the same file wait for it (a lock, not a race).
- It stops at the size that the file is known to have, asks for https alone, also when redirected,
  and never writes through a link.
"""

import hashlib
import logging
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from ._base import data_folder
from ._locks import exclusive, open_unlinked, write_text

BLOCK = 1 << 20
TIMEOUT = 60.0  # seconds without an answer, or with less than SLOWEST bytes
SLOWEST = 1 << 10
MAX_BYTES = 1 << 34  # of a file about which nothing is known

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RemoteFile:
    """A file that can be fetched.

    Parameters
    ----------
    name : str
        Name of the file on disk.
    urls : tuple of str
        Where it comes from: these addresses are tried in order.
    checksum : str or None
        Algorithm and hexadecimal digest, such as "md5:7da3..."; None accepts whatever arrives.
    size : int or None
        Number of bytes, if it is known.
    max_size : int or None
        Otherwise, the most that it may be.
    sure : bool
        Whether the checksum is known to be that of the file at these addresses. If not, a file
        that has another one is not thrown away, so that the user may accept it.
    """

    name: str
    urls: tuple[str, ...]
    checksum: str | None
    size: int | None = None
    max_size: int | None = None
    sure: bool = True

    @property
    def limit(self) -> int:
        """The most bytes that are accepted."""
        return self.size or self.max_size or MAX_BYTES


class _WrongFile(Exception):
    """What a server offers is not the file; asking it again cannot help."""


class _WrongChecksum(_WrongFile):
    pass


def checksum_of(path: Path, algorithm: str) -> str:
    """Digest of a file, preceded by the name of its algorithm."""
    with path.open("rb") as stream:
        return f"{algorithm}:{hashlib.file_digest(stream, algorithm).hexdigest()}"


def _has_checksum(path: Path, checksum: str) -> bool:
    return checksum_of(path, checksum.split(":")[0]) == checksum


# -- files that are there --------------------------------------------------------------------


def _stamp(path: Path, checksum: str) -> str:
    # The time of change of the entry cannot be set back, as that of the content can.
    status = path.stat()
    return f"{checksum} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"


def _check_present(path: Path, remote: RemoteFile) -> None:
    """Verify a file that is there, once: a note beside it spares further hashing."""
    if remote.checksum is None:
        return
    note = path.with_name(path.name + ".verified")
    if note.is_file() and note.read_text() == _stamp(path, remote.checksum):
        return
    found = checksum_of(path, remote.checksum.split(":")[0])
    if found != remote.checksum:
        raise OSError(
            f"{path} is damaged or is not the file that this loader expects: its checksum must be "
            f"{remote.checksum}, got {found}. Delete it to have it downloaded again from "
            f"{remote.urls[0]}, or put the right file in its place."
            + ("" if remote.sure else _how_to_accept(found))
        )
    _write_note(path, remote.checksum)


def _write_note(path: Path, checksum: str) -> None:
    # In a folder that is read-only, the file is verified at every call.
    try:
        write_text(path.with_name(path.name + ".verified"), _stamp(path, checksum))
    except OSError:
        _logger.info("No note can be written; %s will be verified again.", path)


def _how_to_accept(found: str) -> str:
    return (
        " The checksum is that of the file at an address that is no longer there; nobody vouches "
        "for the same file at the present one. If you trust it, call again with "
        f"checksum={found!r}, or with checksum=None to accept any."
    )


# -- asking ----------------------------------------------------------------------------------


def _check_url(url: str) -> None:
    parts = urlsplit(url)
    # On this machine there is nobody in between; tests need it.
    at_home = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost")
    if parts.scheme != "https" and not at_home:
        raise ValueError(f"Addresses of files must begin with https://, got {url}.")


class _Redirects(HTTPRedirectHandler):
    """Follows redirections from https to https alone."""

    def redirect_request(
        self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Request | None:
        try:
            _check_url(newurl)
        except ValueError as error:
            raise _WrongFile(str(error)) from error
        return super().redirect_request(req, fp, code, msg, headers, newurl)


_opener = build_opener(_Redirects)


@contextmanager
def _ask(url: str, have: int, etag: str | None) -> Iterator[HTTPResponse]:
    """The answer to a request for a file from a byte on."""
    _check_url(url)
    headers = {"User-Agent": "sklearn-disent", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
        if etag is not None:
            # Of another file than before, the server then sends all.
            headers["If-Range"] = etag
    with _opener.open(Request(url, headers=headers), timeout=TIMEOUT) as response:
        if response.headers.get_content_type() == "text/html":
            raise _WrongFile("the answer is a web page, not a file")
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise _WrongFile("the answer is compressed, which was not asked for")
        yield response


def _read_answer(response: HTTPResponse, have: int, remote: RemoteFile) -> tuple[int, int | None]:
    """From which byte on the answer is, and how many the file has in all, if it says so."""
    length = response.headers.get("Content-Length", "")
    total = int(length) if length.isdecimal() else None
    if response.status == 206:
        found = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", response.headers.get("Content-Range", ""))
        first, last, total = map(int, found.groups()) if found else (-1, -1, -1)
        if not have or first != have or last != total - 1:
            raise ConnectionError(
                f"the range from {have} on was asked for, but "
                f"{response.headers.get('Content-Range', 'no range')} was answered"
            )
    elif response.status == 200:
        have = 0
    else:
        raise _WrongFile(f"the answer has status {response.status}")
    if total is not None and (total > remote.limit or (remote.size and total != remote.size)):
        known = f"has {remote.size}" if remote.size else f"has at most {remote.limit}"
        raise _WrongFile(f"the server announces {total} bytes, but the file {known}")
    return have, total


# -- transferring ----------------------------------------------------------------------------


class _Part:
    """The part of a file that has arrived, and where it came from."""

    def __init__(self, path: Path):
        self.path = path
        self.origin = path.with_name(path.name + ".from")

    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def etag(self, url: str) -> str | None:
        """What the server called the file when it sent this part of it."""
        if not self.origin.is_file():
            return None
        known = self.origin.read_text().split("\n", 1)
        return known[1] if len(known) == 2 and known[0] == url else None

    def set_origin(self, url: str, etag: str | None) -> None:
        if etag is None or etag.startswith("W/") or "\n" in etag:
            self.origin.unlink(missing_ok=True)
        else:
            write_text(self.origin, f"{url}\n{etag}")

    def discard(self) -> None:
        self.path.unlink(missing_ok=True)
        self.origin.unlink(missing_ok=True)


def _check_room(remote: RemoteFile, folder: Path, needed: int | None) -> None:
    free = shutil.disk_usage(folder).free
    if needed is not None and needed > free:
        raise OSError(
            f"{remote.name} takes {needed / 1e6:.1f} MB more, but {folder} has {free / 1e6:.1f} MB "
            "left. Free some, or pass another data_home."
        )


def _transfer(remote: RemoteFile, url: str, part: _Part, progress: bool) -> bool:
    """Append what is missing to the part, or write it anew; returns whether it was appended to."""
    have, etag = part.size(), part.etag(url)
    # Nothing would tell whether the beginning of another file and the rest of this one were mixed.
    if have > remote.limit or (remote.checksum is None and etag is None):
        part.discard()
        have = 0
    with _ask(url, have, etag) as response:
        try:
            have, total = _read_answer(response, have, remote)
        except ConnectionError:
            part.discard()
            raise
        if not have:
            part.set_origin(url, response.headers.get("ETag"))
        descriptor = open_unlinked(part.path)
        with os.fdopen(descriptor, "r+b") as stream:
            stream.truncate(have)
            _check_room(remote, part.path.parent, (total or remote.size or have) - have)
            stream.seek(have)
            _receive(response, stream, remote, have, total, progress)
    return have > 0


def _receive(
    response: HTTPResponse,
    stream: Any,
    remote: RemoteFile,
    have: int,
    total: int | None,
    progress: bool,
) -> None:
    """Write an answer to a file, as long as it is neither too much nor too slow."""
    from tqdm.auto import tqdm

    bar = tqdm(
        total=total,
        initial=have,
        unit="B",
        unit_scale=True,
        unit_divisor=1024,
        desc=remote.name,
        disable=not progress,
    )
    since, then = time.monotonic(), have
    with bar:
        while block := response.read1(BLOCK):
            have += len(block)
            if have > remote.limit:
                raise _WrongFile(f"the server sends more than {remote.limit} bytes")
            stream.write(block)
            bar.update(len(block))
            if time.monotonic() - since > TIMEOUT:
                if have - then < SLOWEST:
                    raise TimeoutError(f"too slow: {have - then} bytes in {TIMEOUT:g} seconds")
                since, then = time.monotonic(), have
    if total is not None and have < total:
        raise ConnectionError(f"the connection ended after {have} of {total} bytes")


def _attempt(remote: RemoteFile, url: str, part: _Part, progress: bool) -> None:
    """One try at one address: transfer and verify. A part that turns out wrong is not kept."""
    try:
        resumed = _transfer(remote, url, part, progress)
    except HTTPError as error:
        if error.code == 416:  # the part is not the beginning of this file
            part.discard()
        raise
    except _WrongFile:
        part.discard()
        raise
    if remote.checksum is None:
        return
    found = checksum_of(part.path, remote.checksum.split(":")[0])
    if found == remote.checksum:
        return
    text = f"what arrived has the wrong checksum: {found} instead of {remote.checksum}"
    if resumed:
        part.discard()
        raise ConnectionError(text)
    if not remote.sure:
        kept = _unverified(part.path.with_name(remote.name))
        os.replace(part.path, kept)
        text += f", and is kept as {kept}.{_how_to_accept(found)}"
    part.discard()
    raise _WrongChecksum(text)


def _is_final(error: Exception) -> bool:
    """Whether trying again cannot help: the server does not have the file, or refuses it."""
    if isinstance(error, HTTPError):
        return error.code < 500 and error.code not in (408, 416, 429)
    return isinstance(error, _WrongFile)


def _download(
    remote: RemoteFile, part: _Part, n_retries: int, delay: float, progress: bool
) -> None:
    """Bring a part to its end, from the first address that can."""
    if part.path.is_symlink() or part.path.exists():
        os.close(open_unlinked(part.path))  # refuses a link before anything is asked
    complete = part.size() == remote.size if remote.size else part.size() > 0
    if complete and remote.checksum is not None and _has_checksum(part.path, remote.checksum):
        return
    failed = []
    for url in remote.urls:
        for attempt in range(n_retries + 1):
            try:
                return _attempt(remote, url, part, progress)
            except (URLError, HTTPException, ConnectionError, TimeoutError, _WrongFile) as error:
                if attempt == n_retries or _is_final(error):
                    failed.append((url, error))
                    break
                _logger.info("Trying %s again (%s).", url, error)
                time.sleep(delay * 2**attempt)
    path = part.path.with_name(remote.name)
    reasons = "; ".join(f"{url} ({error})" for url, error in failed)
    raise OSError(
        f"{remote.name} could not be downloaded from {reasons}. Check the connection and call "
        f"again, which resumes what has arrived; or download it elsewhere and place it as {path}."
    ) from failed[-1][1]


def _unverified(path: Path) -> Path:
    return path.with_name(path.name + ".unverified")


def _accept_unverified(path: Path, remote: RemoteFile) -> bool:
    """Take a file that an earlier call did not accept, if this one does."""
    kept = _unverified(path)
    if kept.is_symlink() or not kept.is_file():
        return False
    if remote.checksum is not None:
        found = checksum_of(kept, remote.checksum.split(":")[0])
        if found != remote.checksum and not remote.sure:
            raise OSError(
                f"{kept} was downloaded before, and its checksum is {found} instead of "
                f"{remote.checksum}. Delete it to have it downloaded again.{_how_to_accept(found)}"
            )
        if found != remote.checksum:
            return False
    os.replace(kept, path)
    return True


class Downloads(NamedTuple):
    """Where the files of a data set are, and how missing ones are fetched; see fetch_file."""

    name: str
    data_home: str | PathLike[str] | None
    download_if_missing: bool
    n_retries: int
    delay: float
    progress: bool

    def fetch(self, remote: RemoteFile) -> Path:
        """Path of a verified file."""
        how = self._asdict()
        folder = data_folder(how.pop("data_home")) / how.pop("name")
        return fetch_file(remote, folder, **how)


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
    its name only when its checksum is right. Other processes wait meanwhile.

    Parameters
    ----------
    remote : RemoteFile
        What to fetch.
    folder : Path
        Where the file is, or will be placed.
    download_if_missing : bool
        Whether a missing file is downloaded; if False, it is an OSError.
    n_retries : int
        How often a failed download is tried again at each address.
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
            f"or download {remote.urls[0]} yourself and place it as {path}."
        )
    for url in remote.urls:
        _check_url(url)
    folder.mkdir(parents=True, exist_ok=True)
    with exclusive(path.with_name(path.name + ".lock")) as held:
        if path.exists():  # another process was faster
            _check_present(path, remote)
            return path
        if not _accept_unverified(path, remote):
            # Without a lock, a part of this process's own.
            name = f"{path.name}.part" if held else f"{path.name}.{os.getpid()}.part"
            part = _Part(path.with_name(name))
            _download(remote, part, n_retries, delay, progress)
            os.replace(part.path, path)
            part.discard()
        if remote.checksum is not None:
            _write_note(path, remote.checksum)
    return path
