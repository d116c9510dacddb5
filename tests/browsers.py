"""A real Chromium for tests of pages, and what is asked of it."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@contextlib.contextmanager
def browser(profile: Path) -> Iterator[Any]:
    """Start a browser with a profile of its own."""
    program, service = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or service is None:
        pytest.skip("needs Debian's chromium and chromium-driver: make browser")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in FLAGS:
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={profile}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(service))
    driver.get("about:blank")  # what a new tab of the browser itself loads is over
    yield driver
    driver.quit()


def text_of(driver: Any, selector: str) -> str:
    """Return the text that is shown, as it was written: in one line, with plain spaces."""
    from selenium.webdriver.common.by import By

    return " ".join(driver.find_element(By.CSS_SELECTOR, selector).text.split())


def requests(driver: Any) -> list[tuple[str, str | None]]:
    """Return what was asked for since the page was opened, and why it was not sent."""
    messages = [json.loads(row["message"])["message"] for row in driver.get_log("performance")]
    asked = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    failed = [m["params"] for m in messages if m["method"] == "Network.loadingFailed"]
    blocked = {one["requestId"]: one.get("blockedReason") for one in failed}
    return [
        (one["request"]["url"], blocked.get(one["requestId"]))
        for one in asked
        if one.get("type") != "Document"
    ]
