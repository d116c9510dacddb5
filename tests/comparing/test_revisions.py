"""What git has of a script, and when pairs have decided."""

import subprocess

import pytest

from quickfit.comparing.revisions import (
    FEWEST_PAIRS,
    RevisionRequest,
    compare_revisions,
    is_decided,
    slower_interval,
    sources_of,
)
from quickfit.errors import UsageError
from quickfit.launch.target import Target


@pytest.fixture
def project(tmp_path):
    """A repository with two commits, and a change that is not committed."""

    def git(*words):
        who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
        subprocess.run(["git", "-C", tmp_path, *who, *words], check=True, capture_output=True)

    git("init", "-q")
    (tmp_path / "src").mkdir()
    script, config = tmp_path / "src" / "train.py", tmp_path / "config.yaml"
    for number in ("1", "2"):
        script.write_text(f"print({number})\n")
        config.write_text(number)
        (tmp_path / "old.py").write_text("")
        git("add", "-A")
        git("commit", "-qm", number)
    script.write_text("print(3)\n")
    (tmp_path / "old.py").unlink()
    (tmp_path / "untracked.py").write_text("")
    return tmp_path


def test_the_source_of_a_revision_is_what_differs_from_here(project):
    found = sources_of("HEAD", project)
    assert found.texts == {str(project / "src" / "train.py"): b"print(2)\n"}
    assert found.notes == ["old.py is in HEAD and not here: a run that imports it cannot be made"]


def test_other_files_that_differ_are_said(project):
    found = sources_of("HEAD~1", project / "src")
    assert found.texts == {str(project / "src" / "train.py"): b"print(1)\n"}
    assert "config.yaml differs too; both runs read the one that is here" in found.notes


@pytest.mark.parametrize("revision", ["nowhere", "--upload-pack=x", "HEAD:src", ""])
def test_what_is_no_revision_is_refused(project, revision):
    with pytest.raises(UsageError, match=r"git log|not a revision"):
        sources_of(revision, project)


def request(project, **how):
    """Return what asks for a comparison of the script."""
    given = {"target": Target(script="src/train.py"), "cwd": project, "base": "HEAD", **how}
    return RevisionRequest(**given)


def test_a_revision_without_the_script_and_one_without_a_change_are_refused(project):
    with pytest.raises(UsageError, match=r"HEAD has no new\.py"):
        compare_revisions(request(project, target=Target(script="new.py")))
    with pytest.raises(UsageError, match="no Python file differs between HEAD and HEAD"):
        compare_revisions(request(project, head="HEAD"))


def test_a_folder_outside_git_is_refused(tmp_path):
    with pytest.raises(UsageError, match="git"):
        sources_of("HEAD", tmp_path)


def test_pairs_decide_when_the_interval_is_on_one_side():
    slow, even = [0.8, 0.81, 0.79], [1.0, 1.003, 0.998]
    assert not is_decided(slow[: FEWEST_PAIRS - 1], None)
    assert is_decided(slow, None)
    assert is_decided(slow, 0.1)
    assert slower_interval(slow).low > 1.1
    assert is_decided(even, None)  # the same, within a few percent
    assert is_decided(even, 0.1)
    assert not is_decided([0.9, 0.93, 0.88], 0.1)  # one side of it is not sure
