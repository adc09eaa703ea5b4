"""Downloads from a local web site, with everything that goes wrong."""

import socket
from dataclasses import replace
from http import HTTPStatus

import pytest

from sklearn_disent.datasets._download import RemoteFile, checksum_of, fetch_file

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
    assert remote.url in str(error.value)
    assert str(tmp_path / "data.bin") in str(error.value)
    assert len(site.requests) == 2
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
        fetch_file(RemoteFile("no.bin", site.url + "no.bin", "md5:0"), tmp_path, **QUICK)
    assert len(site.requests) == 1


def test_download_offline_names_the_address_and_the_folder(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    remote = RemoteFile("data.bin", f"http://127.0.0.1:{port}/data.bin", "md5:0")
    with pytest.raises(OSError, match="could not be downloaded") as error:
        fetch_file(remote, tmp_path, n_retries=1, **QUICK)
    assert remote.url in str(error.value)
    assert f"place it as {tmp_path / 'data.bin'}" in str(error.value)


def test_missing_file_without_download_says_where_to_place_it(tmp_path):
    remote = RemoteFile("data.bin", "http://example.invalid/data.bin", "md5:0")
    with pytest.raises(OSError, match="download_if_missing is False") as error:
        fetch_file(remote, tmp_path, download_if_missing=False)
    assert remote.url in str(error.value)
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
