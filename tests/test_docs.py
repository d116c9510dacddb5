"""Docs that are true: everything is documented, and generated pages are fresh."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from quickfit.causes import catalogue
from quickfit.cli.main import COMMANDS, app, arranged
from quickfit.recording.schema import TABLES, columns

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_the_generated_pages_are_up_to_date():
    done = subprocess.run(
        [sys.executable, "docs/generate.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_every_table_and_column_of_the_recording_is_described():
    text = (ROOT / "docs" / "recording-format.md").read_text()
    for table in TABLES:
        assert f"`{table}`" in text
        for column in columns(table):
            assert f"`{column.name}`" in text, f"{table}.{column.name}"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_in_the_readme_and_teaches_with_an_example(command):
    assert f"quickfit {command}" in README
    shown = subprocess.run(
        [sys.executable, "-m", "quickfit", command, "--help"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert f"quickfit {command}" in shown


@pytest.mark.parametrize("cause", sorted(catalogue()))
def test_explain_prints_the_page_of(cause):
    shown = CliRunner().invoke(app(), ["explain", cause]).stdout
    assert "Why it is slow" in shown or "What goes wrong" in shown


def test_make_targets_of_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"^    make (\w+)", README, re.M)
    assert {"demo", "test"} <= set(targets)
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.M), target


def test_links_of_the_docs_lead_somewhere():
    for file in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+)\)", file.read_text()):
            assert (file.parent / link).exists(), f"{file.name}: {link}"


def test_constraints_are_exact_and_name_no_registry():
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            assert re.fullmatch(r"[A-Za-z0-9_.\-]+==[A-Za-z0-9_.+!\-]+", line), line


def test_the_repo_names_no_path_of_one_machine():
    files = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    for name in files:
        file = ROOT / name
        if file.suffix in (".py", ".md", ".toml", ".txt", "") and file.is_file():
            text = file.read_text(errors="replace")
            assert not re.search(r"(^|[^A-Za-z0-9_.])/(work|root)/", text), name


def test_shell_lines_of_the_readme_can_be_split():
    for line in re.findall(r"^    (quickfit .+)$", README, re.M):
        shlex.split(line.split("#")[0])


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def commands_of(file):
    """Return the command lines of a page: lines of code that begin with `quickfit`."""
    found = re.findall(r"^(?: {4,}|\t)(?:[!$] ?)?(quickfit .+)$", file.read_text(), re.M)
    # What follows a gap, a comment or a pipe is not for the command; so is a line of its output.
    cut = [re.split(r"\s{2,}|\s#|\s[|>]", line)[0] for line in found]
    return [line for line in cut if not line.startswith("quickfit:")]


@pytest.mark.parametrize("file", PAGES, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_command_of_the_docs_has_options_that_exist(file):
    root = typer.main.get_command(app())
    for line in commands_of(file):
        words = arranged(shlex.split(line)[1:])
        if words[0].startswith("--"):  # of quickfit itself, such as --version
            options = {name for param in root.params for name in param.opts}
            assert words[0] in {*options, "--help", "--install-completion", "--show-completion"}
            continue
        try:
            root.commands[words[0]].make_context(words[0], words[1:])
        except typer.Exit:  # --help
            continue
        except Exception as error:
            raise AssertionError(f"{line}: {error}") from error


def test_what_the_docs_explain_can_be_explained():
    said = {line for file in PAGES for line in commands_of(file) if " explain " in line}
    for line in said:
        result = CliRunner().invoke(app(), shlex.split(line)[1:])
        assert result.exit_code == 0, line


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the site, with the report of one cause in it; what is wrong in it ends the build."""
    pytest.importorskip("mkdocs", reason="needs the extra quickfit[docs], which `make` installs")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "QUICKFIT_DOCS_REPORTS": "1", "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_has_every_page_and_a_real_report(site):
    names = {
        str(file.relative_to(ROOT / "docs")) for file in PAGES if ROOT / "docs" in file.parents
    }
    made = {str(page.relative_to(site).with_suffix(".md")) for page in site.rglob("*.html")}
    assert {re.sub(r"README\.md$", "index.md", name) for name in names} <= made
    assert {"index.md", "changelog.md", "contributing.md"} <= made
    reports = [p for p in site.rglob("causes/*.html") if "quickfit-report" in p.read_text()]
    assert len(reports) == 1
    assert '<p class="qf-verdict">' in reports[0].read_text()


def test_the_site_loads_nothing_from_elsewhere(site):
    for page in site.rglob("*.html"):
        loads = re.findall(r'<(?:script|img|iframe)[^>]+src="([^"]+)"', page.read_text())
        loads += re.findall(r'<link[^>]+rel="(?:stylesheet|preconnect)"[^>]+', page.read_text())
        assert not [each for each in loads if "//" in each], page
