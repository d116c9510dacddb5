"""The steps of `action.yml`, run by bash with stand-ins for `quickfit` and `gh`."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

ACTION = yaml.safe_load((Path(__file__).parents[1] / "action.yml").read_text())
COMPARE, COMMENT, FAIL = ACTION["runs"]["steps"]
# Each writes its words to a file, one a line.
STAND_IN = """#!/bin/bash
printf '%s\\n' "$@" >> "$LOG.{name}"
{does}
"""
QUICKFIT = 'if [ "${ENDS:-0}" -lt 2 ]; then echo "### quickfit: slower"; fi\nexit "${ENDS:-0}"'
GH = 'case "$*" in *paginate*) echo "${OLD:-}" ;; esac'


@pytest.fixture
def step(tmp_path):
    """Run one step; return its exit code, its outputs and what the stand-ins were called with."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, does in (("quickfit", QUICKFIT), ("gh", GH)):
        program = programs / name
        program.write_text(STAND_IN.format(name=name, does=does))
        program.chmod(0o755)
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    subprocess.run(["git", "-C", tmp_path, "init", "-q"], check=True)
    one = ["git", "-C", tmp_path, *who, "commit", "-q", "--allow-empty", "-m", "one"]
    subprocess.run(one, check=True)

    def run(which, path=None, **env):
        files = {name: tmp_path / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "LOG")}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", which["run"]],
            cwd=tmp_path,
            env={
                "PATH": f"{programs}:{os.environ['PATH']}" if path is None else path,
                "HOME": str(tmp_path),
                "RUNNER_TEMP": str(tmp_path),
                **{name: str(file) for name, file in files.items()},
                **env,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        text = files["GITHUB_OUTPUT"].read_text() if files["GITHUB_OUTPUT"].exists() else ""
        calls = {
            name: (tmp_path / f"LOG.{name}").read_text().splitlines()
            for name in ("quickfit", "gh")
            if (tmp_path / f"LOG.{name}").exists()
        }
        outputs = dict(line.split("=", 1) for line in text.splitlines())
        return done, outputs, calls

    return run


GIVEN = {"SCRIPT": "train.py", "ARGUMENTS": "", "BASE": "HEAD", "LIMIT": "", "BUDGET": "5m"}


def test_no_input_becomes_text_of_a_script():
    for one in ACTION["runs"]["steps"]:
        assert "${{" not in one["run"]
        assert one["shell"] == "bash"
    used = set(re.findall(r"inputs\.([a-z-]+)", str(ACTION["runs"])))
    assert used == set(ACTION["inputs"])


def test_it_compares_and_keeps_the_answer(step, tmp_path):
    done, outputs, calls = step(COMPARE, **GIVEN)
    assert done.returncode == 0, done.stderr
    assert outputs["verdict"] == "not-slower"
    assert Path(outputs["markdown"]).read_text() == "### quickfit: slower\n"
    assert (tmp_path / "GITHUB_STEP_SUMMARY").read_text() == "### quickfit: slower\n"
    options = ["--base", "HEAD", "--format", "markdown", "--budget", "5m"]
    assert calls["quickfit"] == ["compare", *options, "train.py"]


def test_arguments_are_taken_as_a_shell_would_and_nothing_in_them_runs(step, tmp_path):
    words = "--name 'two words' $(touch harm) `touch harm` * \"a;b\""
    _, _, calls = step(COMPARE, **{**GIVEN, "ARGUMENTS": words, "LIMIT": "10%"})
    given = calls["quickfit"]
    assert given[given.index("--fail-if-slower") + 1] == "10%"
    assert given[given.index("train.py") + 1 :][:2] == ["--name", "two words"]
    assert given[-2:] == ["*", "a;b"]
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize(("ends", "verdict"), [("1", "slower"), ("2", "error")])
def test_a_failure_is_kept_for_the_last_step(step, ends, verdict):
    done, outputs, _ = step(COMPARE, **GIVEN, ENDS=ends)
    assert (done.returncode, outputs["verdict"], outputs["code"]) == (0, verdict, ends)
    assert step(FAIL, CODE=outputs["code"])[0].returncode == int(ends)


def test_a_missing_quickfit_says_how_to_install_it(step):
    done, _, _ = step(COMPARE, path="/usr/bin:/bin", **GIVEN)
    assert done.returncode == 2
    assert "pip install 'quickfit[cpu]'" in done.stdout


@pytest.mark.parametrize(
    ("old", "method", "place"),
    [("", "POST", "repos/o/r/issues/7/comments"), ("55", "PATCH", "repos/o/r/issues/comments/55")],
)
def test_there_is_one_comment_that_is_kept_up_to_date(step, tmp_path, old, method, place):
    markdown = tmp_path / "it.md"
    markdown.write_text("### quickfit\n")
    env = {"GH_REPO": "o/r", "NUMBER": "7", "SCRIPT": "train.py", "MARKDOWN": str(markdown)}
    done, _, calls = step(COMMENT, OLD=old, **env)
    assert done.returncode == 0, done.stderr
    written = calls["gh"][calls["gh"].index("--silent") :]
    assert written[1:4] == ["--method", method, place]
    assert (tmp_path / "it.md.comment").read_text().endswith("-->\n### quickfit\n")


def test_without_an_answer_there_is_no_comment(step, tmp_path):
    env = {"GH_REPO": "o/r", "NUMBER": "7", "SCRIPT": "train.py", "MARKDOWN": str(tmp_path / "no")}
    done, _, calls = step(COMMENT, **env)
    assert (done.returncode, calls) == (0, {})
