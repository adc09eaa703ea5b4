"""Helpers of the data set tests."""

import hashlib
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from sklearn_disent.datasets._download import RemoteFile


def _cramers_v(a, b):
    table = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(table, (a, b), 1)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    chi2 = ((table - expected) ** 2 / expected)[expected > 0].sum()
    return np.sqrt(chi2 / table.sum() / (min(table.shape) - 1))


@pytest.fixture(scope="session")
def cramers_v():
    """Cramér's V of two columns of classes."""
    return _cramers_v


class Site:
    """A web site on this machine, whose files and failures a test decides on."""

    def __init__(self):
        self.files = {}  # path -> content
        self.failures = []  # what happens to the next requests: a status code, or bytes to send
        self.requests = []  # (path, Range header) as they came
        self.can_resume = True
        self.etag = None  # of all files
        self.special = {}  # path -> function of the handler, which answers instead
        self.lock = threading.Lock()
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                site.answer(self)

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *arguments: None  # clients hang up on bad answers
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}/"

    def answer(self, handler):
        wanted = handler.headers.get("Range")
        with self.lock:
            self.requests.append((handler.path, wanted))
            failure = self.failures.pop(0) if self.failures else None
        if handler.path.lstrip("/") in self.special:
            self.special[handler.path.lstrip("/")](handler)
            return
        content = self.files.get(handler.path.lstrip("/"))
        if isinstance(failure, HTTPStatus) or content is None:
            handler.send_error(failure or HTTPStatus.NOT_FOUND)
            return
        start = 0
        same = handler.headers.get("If-Range", self.etag) == self.etag
        if wanted and self.can_resume and same:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(content):
                handler.send_error(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE)
                return
            handler.send_response(HTTPStatus.PARTIAL_CONTENT)
            handler.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            handler.send_response(HTTPStatus.OK)
        body = content[start:]
        if self.etag:
            handler.send_header("ETag", self.etag)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body if failure is None else body[:failure])

    def publish(self, name, content, algorithm="md5", **options):
        """Put a file on the site, and say how to fetch it."""
        self.files[name] = content
        digest = hashlib.new(algorithm, content).hexdigest()
        return RemoteFile(name, (self.url + name,), f"{algorithm}:{digest}", **options)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def site():
    """A local web site."""
    site = Site()
    yield site
    site.close()


@pytest.fixture
def replace_in(monkeypatch):
    """Replace globals of the module in which a public function is defined."""

    def replace(function, **names):
        # Not by importing the module: collecting doctests may have imported it a second time.
        for name, value in names.items():
            assert name in function.__wrapped__.__globals__
            monkeypatch.setitem(function.__wrapped__.__globals__, name, value)

    return replace
