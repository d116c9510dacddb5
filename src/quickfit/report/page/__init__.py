"""A report as one page that opens anywhere: no network, no script of others, nothing to install.

The page says what the terminal says, in the words of the same view, and draws what the account
and the details of a diagnosis hold.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from quickfit import terminal, trust
from quickfit.errors import UsageError
from quickfit.findings import Comparison, Diagnosis
from quickfit.report import text
from quickfit.report.page.charts import course_facts
from quickfit.report.page.comparison import comparison_body
from quickfit.report.page.icicle import node_facts, place_nodes
from quickfit.report.page.markup import Html, Rules, element, join
from quickfit.report.page.sections import page_body
from quickfit.report.view import told_findings

__all__ = [
    "Drawing",
    "check_page_file",
    "draw_page",
    "render_comparison",
    "render_live_page",
    "render_page",
    "write_page",
]

# How every page begins: what is not one is not replaced.
BEGINNING = "<!doctype html>\n<!-- a page of quickfit -->\n"
# What a page that is drawn while a run goes on may do beside that.
CONNECTS = " connect-src 'self';"


@dataclass(frozen=True)
class Drawing:
    """What of a page depends on the run, for a page that is open already.

    Args:
        title: of the page.
        body: the markup between the head and the scripts.
        sheet: the rules of positions in it.
        facts: what the page's script needs.
    """

    title: str
    body: str
    sheet: str
    facts: dict[str, object]


def draw_page(diagnosis: Diagnosis) -> Drawing:
    """Return what a page shows of a diagnosis."""
    rules = Rules()
    findings = told_findings(diagnosis)
    nodes = place_nodes(diagnosis.account, findings) if diagnosis.account is not None else []
    body = page_body(diagnosis, nodes, rules)
    facts: dict[str, object] = {
        "nodes": node_facts(nodes),
        "course": course_facts(diagnosis.details) if diagnosis.details is not None else None,
    }
    title = f"quickfit: {text.path(diagnosis.script) or 'a run'}"
    return Drawing(title, body, rules.sheet(), facts)


def render_page(diagnosis: Diagnosis) -> str:
    """Return the report of a diagnosis as an HTML page."""
    return _document(draw_page(diagnosis), _file("page.css"), [_file("page.js")])[0]


def render_comparison(comparison: Comparison) -> str:
    """Return a comparison as an HTML page."""
    title = f"quickfit: {text.path(comparison.before.name)}, {text.path(comparison.after.name)}"
    body = comparison_body(comparison)
    return _document(
        Drawing(title, body, "", {"nodes": [], "course": None}),
        _file("page.css"),
        [_file("page.js")],
    )[0]


def render_live_page() -> tuple[str, str]:
    """Return a page that waits for drawings from where it was loaded, and its policy."""
    bar = element(
        "div",
        element("span", class_="light", id="light", aria_hidden="true"),
        element("span", "connecting", id="live-state", role="status"),
        element("span", id="live-progress"),
        element("details", element("summary", "runs"), element("ul"), id="runs"),
        class_="live-bar",
        id="live",
    )
    empty = Drawing(
        "quickfit watch",
        join(bar, element("div", id="page")),
        "",
        {"nodes": [], "course": None},
    )
    style = _file("page.css") + _file("live.css")
    return _document(empty, style, [_file("page.js"), _file("live.js")], connects=True)


def _document(
    drawing: Drawing, style: str, scripts: list[str], *, connects: bool = False
) -> tuple[str, str]:
    """Return a page and the policy that it carries."""
    style += drawing.sheet
    allowed = " ".join(f"'{_hash(script)}'" for script in scripts)
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src {allowed};"
        f"{CONNECTS if connects else ''}"
        " base-uri 'none'; form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", drawing.title),
        element("style", Html(style)),
    )
    facts = Html(_json_in_page(drawing.facts))
    data = element("script", facts, type="application/json", id="facts")
    code = [element("script", Html(script)) for script in scripts]
    body = element("body", join(Html(drawing.body), data, *code))
    return f"{BEGINNING}{element('html', head, body, lang='en')}\n", policy


def _file(name: str) -> str:
    return resources.files(__name__).joinpath(name).read_text(encoding="utf-8")


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


def write_page(shown: Diagnosis | Comparison, file: Path, *, replaces: bool = False) -> str:
    """Write a page, whole or not at all, for its user alone; return its path.

    Args:
        shown: a diagnosis with its details, or a comparison.
        file: where to; an earlier page is replaced.
        replaces: replace also what is not a page.

    Raises:
        UsageError: there is something else than a page, or it cannot be written there.
    """
    check_page_file(file, replaces=replaces)
    page = render_comparison(shown) if isinstance(shown, Comparison) else render_page(shown)
    try:
        trust.write_private(file, page.encode(), sync=False)
    except OSError as error:
        why = "the disk is full" if error.errno == errno.ENOSPC else error.strerror or str(error)
        raise UsageError(
            f"--html {file}: the page cannot be written ({why}).\n"
            "Name a file in a place you may write to."
        ) from error
    return terminal.escape(str(file), keep="")
