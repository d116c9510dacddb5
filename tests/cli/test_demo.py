"""`quickfit demo`: the folder it works in, kept or removed."""

import pytest

from quickfit.cli.demo import demo
from quickfit.demo import story
from quickfit.errors import UsageError


@pytest.fixture
def homes(monkeypatch):
    """The folders in which a story was told; the story itself leaves one file."""
    told = []

    def tell_story(home, stream):
        told.append(home)
        (home / "slow.py").write_text("")

    monkeypatch.setattr(story, "tell_story", tell_story)
    monkeypatch.setattr(story, "check_installed", lambda: None)
    return told


def test_removes_what_it_made(homes, capsys):
    demo()
    assert not homes[0].exists()
    assert "quickfit demo --keep FOLDER" in capsys.readouterr().out


def test_removes_what_it_made_when_interrupted(homes, monkeypatch):
    def interrupted(home, stream):
        homes.append(home)
        raise KeyboardInterrupt

    monkeypatch.setattr(story, "tell_story", interrupted)
    with pytest.raises(KeyboardInterrupt):
        demo()
    assert not homes[0].exists()


def test_keeps_what_it_made_if_asked(homes, tmp_path, capsys):
    demo(keep=tmp_path / "new" / "place")
    assert (tmp_path / "new" / "place" / "slow.py").exists()
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
