"""`quickfit pack`: its options, its ends, and what it says."""

import os
import shutil
import signal
import subprocess
import sys
from typing import NamedTuple

import pytest

from quickfit.cli.main import main
from quickfit.data import pack

from hostile import truncated_jpeg
from photos import folder


class Ended(NamedTuple):
    """What a command has printed."""

    stdout: str
    stderr: str


@pytest.fixture
def run(capsys, monkeypatch):
    """Return a function that runs the command in this process."""

    def command(*words, code=0):
        monkeypatch.setattr("sys.argv", ["quickfit", "pack", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        ended = Ended(*capsys.readouterr())
        assert (end.value.code or 0) == code, ended.stderr
        return ended

    return command


def test_it_packs_and_says_how_to_read_it(photos, tmp_path, run):
    ended = run(photos, tmp_path / "pack")
    assert ended.stdout.startswith("packed: 40 images as they are")
    assert "quickfit.data.records(" in ended.stdout
    assert "tf.io.FixedLenFeature" in ended.stdout
    assert ended.stderr == ""
    assert "already packed: 40 images" in run(photos, tmp_path / "pack").stdout
    assert "the pack is whole" in run("--verify", tmp_path / "pack").stdout
    assert run("--verify", tmp_path / "pack", "--quiet").stdout == ""


def test_every_option_reaches_the_pack(photos, tmp_path, run):
    words = "--as raw --size 8x9 --seed 3 --shard-mb 64 --max-pixels 1000000 --workers 1 --quiet"
    ended = run(photos, tmp_path / "pack", *words.split())
    assert (ended.stdout, ended.stderr) == ("", "")
    other = run(photos, tmp_path / "pack", "--check", "full", code=5).stderr
    for what in ("form was raw", "size was 8x9", "seed was 3", "max pixels was 1000000"):
        assert what in other
    run(photos, tmp_path / "pack", "--restart")


def test_a_table_names_its_columns(photos, tmp_path, run):
    rows = [f"{file},{file.parent.name},x" for file in photos.rglob("*.jpg")]
    (tmp_path / "table.csv").write_text("\n".join(["where,kind,other", *rows]))
    words = ["--path-column", "where", "--label-column", "kind"]
    assert "classes: cat 25, dog 15" in run(tmp_path / "table.csv", tmp_path / "p", *words).stdout


def test_bad_images_end_with_zero_and_are_told(tmp_path, run):
    folder(tmp_path / "photos", {"cat": 2})
    (tmp_path / "photos" / "cat" / "half.jpg").write_bytes(truncated_jpeg())
    told = run(tmp_path / "photos", tmp_path / "pack").stdout
    assert "1 of 3 images were left out: 1 truncated" in told


@pytest.mark.parametrize(
    ("words", "code", "what"),
    [
        (["{photos}"], 2, "the folder of the pack is missing"),
        (["{photos}", ""], 2, "the folder of the pack is missing"),
        (["{photos}", "{tmp}/pack", "--shard-mb", "0"], 2, "--shard-mb"),
        (["{photos}", "{tmp}/pack", "--path-column", "x"], 2, "--path-column (path_column) is 'x'"),
        (["none", "{tmp}/pack"], 2, "none"),
        (["{photos}", "{tmp}/pack", "--as", "raw", "--size", "big"], 2, "'big' is no size"),
        (["--verify", "{tmp}"], 5, "is no pack"),
        (["--verify", "a", "b"], 2, "--verify takes one folder"),
        (["{photos}", "{tmp}"], 2, "other things in it (mine.txt)"),
    ],
)
def test_a_mistake_ends_with_its_code_and_no_traceback(photos, tmp_path, words, code, what, run):
    (tmp_path / "mine.txt").write_text("")
    ended = run(*(word.format(photos=photos, tmp=tmp_path) for word in words), code=code)
    assert what in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_pack_that_is_not_whole_ends_with_five(photos, tmp_path, run):
    run(photos, tmp_path / "pack", "--quiet")
    shard = next((tmp_path / "pack").glob("*.tfrecord"))
    shard.write_bytes(shard.read_bytes()[:-5])
    told = run("--verify", tmp_path / "pack", code=5).stderr
    assert f"{shard.name}, record 39: it is broken" in told


def test_an_interrupt_says_how_to_go_on(tmp_path):
    folder(tmp_path / "photos", {"cat": 60}, size=(300, 400))
    words = (tmp_path / "photos", tmp_path / "pack", "--as", "raw", "--workers", "1")
    command = [sys.executable, "-m", "quickfit", "pack", *map(str, words)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)
    while not any((tmp_path / "pack").glob(".partial/*.tfrecord.*.writing")):
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)
    told = process.communicate()[1].decode()
    assert process.returncode in (-signal.SIGINT, 130)  # the same to a shell
    assert "interrupted" in told
    assert "The same command goes on where it stopped" in told
    assert "Traceback" not in told
    assert not list((tmp_path / "pack").glob(".partial/*.writing"))


@pytest.mark.parametrize("where", ["> /dev/full", ">&-"])
def test_a_summary_that_nobody_gets_does_not_fail_the_pack(photos, tmp_path, where):
    command = f'"{sys.executable}" -m quickfit pack "{photos}" "{tmp_path}/pack" {where}'
    ended = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert ended.returncode == 0
    assert "Traceback" not in ended.stderr
    assert "Exception" not in ended.stderr
    assert ("could not be printed: No space left" in ended.stderr) == ("full" in where)
    assert pack(photos, tmp_path / "pack", progress=False).was_there


def test_a_quiet_pack_still_warns_of_losses(photos, tmp_path, run):
    shutil.make_archive(str(tmp_path / "x"), "tar", photos)
    content = (tmp_path / "x.tar").read_bytes()
    (tmp_path / "x.tar").write_bytes(content[: len(content) // 2])
    ended = run(tmp_path / "x.tar", tmp_path / "pack", "--quiet")
    assert ended.stderr.startswith("quickfit: WARNING: x.tar: the archive ends early")
    assert ended.stdout == ""
