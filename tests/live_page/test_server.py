"""Who gets an answer from the server of live pages, and what is in it."""

import contextlib
import http.client
import json
import threading
import urllib.parse

import pytest

from quickfit.errors import UsageError
from quickfit.live_page.server import PageServer

from report.pages import unpack

PATIENCE_S = 400.0


@pytest.fixture
def server(tmp_path):
    """A server of a folder with one run."""
    unpack("pairs/busy-machine", tmp_path / "x").rename(tmp_path / "busy.qfrun")
    server = PageServer(tmp_path, None)
    thread = threading.Thread(target=server.serve)
    thread.start()
    yield server
    server.stop()
    thread.join()


@contextlib.contextmanager
def opened(server, path, *, method="GET", **headers):
    """Ask the server for a path; headers in place of those of a browser."""
    link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
    link.putrequest(method, path, skip_host=True)
    for name, value in ({"host": f"127.0.0.1:{server.port}"} | headers).items():
        link.putheader(name, value)
    link.endheaders()
    with contextlib.closing(link):
        yield link.getresponse()


@pytest.fixture
def ask(server):
    """Return status, headers and content of what the address and a path give."""
    secret = urllib.parse.urlsplit(server.address).path

    def get(path="", **headers):
        with opened(server, secret + path, **headers) as answer:
            return answer.status, dict(answer.headers), answer.read()

    return get


def events(server, path, last):
    """Return the first events, by their kind, up to one kind; then let the server end."""
    secret = urllib.parse.urlsplit(server.address).path
    seen, kind = {}, ""
    with opened(server, secret + path) as answer:
        for line in answer:
            if line.startswith(b"event: "):
                kind = line[7:].decode().strip()
            elif line.startswith(b"data: "):
                seen[kind] = json.loads(line[6:])
                if kind == last:
                    server.stop()
    return seen


def test_who_knows_the_address_gets_a_page_that_may_load_nothing_else(ask):
    status, headers, _ = ask()
    assert status == 200
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "connect-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["referrer-policy"] == "no-referrer"
    assert not [name for name in headers if name.startswith("access-control")]


def test_another_host_or_origin_gets_nothing(ask):
    for path in ("", "events"):
        for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", ""):
            assert ask(path, host=host)[::2] == (404, b""), host
        for origin in ("http://evil.example", "null"):
            assert ask(path, origin=origin)[::2] == (404, b""), origin


def test_the_end_of_a_tunnel_may_have_another_port(ask):
    for host in ("localhost", "localhost:8123", "[::1]:8123", "127.0.0.1:1"):
        assert ask(host=host)[0] == 200, host


def test_who_does_not_know_the_secret_gets_nothing(server):
    for path in ("/", "/x/", "/x/events", "/%00/", "/%C3%A9/", f"{server.address[:-2]}/"):
        with opened(server, path) as answer:
            assert (answer.status, b"quickfit" in answer.read()) == (404, False), path


def test_nothing_can_be_sent_to_it(server):
    path = urllib.parse.urlsplit(server.address).path
    with opened(server, path, method="POST") as answer:
        assert answer.status == 405


def test_the_events_hold_the_whole_report_and_a_farewell(server):
    seen = events(server, "events", "page")
    assert list(seen) == ["run", "status", "page", "bye"]
    assert seen["status"]["state"] == "ended"
    assert [run["label"] for run in seen["status"]["runs"]] == ["the newest run", "train.py"]
    assert "busy-machine" in seen["page"]["body"]
    assert seen["page"]["facts"]["nodes"]


def test_only_a_run_of_the_list_is_shown(server):
    asked = urllib.parse.quote("../busy.qfrun", safe="")
    seen = events(server, f"events?run={asked}", "status")
    assert "page" not in seen
    assert seen["status"]["label"] == "there is no run ../busy.qfrun here any more"


def test_a_port_that_is_taken_is_named(server, tmp_path):
    with pytest.raises(UsageError, match=f"--port {server.port}: it cannot be listened on"):
        PageServer(tmp_path, None, port=server.port)
