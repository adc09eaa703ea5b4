"""Downloads from a local web site, with everything that goes wrong."""

import os
import socket
import subprocess
import sys
import time
from dataclasses import replace
from http import HTTPStatus

import pytest

from sklearn_disent.datasets import _download
from sklearn_disent.datasets._download import RemoteFile, checksum_of, fetch_file
from sklearn_disent.datasets._locks import exclusive

CONTENT = bytes(range(256)) * 4000
QUICK = {"delay": 0.0, "progress": False}


def test_download_is_verified_and_named_only_when_whole(site, tmp_path):
    remote = site.publish("data.bin", CONTENT, "sha256")
    path = fetch_file(remote, tmp_path / "new" / "folder", **QUICK)
    assert path.read_bytes() == CONTENT
    names = {file.name for file in path.parent.iterdir()}
    assert names == {"data.bin", "data.bin.verified"}


def test_download_happens_once(site, tmp_path):
    remote = site.publish("data.bin", CONTENT)
    fetch_file(remote, tmp_path, **QUICK)
    fetch_file(remote, tmp_path, **QUICK)
    fetch_file(remote, tmp_path, download_if_missing=False, **QUICK)
    assert len(site.requests) == 1


def test_download_resumes_after_a_cut(site, tmp_path):
    remote = site.publish("data.bin", CONTENT)
    site.failures = [300_000, 200_000]
    path = fetch_file(remote, tmp_path, **QUICK)
    assert path.read_bytes() == CONTENT
    assert [wanted for _, wanted in site.requests] == [None, "bytes=300000-", "bytes=500000-"]


def test_download_resumes_in_a_later_call(site, tmp_path):
    remote = site.publish("data.bin", CONTENT)
    site.failures = [100_000]
    with pytest.raises(OSError, match="ended after 100000 of 1024000 bytes"):
        fetch_file(remote, tmp_path, n_retries=0, **QUICK)
    assert [file.name for file in tmp_path.iterdir()] == ["data.bin.part"]
    assert fetch_file(remote, tmp_path, **QUICK).read_bytes() == CONTENT
    assert site.requests[-1][1] == "bytes=100000-"


def test_download_starts_again_where_the_site_cannot_resume(site, tmp_path):
    remote = site.publish("data.bin", CONTENT)
    site.can_resume = False
    site.failures = [300_000]
    assert fetch_file(remote, tmp_path, **QUICK).read_bytes() == CONTENT
    assert len(site.requests) == 2


@pytest.mark.parametrize(
    "left_over", [b"not the beginning", CONTENT + b"longer", CONTENT[:-1] + b"x"]
)
def test_download_discards_a_wrong_part(site, tmp_path, left_over):
    remote = site.publish("data.bin", CONTENT)
    (tmp_path / "data.bin.part").write_bytes(left_over)
    assert fetch_file(remote, tmp_path, **QUICK).read_bytes() == CONTENT


def test_download_of_a_corrupt_file_fails_and_leaves_nothing(site, tmp_path):
    remote = site.publish("data.bin", CONTENT)
    site.files["data.bin"] = CONTENT[:-1] + b"x"
    with pytest.raises(OSError, match="wrong checksum: md5:") as error:
        fetch_file(remote, tmp_path, n_retries=1, **QUICK)
    assert remote.urls[0] in str(error.value)
    assert str(tmp_path / "data.bin") in str(error.value)
    assert len(site.requests) == 1  # the whole file came at once: it would be the same again
    assert not list(tmp_path.iterdir())


def test_download_tries_again_when_the_site_is_busy(site, tmp_path):
    remote = site.publish("data.bin", CONTENT)
    site.failures = [HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS]
    assert fetch_file(remote, tmp_path, **QUICK).read_bytes() == CONTENT
    site.failures = [HTTPStatus.SERVICE_UNAVAILABLE] * 3
    with pytest.raises(OSError, match="503"):
        fetch_file(replace(remote, name="other.bin"), tmp_path, n_retries=2, **QUICK)


def test_download_does_not_ask_again_for_what_is_not_there(site, tmp_path):
    with pytest.raises(OSError, match="404"):
        fetch_file(RemoteFile("no.bin", (site.url + "no.bin",), "md5:0"), tmp_path, **QUICK)
    assert len(site.requests) == 1


def test_download_offline_names_the_address_and_the_folder(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    remote = RemoteFile("data.bin", (f"http://127.0.0.1:{port}/data.bin",), "md5:0")
    with pytest.raises(OSError, match="could not be downloaded") as error:
        fetch_file(remote, tmp_path, n_retries=1, **QUICK)
    assert remote.urls[0] in str(error.value)
    assert f"place it as {tmp_path / 'data.bin'}" in str(error.value)


def test_missing_file_without_download_says_where_to_place_it(tmp_path):
    remote = RemoteFile("data.bin", ("https://example.invalid/data.bin",), "md5:0")
    with pytest.raises(OSError, match="download_if_missing is False") as error:
        fetch_file(remote, tmp_path, download_if_missing=False)
    assert remote.urls[0] in str(error.value)
    assert f"place it as {tmp_path / 'data.bin'}" in str(error.value)


def test_file_placed_by_hand_is_found_and_verified(site, tmp_path):
    remote = site.publish("data.bin", CONTENT)
    (tmp_path / "data.bin").write_bytes(CONTENT)
    assert fetch_file(remote, tmp_path, **QUICK) == tmp_path / "data.bin"
    assert not site.requests
    # Changed behind the note that says it was verified.
    (tmp_path / "data.bin").write_bytes(CONTENT + b"more")
    with pytest.raises(OSError, match="damaged or is not the file") as error:
        fetch_file(remote, tmp_path, **QUICK)
    assert checksum_of(tmp_path / "data.bin", "md5") in str(error.value)
    assert (tmp_path / "data.bin").exists()


def test_progress_bar_is_shown_only_when_asked(site, tmp_path, capsys):
    remote = site.publish("data.bin", CONTENT)
    fetch_file(remote, tmp_path, progress=False)
    assert capsys.readouterr().err == ""
    fetch_file(replace(remote, name="again.bin"), tmp_path, progress=True)
    assert "again.bin" in capsys.readouterr().err


# -- several addresses -----------------------------------------------------------------------


def test_download_tries_addresses_in_order(site, tmp_path):
    remote = site.publish("data.bin", CONTENT)
    urls = (site.url + "gone.bin", site.url + "busy.bin", *remote.urls, site.url + "never.bin")
    site.special["busy.bin"] = lambda handler: handler.send_error(HTTPStatus.BAD_GATEWAY)
    path = fetch_file(replace(remote, urls=urls), tmp_path, n_retries=2, **QUICK)
    assert path.read_bytes() == CONTENT
    asked = [path for path, _ in site.requests]
    assert asked == ["/gone.bin"] + ["/busy.bin"] * 3 + ["/data.bin"]


def test_download_that_fails_everywhere_names_every_address(site, tmp_path):
    remote = site.publish("data.bin", CONTENT)
    site.files["data.bin"] = CONTENT[::-1]
    remote = replace(remote, urls=(site.url + "gone.bin", *remote.urls))
    with pytest.raises(OSError, match="could not be downloaded") as error:
        fetch_file(remote, tmp_path, n_retries=0, **QUICK)
    for text in (*remote.urls, "404", "wrong checksum", str(tmp_path / "data.bin")):
        assert text in str(error.value)


def test_download_goes_on_at_another_address(site, tmp_path):
    remote = site.publish("data.bin", CONTENT)
    site.publish("mirror.bin", CONTENT)
    site.failures = [400_000]
    remote = replace(remote, urls=(*remote.urls, site.url + "mirror.bin"))
    assert fetch_file(remote, tmp_path, n_retries=0, **QUICK).read_bytes() == CONTENT
    assert site.requests[1:] == [("/mirror.bin", "bytes=400000-")]


# -- what is never asked for -----------------------------------------------------------------


@pytest.mark.parametrize(
    "url", ["http://example.invalid/data.bin", "ftp://example.invalid/d", "file:///etc/passwd"]
)
def test_download_is_by_https_alone(tmp_path, url, monkeypatch):
    monkeypatch.setattr(socket, "create_connection", lambda *a, **k: pytest.fail("connected"))
    with pytest.raises(ValueError, match="must begin with https://"):
        fetch_file(RemoteFile("data.bin", (url,), "md5:0"), tmp_path, **QUICK)


@pytest.mark.parametrize("target", ["http://example.invalid/x", "ftp://example.invalid/x"])
def test_download_is_not_led_away_from_https(site, tmp_path, target):
    def redirect(handler):
        handler.send_response(HTTPStatus.FOUND)
        handler.send_header("Location", target)
        handler.end_headers()

    site.special["data.bin"] = redirect
    remote = RemoteFile("data.bin", (site.url + "data.bin",), "md5:0")
    with pytest.raises(OSError, match="could not be downloaded"):
        fetch_file(remote, tmp_path, n_retries=2, **QUICK)
    assert len(site.requests) == 1


def test_download_follows_a_redirect(site, tmp_path):
    remote = site.publish("data.bin", CONTENT)

    def redirect(handler):
        handler.send_response(HTTPStatus.FOUND)
        handler.send_header("Location", site.url + "data.bin")
        handler.end_headers()

    site.special["old.bin"] = redirect
    remote = replace(remote, urls=(site.url + "old.bin",))
    assert fetch_file(remote, tmp_path, **QUICK).read_bytes() == CONTENT


# -- parts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [None, len(CONTENT)])
def test_complete_part_is_not_fetched_again(site, tmp_path, size):
    remote = replace(site.publish("data.bin", CONTENT), size=size)
    (tmp_path / "data.bin.part").write_bytes(CONTENT)
    assert fetch_file(remote, tmp_path, **QUICK).read_bytes() == CONTENT
    assert not site.requests
    assert not (tmp_path / "data.bin.part").exists()


def test_part_is_resumed_only_from_the_same_file(site, tmp_path):
    remote = site.publish("data.bin", CONTENT)
    site.etag, site.failures = '"one"', [300_000]
    with pytest.raises(OSError, match="ended after"):
        fetch_file(remote, tmp_path, n_retries=0, **QUICK)
    changed = site.publish("data.bin", CONTENT[::-1])
    site.etag = '"two"'
    assert fetch_file(changed, tmp_path, **QUICK).read_bytes() == CONTENT[::-1]
    assert len(site.requests) == 2  # the site saw that its file was another one, and sent all of it
    assert {f.name for f in tmp_path.iterdir()} == {"data.bin", "data.bin.verified"}


def answer_range(first, last, total, body):
    def answer(handler):
        handler.send_response(HTTPStatus.PARTIAL_CONTENT)
        if first is not None:
            handler.send_header("Content-Range", f"bytes {first}-{last}/{total}")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


@pytest.mark.parametrize(
    ("first", "last", "total"),
    [
        (0, 1_023_999, 1_024_000),  # the whole file, as if it were the rest
        (100_001, 1_023_999, 1_024_000),
        (99_999, 1_023_999, 1_024_000),
        (100_000, 1_023_998, 1_024_000),
        (100_000, 1_023_999, 2_000_000),
        (100_000, 1_023_999, "nonsense"),
        (None, None, None),
    ],
)
def test_download_checks_the_range_that_is_answered(site, tmp_path, first, last, total):
    remote = site.publish("data.bin", CONTENT, size=len(CONTENT))
    (tmp_path / "data.bin.part").write_bytes(CONTENT[:100_000])
    answers = [answer_range(first, last, total, CONTENT[first or 0 : (last or 0) + 1])]

    def once(handler):
        if answers:
            answers.pop()(handler)
        else:
            del site.special["data.bin"]
            site.answer(handler)

    site.special["data.bin"] = once
    assert fetch_file(remote, tmp_path, **QUICK).read_bytes() == CONTENT
    assert site.requests[0][1] == "bytes=100000-"
    assert site.requests[1][1] is None


def test_download_refuses_a_part_that_it_did_not_ask_for(site, tmp_path):
    site.special["data.bin"] = answer_range(5, 1_023_999, 1_024_000, CONTENT[5:])
    remote = RemoteFile("data.bin", (site.url + "data.bin",), checksum=None)
    with pytest.raises(OSError, match="range"):
        fetch_file(remote, tmp_path, n_retries=0, **QUICK)
    assert not (tmp_path / "data.bin").exists()


# -- links -----------------------------------------------------------------------------------


@pytest.mark.parametrize("make_link", [os.symlink, os.link])
def test_download_never_writes_through_a_link(site, tmp_path, make_link):
    remote = site.publish("data.bin", CONTENT)
    precious = tmp_path / "precious"
    precious.write_text("do not touch")
    make_link(precious, tmp_path / "data.bin.part")
    with pytest.raises(OSError, match=r"data\.bin\.part is a link"):
        fetch_file(remote, tmp_path, **QUICK)
    assert precious.read_text() == "do not touch"
    assert not site.requests


@pytest.mark.parametrize("suffix", [".verified", ".lock", ".part.from"])
def test_notes_never_write_through_a_link(site, tmp_path, suffix):
    remote = site.publish("data.bin", CONTENT)
    site.etag = '"one"'
    precious = tmp_path / "precious"
    precious.write_text("do not touch")
    os.symlink(precious, tmp_path / f"data.bin{suffix}")
    if suffix == ".lock":
        with pytest.raises(OSError, match=r"data\.bin\.lock is a link"):
            fetch_file(remote, tmp_path, **QUICK)
    else:
        fetch_file(remote, tmp_path, **QUICK)
    assert precious.read_text() == "do not touch"


# -- size and room ---------------------------------------------------------------------------


def endless(limit):
    """Sends as long as the client listens, without saying how much."""

    def answer(handler):
        handler.send_response(HTTPStatus.OK)
        handler.end_headers()
        for _ in range(limit >> 16):
            handler.wfile.write(bytes(1 << 16))

    return answer


@pytest.mark.parametrize("bound", ["size", "max_size"])
def test_download_stops_when_too_much_arrives(site, tmp_path, bound):
    site.special["data.bin"] = endless(50 << 20)
    remote = RemoteFile("data.bin", (site.url + "data.bin",), "md5:0", **{bound: 1 << 20})
    with pytest.raises(OSError, match="more than 1048576 bytes"):
        fetch_file(remote, tmp_path, n_retries=3, **QUICK)
    assert len(site.requests) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("bound", ["size", "max_size"])
def test_download_refuses_what_is_announced_too_large(site, tmp_path, bound):
    remote = replace(site.publish("data.bin", CONTENT), **{bound: 1000})
    with pytest.raises(OSError, match="announces 1024000 bytes"):
        fetch_file(remote, tmp_path, **QUICK)
    assert len(site.requests) == 1


def test_download_refuses_another_size_than_the_known_one(site, tmp_path):
    remote = site.publish("data.bin", CONTENT, size=len(CONTENT) + 5)
    with pytest.raises(OSError, match="announces 1024000 bytes, but the file has 1024005"):
        fetch_file(remote, tmp_path, **QUICK)


def test_download_needs_room(site, tmp_path, monkeypatch):
    remote = site.publish("data.bin", CONTENT)
    usage = type("usage", (), {"free": 500_000})
    monkeypatch.setattr("shutil.disk_usage", lambda folder: usage)
    with pytest.raises(OSError, match=r"takes 1\.0 MB more, but .* has 0\.5 MB left"):
        fetch_file(remote, tmp_path, n_retries=2, **QUICK)
    assert len(site.requests) == 1
    (tmp_path / "data.bin.part").write_bytes(CONTENT[:600_000])
    assert fetch_file(remote, tmp_path, **QUICK).read_bytes() == CONTENT


def test_download_refuses_a_web_page(site, tmp_path):
    def page(handler):
        handler.send_response(HTTPStatus.OK)
        handler.send_header("Content-Type", "text/html; charset=utf-8")
        handler.end_headers()
        handler.wfile.write(b"<html>Please confirm")

    site.special["data.bin"] = page
    remote = RemoteFile("data.bin", (site.url + "data.bin",), checksum=None)
    with pytest.raises(OSError, match="a web page"):
        fetch_file(remote, tmp_path, **QUICK)
    assert not (tmp_path / "data.bin").exists()


def test_download_gives_up_on_a_site_that_trickles(site, tmp_path, monkeypatch):
    monkeypatch.setattr(_download, "TIMEOUT", 0.5)

    def trickle(handler):
        handler.send_response(HTTPStatus.OK)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        for _ in range(100):
            handler.wfile.write(b"x")
            handler.wfile.flush()
            time.sleep(0.05)

    site.special["data.bin"] = trickle
    remote = RemoteFile("data.bin", (site.url + "data.bin",), "md5:0")
    start = time.monotonic()
    with pytest.raises(OSError, match="too slow"):
        fetch_file(remote, tmp_path, n_retries=0, **QUICK)
    assert time.monotonic() - start < 4


# -- checksums -------------------------------------------------------------------------------


def test_file_is_verified_again_when_it_changes(site, tmp_path):
    remote = site.publish("data.bin", CONTENT)
    path = fetch_file(remote, tmp_path, **QUICK)
    before = path.stat()
    # As many bytes, and the old time of change.
    path.write_bytes(CONTENT[::-1])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(OSError, match="damaged or is not the file"):
        fetch_file(remote, tmp_path, **QUICK)


def test_file_is_hashed_once_while_it_stays_the_same(site, tmp_path, monkeypatch):
    remote = site.publish("data.bin", CONTENT)
    fetch_file(remote, tmp_path, **QUICK)
    monkeypatch.setattr(_download, "checksum_of", lambda *a: pytest.fail("hashed again"))
    fetch_file(remote, tmp_path, **QUICK)


def test_unknown_checksum_is_accepted_when_asked_for(site, tmp_path):
    remote = replace(site.publish("data.bin", CONTENT), checksum=None)
    path = fetch_file(remote, tmp_path, **QUICK)
    assert path.read_bytes() == CONTENT
    fetch_file(remote, tmp_path, **QUICK)
    assert len(site.requests) == 1
    # A part of unknown origin would be the beginning of who knows what.
    other = replace(remote, name="other.bin")
    (tmp_path / "other.bin.part").write_bytes(b"?" * 1000)
    assert fetch_file(other, tmp_path, **QUICK).read_bytes() == CONTENT
    assert site.requests[-1][1] is None


def test_unsure_checksum_keeps_what_arrived(site, tmp_path):
    remote = replace(site.publish("data.bin", CONTENT), checksum="md5:" + "0" * 32, sure=False)
    with pytest.raises(OSError, match="checksum=None") as error:
        fetch_file(remote, tmp_path, n_retries=2, **QUICK)
    found = site.publish("data.bin", CONTENT).checksum
    for text in (found, remote.checksum, str(tmp_path / "data.bin.unverified")):
        assert text in str(error.value)
    assert len(site.requests) == 1
    # Neither the checksum that was found nor None needs another download.
    with pytest.raises(OSError, match=r"was downloaded before.* checksum=None"):
        fetch_file(remote, tmp_path, **QUICK)
    path = fetch_file(replace(remote, checksum=found, sure=True), tmp_path, **QUICK)
    assert path.read_bytes() == CONTENT
    path.rename(tmp_path / "data.bin.unverified")
    assert fetch_file(replace(remote, checksum=None), tmp_path, **QUICK).read_bytes() == CONTENT
    assert len(site.requests) == 1


# -- several processes -----------------------------------------------------------------------

# To import takes seconds, so several processes are copies of one.
FETCH = """
import os, sys
from pathlib import Path
from sklearn_disent.datasets._download import RemoteFile, fetch_file
url, checksum, folder, n_processes = sys.argv[1:]
others = []
for _ in range(int(n_processes) - 1):
    others.append(os.fork())
    if others[-1] == 0:
        others.clear()
        break
remote = RemoteFile("data.bin", (url,), checksum)
size = fetch_file(remote, Path(folder), delay=0.0, progress=False).stat().st_size
os.write(1, f"{size}\\n".encode())
sys.exit(max((os.waitpid(pid, 0)[1] for pid in others), default=0) > 0)
"""


def slowly(site, content):
    """Sends a file in pieces that take a second in all."""

    def answer(handler):
        handler.send_response(HTTPStatus.OK)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        for start in range(0, len(content), len(content) // 10):
            handler.wfile.write(content[start : start + len(content) // 10])
            time.sleep(0.1)

    return answer


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_three_processes_fetch_one_file_once(site, tmp_path):
    remote = site.publish("data.bin", CONTENT)
    site.special["data.bin"] = slowly(site, CONTENT)
    command = [sys.executable, "-c", FETCH, *remote.urls, remote.checksum, str(tmp_path), "3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(len(CONTENT))] * 3
    assert len(site.requests) == 1
    assert {f.name for f in tmp_path.iterdir()} == {"data.bin", "data.bin.verified"}


def test_process_that_is_killed_leaves_the_lock_to_others(site, tmp_path):
    remote = site.publish("data.bin", CONTENT)
    site.special["data.bin"] = slowly(site, CONTENT)
    command = [sys.executable, "-c", FETCH, *remote.urls, remote.checksum, str(tmp_path), "1"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        give_up = time.monotonic() + 30
        while not (tmp_path / "data.bin.part").exists() and time.monotonic() < give_up:
            time.sleep(0.05)
        time.sleep(0.3)
        process.kill()
    assert (tmp_path / "data.bin.lock").exists()
    site.special.clear()
    assert fetch_file(remote, tmp_path, **QUICK).read_bytes() == CONTENT
    assert not (tmp_path / "data.bin.lock").exists()


def test_lock_is_held_by_one_at_a_time(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    inside, most = [], []

    def work(number):
        with exclusive(tmp_path / "lock") as held:
            inside.append(number)
            most.append(len(inside))
            time.sleep(0.005)
            inside.remove(number)
            return held

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(40)))
    assert max(most) == 1
    assert not list(tmp_path.iterdir())


def test_download_without_locks_uses_a_part_of_its_own(site, tmp_path, monkeypatch):
    # Some network folders know no locks.
    from sklearn_disent.datasets import _locks

    def refuse(*arguments):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(_locks, "_lock", refuse)
    remote = site.publish("data.bin", CONTENT)
    (tmp_path / "data.bin.part").write_bytes(b"of another process")
    assert fetch_file(remote, tmp_path, **QUICK).read_bytes() == CONTENT
    assert (tmp_path / "data.bin.part").read_bytes() == b"of another process"
