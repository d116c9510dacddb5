"""The live page in a real Chromium, while a real training goes on; and with a hostile recording."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from quickfit.live_page.server import PageServer

from browsers import browser, requests, text_of
from launch.sessions import PATIENCE_S, clean_env
from report.pages import HOSTILE, hostile_run

pytestmark = pytest.mark.browser

SCRIPT = Path(__file__).parents[1] / "scripts" / "trains_until.py"
NODE = "document.querySelector('#icicle .node[aria-selected=true]')"


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    """A browser with a profile of its own."""
    with browser(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


def wait_for(driver, condition):
    """Wait until a condition of the page's script holds."""
    from selenium.webdriver.support.wait import WebDriverWait

    WebDriverWait(driver, PATIENCE_S).until(lambda d: d.execute_script(f"return {condition}"))


def drawings(driver):
    """Return how often the page was drawn."""
    return int(
        driver.execute_script("return document.getElementById('page').dataset.drawings || 0")
    )


def said(stream, pattern):
    """Return what a line of a stream says."""
    for line in stream:
        if found := re.search(pattern, line):
            return found[1]
    raise AssertionError(f"nothing said {pattern}")


def is_ours(url, address):
    """Tell whether a request stays with the server of the page."""
    return url.startswith(address) or url.endswith("/favicon.ico")


@pytest.mark.tf
@pytest.mark.tf_any
def test_a_page_follows_a_training_and_survives_its_death(driver, tmp_path):
    env = clean_env(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
    command = [sys.executable, "-m", "quickfit", "run", "--live", "--output", "it.qfrun"]
    run = subprocess.Popen(
        [*command, str(SCRIPT)], cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True
    )
    try:
        address = said(run.stderr, r"live page: (\S+)")
        driver.get_log("performance"), driver.get_log("browser")
        driver.get(address)
        # The page is drawn with steps in it, and again when there are more.
        wait_for(driver, "document.querySelectorAll('#icicle .node').length > 3")
        wait_for(driver, "document.querySelector('.lane-steps') !== null")
        driver.execute_script(
            "document.querySelector('#icicle .node[data-node=\"2\"]').click();"
            "document.querySelector('#s-time details').open = true;"
            "document.getElementById('course').scrollIntoView();"
            f"window.before = {NODE}.querySelector('.label').textContent;"
            "window.courseTop = document.getElementById('course').getBoundingClientRect().top;"
        )
        before, steps = drawings(driver), text_of(driver, "header")
        wait_for(driver, f"Number(document.getElementById('page').dataset.drawings) > {before}")
        assert text_of(driver, "header") != steps
        label, is_open, moved = driver.execute_script(
            f"return [{NODE}.querySelector('.label').textContent === window.before,"
            "document.querySelector('#s-time details').open,"
            "document.getElementById('course').getBoundingClientRect().top - window.courseTop]"
        )
        assert label
        assert is_open
        assert abs(moved) <= 2
        pid = json.loads((tmp_path / "it.qfrun" / "run.json").read_text())["pid"]
        os.kill(pid, signal.SIGKILL)
        wait_for(driver, "document.getElementById('live-state').textContent.includes('is over')")
        assert "ended by SIGKILL" in text_of(driver, "header")
        report = run.stderr.read()
        assert run.wait() == -signal.SIGKILL
    finally:
        (tmp_path / "enough").touch()  # where the test has failed before
        run.stderr.close()
        run.wait()
    assert "ended by SIGKILL" in " ".join(report.split())
    assert driver.get_log("browser") == []
    assert all(is_ours(url, address) for url, _ in requests(driver))


@pytest.fixture
def served(tmp_path):
    """Serve a folder of runs from a thread; the address of its pages."""
    server = PageServer(tmp_path, None)
    thread = threading.Thread(target=server.serve)
    thread.start()
    yield server.address
    server.stop()
    thread.join()


def test_a_hostile_recording_shows_its_text_and_runs_nothing(driver, tmp_path, served):
    driver.get("about:blank")
    driver.get_log("performance"), driver.get_log("browser")
    driver.get(served)
    wait_for(driver, "document.getElementById('live-state').textContent.includes('no run yet')")
    hostile_run(tmp_path / "x").rename(tmp_path / "<img src=x onerror=window.harm=1>.qfrun")
    wait_for(driver, "document.querySelector('#verdict') !== null")
    assert driver.execute_script("return window.harm === undefined")
    assert HOSTILE.split("\u2028")[0] in driver.execute_script("return document.body.textContent")
    driver.execute_script("document.querySelector('#runs summary').click()")
    driver.execute_script("document.querySelectorAll('#runs a')[1].click()")
    wait_for(driver, "location.search.includes('run=') && document.querySelector('#verdict')")
    assert driver.execute_script("return window.harm === undefined")
    assert driver.get_log("browser") == []
    assert all(is_ours(url, served) for url, _ in requests(driver))
