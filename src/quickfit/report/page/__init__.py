"""A report as one page that opens anywhere: no network, no script of others, nothing to install.

The page says what the terminal says, in the words of the same view, and draws what the account
and the details of a diagnosis hold.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import json
from importlib import resources
from pathlib import Path

from quickfit import terminal, trust
from quickfit.errors import UsageError
from quickfit.findings import Diagnosis
from quickfit.report import text
from quickfit.report.page.charts import course_facts
from quickfit.report.page.icicle import node_facts, place_nodes
from quickfit.report.page.markup import Html, Rules, element, join
from quickfit.report.page.sections import page_body
from quickfit.report.view import told_findings

__all__ = ["check_page_file", "render_page", "write_page"]

# How every page begins: what is not one is not replaced.
BEGINNING = "<!doctype html>\n<!-- a page of quickfit -->\n"


def render_page(diagnosis: Diagnosis) -> str:
    """Return the report of a diagnosis as an HTML page."""
    rules = Rules()
    findings = told_findings(diagnosis)
    nodes = place_nodes(diagnosis.account, findings) if diagnosis.account is not None else []
    body = page_body(diagnosis, nodes, rules)
    facts = {
        "nodes": node_facts(nodes),
        "course": course_facts(diagnosis.details) if diagnosis.details is not None else None,
    }
    files = resources.files(__name__)
    style = files.joinpath("page.css").read_text(encoding="utf-8") + rules.sheet()
    script = files.joinpath("page.js").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}';"
        " base-uri 'none'; form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", f"quickfit: {text.path(diagnosis.script) or 'a run'}"),
        element("style", Html(style)),
    )
    data = element("script", Html(_json_in_page(facts)), type="application/json", id="facts")
    page = element(
        "html", head, element("body", join(body, data, element("script", Html(script)))), lang="en"
    )
    return f"{BEGINNING}{page}\n"


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _json_in_page(value: object) -> str:
    """Return JSON that cannot end the element it stands in, nor break a line of a script."""
    shown = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for char in "<>&":
        shown = shown.replace(char, f"\\u{ord(char):04x}")
    return shown


def check_page_file(file: Path, *, replaces: bool = False) -> None:
    """Find out before the work whether a page can be written to `file`.

    Raises:
        UsageError: there is something else than a page, or it cannot be written there.
    """
    folder = file.parent
    if file.is_dir() or not folder.is_dir():
        what = "is a folder" if file.is_dir() else f"the folder {folder} does not exist"
        raise UsageError(
            f"--html {file}: {what}.\nName a file in a folder that exists: --html report.html"
        )
    if replaces or not (file.exists() or file.is_symlink()):
        return
    try:
        begins = trust.read_regular(file, len(BEGINNING), follow=False)
    except OSError:
        begins = b""
    if begins != BEGINNING.encode():
        raise UsageError(
            f"--html {file}: there is a file that is not a page of quickfit; nothing was changed.\n"
            "Name another file, or replace it with --force."
        )


def write_page(diagnosis: Diagnosis, file: Path, *, replaces: bool = False) -> str:
    """Write the page of a diagnosis, whole or not at all, for its user alone; return its path.

    Args:
        diagnosis: what to show, with its details.
        file: where to; an earlier page is replaced.
        replaces: replace also what is not a page.

    Raises:
        UsageError: there is something else than a page, or it cannot be written there.
    """
    check_page_file(file, replaces=replaces)
    try:
        trust.write_private(file, render_page(diagnosis).encode(), sync=False)
    except OSError as error:
        why = "the disk is full" if error.errno == errno.ENOSPC else error.strerror or str(error)
        raise UsageError(
            f"--html {file}: the page cannot be written ({why}).\n"
            "Name a file in a place you may write to."
        ) from error
    return terminal.escape(str(file), keep="")
