"""Docs that are true: everything is documented, and generated pages are fresh."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from quickfit.causes import catalogue
from quickfit.cli.main import COMMANDS, app
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
