"""`waits-for-workers`: what was said while the run was quiet is what the report says."""

import dataclasses
import json
import socket
import threading
import time

import pytest

from quickfit.causes import catalogue
from quickfit.causes.stuck.waits_for_workers import (
    CAUSE,
    Asked,
    cluster_of,
    detect,
    is_listening,
    show_missing_workers,
)
from quickfit.findings import FixClass, Symptom
from scenes import CLUSTER, STUCK, fit, main_in_fit
from silences import noted, quiet_run

from builders import run

fix = catalogue()["waits-for-workers"].fix


def test_fires_with_what_was_seen_and_where():
    found = detect(quiet_run(noted("waits-for-workers")))
    assert found is not None
    assert (found.summary, found.where.line) == ("waits-for-workers was seen", 6)
    assert [one.value for one in found.evidence] == [1.0, 31.0, 31.0]
    assert not found.is_past
    assert CAUSE.symptom == Symptom.STUCK


def test_a_run_that_went_on_is_told_of_in_the_past():
    found = detect(quiet_run(noted("waits-for-workers", moved_again_s=1050.0)))
    assert found.is_past
    assert found.evidence[-1].detail == "a step came later"


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(run(), id="a healthy run"),
        pytest.param(quiet_run(), id="a run that was looked at and moved"),
        pytest.param(quiet_run(noted("held-lock")), id="held-lock"),
    ],
)
def test_stays_silent_on(signals):
    assert detect(signals) is None


def test_the_fix_shows_code_that_starts_every_worker():
    signals = quiet_run(noted("waits-for-workers"))
    shown = fix(detect(signals), signals)
    assert shown.kind == FixClass.SHOW_ONLY
    assert 'os.environ["NODE_INDEX"]' in shown.example


def refused(peer):
    return False


def test_the_missing_worker_is_named():
    found = show_missing_workers(STUCK["waits-for-workers"], answers=refused)
    assert found.cause == "waits-for-workers"
    assert "a worker that nobody listens at: there:2" in found.summary
    assert found.evidence[0].detail == "this one is here:1"
    assert found.is_certain


@pytest.mark.parametrize("answer", [True, None])
def test_a_worker_that_answers_or_cannot_be_reached_is_not_called_missing(answer):
    assert show_missing_workers(STUCK["waits-for-workers"], answers=lambda peer: answer) is None


def changed(name, **given):
    return dataclasses.replace(STUCK[name], **given)


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"environment": {}}, id="no cluster"),
        pytest.param({"threads": ()}, id="no stack"),
        pytest.param({"threads": (main_in_fit(),)}, id="not in the distribution's code"),
        pytest.param({"loop": fit()}, id="it has started"),
    ],
)
def test_nobody_is_missing_with(given):
    assert show_missing_workers(changed("waits-for-workers", **given), answers=refused) is None


def test_a_start_that_keeps_pythons_lock_is_told_at_the_strategys_line():
    """TensorFlow waits for its peers in C code: no thread of the script can be looked at."""
    given = {"threads": (), "is_answering": False}
    found = show_missing_workers(changed("waits-for-workers", **given), answers=refused)
    assert found.where.text.startswith("strategy = ")
    unknown = changed("waits-for-workers", **given, sources={})
    assert show_missing_workers(unknown, answers=refused).where is None


def test_the_own_address_is_never_asked():
    asked = []
    show_missing_workers(STUCK["waits-for-workers"], answers=lambda peer: asked.append(peer))
    assert asked == ["there:2"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "[]",
        "{}",
        '{"cluster": 3, "task": {"type": "worker", "index": 0}}',
        '{"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "chief", "index": 0}}',
        '{"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 9}}',
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}}',
        '{"cluster": {"worker": null}, "task": {"type": "worker", "index": 0}}',
        "[" * 100_000,
    ],
)
def test_what_is_no_cluster_of_several_is_none(text):
    assert cluster_of(text) is None


def test_a_cluster_may_be_written_with_numbers_as_names():
    cluster = {"chief": ["c:1"], "worker": {"0": "a:1", "1": "b:2"}}
    told = json.dumps({"cluster": cluster, "task": {"type": "chief", "index": "0"}})
    assert cluster_of(told) == ("c:1", ["c:1", "a:1", "b:2"])
    assert cluster_of(CLUSTER) == ("here:1", ["here:1", "there:2"])


@pytest.fixture
def server():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def test_somebody_listens(server):
    assert is_listening(f"127.0.0.1:{server.getsockname()[1]}") is True


def test_nothing_is_sent(server):
    is_listening(f"127.0.0.1:{server.getsockname()[1]}")
    taken, _ = server.accept()
    with taken:
        assert taken.recv(1) == b""


def test_nobody_listens(server):
    port = server.getsockname()[1]
    server.close()
    assert is_listening(f"127.0.0.1:{port}") is False


@pytest.mark.parametrize(
    "address", ["", "nothing", "127.0.0.1:", "127.0.0.1:many", "127.0.0.1:99999", "h:-1", "\0:1"]
)
def test_what_is_no_address_is_not_known(address):
    assert is_listening(address) is None


def test_nobody_waits_for_an_answer():
    may_answer, has_answered = threading.Event(), threading.Event()

    def slowly(address):
        may_answer.wait(60)
        return False

    asked = Asked(slowly)
    assert asked("a:1") is None
    assert asked("a:1") is None  # it is under way
    may_answer.set()
    deadline = time.monotonic() + 60
    while asked("a:1") is None and time.monotonic() < deadline:
        has_answered.wait(0.01)
    assert asked("a:1") is False
