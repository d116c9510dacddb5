"""`quickfit demo`: the folder it works in, kept or removed."""

import tempfile

import pytest

from quickfit.cli.demo import demo
from quickfit.demo import story
from quickfit.errors import UsageError


@pytest.fixture
def homes(monkeypatch):
    """The folders in which a story was told; the story itself leaves one file and the page."""
    told = []

    def tell_story(home, stream, *, page):
        told.append(home)
        (home / "slow.py").write_text("")
        page.write_text("")
        stream.write(f"{page}\n")

    monkeypatch.setattr(story, "tell_story", tell_story)
    monkeypatch.setattr(story, "check_installed", lambda: None)
    return told


def test_removes_what_it_made_and_leaves_the_page(homes, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    demo()
    assert not homes[0].exists()
    shown = capsys.readouterr().out
    assert "quickfit demo --keep FOLDER" in shown
    assert shown.splitlines()[0] == str(next(tmp_path.glob("quickfit-demo-*.html")))


def test_removes_what_it_made_when_interrupted(homes, monkeypatch):
    def interrupted(home, stream, **given):
        homes.append(home)
        raise KeyboardInterrupt

    monkeypatch.setattr(story, "tell_story", interrupted)
    with pytest.raises(KeyboardInterrupt):
        demo()
    assert not homes[0].exists()


def test_keeps_what_it_made_if_asked(homes, tmp_path, capsys):
    demo(keep=tmp_path / "new" / "place")
    assert (tmp_path / "new" / "place" / "slow.py").exists()
    assert (tmp_path / "new" / "place" / "report.html").exists()
    assert f"cd {tmp_path / 'new' / 'place'}" in capsys.readouterr().out


def test_refuses_a_folder_with_something_in_it(homes, tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(UsageError, match=r"already exists and is not an empty folder"):
        demo(keep=tmp_path)
    assert homes == []


def test_says_why_a_folder_cannot_be_made(homes, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"cannot make this folder \(Not a directory\)"):
        demo(keep=tmp_path / "file" / "inside")
