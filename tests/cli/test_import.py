"""`quickfit import`: a recording, its report, and what changed."""

import pytest

from quickfit.cli.import_ import import_
from quickfit.comparing.recordings import compare_recordings
from quickfit.errors import UsageError

from profiles.profile_files import chrome, nsight


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_report_follows_and_the_recording_is_kept(folder, capsys):
    import_(nsight(folder / "a.sqlite", idle_us=400))
    shown = capsys.readouterr()
    assert "profiled by Nsight Systems" in shown.out
    assert "idle 43 % of the time" in shown.out
    assert "quickfit itself" not in shown.out
    assert len(list((folder / ".quickfit" / "runs").glob("a*.qfrun"))) == 1
    assert "recording:" in shown.err


def test_what_changed_is_said_for_a_step(folder, capsys):
    before, after = nsight(folder / "a.sqlite"), nsight(folder / "b.sqlite", kernel_us=600)
    import_(after, against=before, output=folder / "b.qfrun")
    shown = capsys.readouterr().out
    assert "a step takes 1.64× as long" in shown
    assert "kernel: gemm" in shown
    assert "+300 µs" in shown
    import_(before, against=folder / "b.qfrun", output=folder / "a.qfrun")
    assert "a step is 1.64× faster" in capsys.readouterr().out


def test_profiles_of_two_programs_are_not_compared(folder, capsys):
    (folder / "t.json").write_bytes(chrome(name="other").replace(b'"gemm"', b'"softmax"'))
    import_(folder / "t.json", against=nsight(folder / "a.sqlite"), output=folder / "a.qfrun")
    assert "too little work in common" in capsys.readouterr().out


def test_a_file_that_is_not_there_is_refused(folder):
    with pytest.raises(UsageError, match="no such file or folder"):
        import_(folder / "none.sqlite")


def test_compare_says_how_profiles_are_compared(folder):
    import_(nsight(folder / "a.sqlite"), output=folder / "a.qfrun")
    with pytest.raises(UsageError, match="--against"):
        compare_recordings(folder / "a.qfrun", folder / "a.qfrun")
