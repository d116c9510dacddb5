"""Makes the pages of the site that are not files of docs/, and shows each cause as it was found.

MkDocs calls these functions (`mkdocs.yml`). QUICKFIT_DOCS_REPORTS limits how many causes get their
real report, which takes about a second each.
"""

import os
import posixpath
import re
import tarfile
import tempfile
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
RECORDINGS = ROOT / "tests" / "recordings" / "pairs"
# Files of the repository that are pages of the site too, by their names there.
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "examples/README.md": "examples.md",
}
_LINK = re.compile(r"\]\(([^)#\s:]+)(#[^)]*)?\)")
_reports_left = int(os.environ.get("QUICKFIT_DOCS_REPORTS", "1000"))


def on_config(config):
    """Put every page of a folder where the navigation names the folder."""
    config.nav = _expanded(config.nav)
    return config


def _expanded(nav):
    if isinstance(nav, list):
        return [_expanded(each) for each in nav]
    if isinstance(nav, dict):
        return {title: _expanded(value) for title, value in nav.items()}
    if not nav.endswith("/"):
        return nav
    return [nav + file.name for file in sorted((ROOT / "docs" / nav).glob("*.md"))]


def on_files(files, config):
    """Add what lies outside of docs/, with links that lead there."""
    for name, page in PAGES.items():
        text = _with_site_links((ROOT / name).read_text(encoding="utf-8"), name)
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    """Lead links out of docs/ to their pages, and add the report of a cause."""
    name = page.file.src_uri
    if name in PAGES.values():
        return markdown
    text = _with_site_links(markdown, f"docs/{name}")
    cause = name.removeprefix("causes/").removesuffix(".md")
    return text + _report(cause) if name.startswith("causes/") else text


def _with_site_links(text, source):
    """Return a page in which links lead to pages of the site; to other files they are names."""
    folder = posixpath.dirname(source)
    here = posixpath.dirname(_site_name(source) or "")

    def lead(found):
        target = posixpath.normpath(posixpath.join(folder, found[1]))
        name = _site_name(target)
        if name is None:
            return f"](#)<!-- {target} is a file of the repository -->"
        return f"]({posixpath.relpath(name, here or '.')}{found[2] or ''})"

    shown = _LINK.sub(lead, text)
    return re.sub(r"\[([^\]]*)\]\(#\)<!-- (\S+) [^>]*-->", r"\1 (`\2` in the repository)", shown)


def _site_name(path):
    """Return what a file of the repository is called in the site; None if it is not there."""
    if path in PAGES:
        return PAGES[path]
    inside = path.removeprefix("docs/")
    if inside == path or not path.endswith(".md"):
        return None
    return inside


def _report(cause):
    """Return the report of a run that suffers from a cause, as a notebook draws it."""
    global _reports_left
    archive = RECORDINGS / f"{cause}.tar.xz"
    if not archive.exists() or _reports_left <= 0:
        return ""
    _reports_left -= 1
    from quickfit.diagnosis import diagnose
    from quickfit.report.page.small import render_small

    with tempfile.TemporaryDirectory() as home, tarfile.open(archive) as kept:
        kept.extractall(home, filter="data")
        html = render_small(diagnose(Path(home) / "run.qfrun", with_details=True))
        html = html.replace(f"{home}/", "")
    # Markdown leaves HTML alone up to the first empty line.
    html = re.sub(r"\n\s*\n", "\n", html)
    return (
        "\n\n## As quickfit reports it\n\nThe report of a small program that suffers from this"
        f" (`corpus/pairs/{cause}` in the repository):\n\n{html}\n"
    )
