"""Every input that `make fuzz` has found a fault with is read or refused in clear words."""

import os
from pathlib import Path
from random import Random

import pytest

from fuzz import mutations, shrinking
from fuzz.__main__ import CORPUS, input_of
from fuzz.judging import Kind, Verdict, judge
from fuzz.kinds import KINDS

# Their seeds or readers load TensorFlow, or start a process that packs.
SLOW = {"hdf5", "model", "pack", "records"}
CASES = sorted(path for path in CORPUS.glob("*/*") if path.is_dir())


@pytest.fixture(autouse=True)
def private(monkeypatch, tmp_path):
    """Keys and temporary files are those of the test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("quickfit.compression.model_file._CPU_S", 1)


def case_in(folder: Path) -> dict[str, bytes]:
    files = [file for file in folder.rglob("*") if file.is_file()]
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_was_found_stays_corrected(path, tmp_path):
    verdict = judge(KINDS[path.parent.name], case_in(path), tmp_path / "case")
    assert verdict.outcome in ("accepted", "refused"), verdict.detail


def test_every_case_is_small():
    sizes = {path: sum(map(len, case_in(path).values())) for path in CASES}
    assert {path: size for path, size in sizes.items() if size > 150_000} == {}


@pytest.mark.parametrize("name", sorted(KINDS.keys() - SLOW))
def test_a_seed_as_it_is_shows_no_fault(name, tmp_path):
    kind = KINDS[name]
    assert judge(kind, kind.seeds()[0], tmp_path / "case") == Verdict("accepted")


@pytest.mark.parametrize("name", sorted(KINDS.keys() - SLOW))
def test_an_input_is_made_again_from_its_number(name):
    kind = KINDS[name]
    number = len(kind.seeds()) + 5
    first = input_of(kind, name, 1, number)
    assert first == input_of(kind, name, 1, number)
    assert first != input_of(kind, name, 2, number)


# -- what counts as a fault ---------------------------------------------------------------------


def kind_that(read) -> Kind:
    return Kind(lambda: [{"a": b""}], lambda rng, seeds: seeds[0], read)


def _spin(folder):
    while True:
        pass


def _write_outside(folder):
    (folder.parent.parent / "elsewhere").write_text("x")
    return ""


@pytest.mark.parametrize(
    ("read", "key"),
    [
        pytest.param(lambda folder: [][0], "IndexError", id="an exception of another class"),
        pytest.param(lambda folder: "\x1b[31m", "writes '\\x1b'", id="an escape sequence"),
        pytest.param(_write_outside, "reaches out: open", id="a file elsewhere"),
        pytest.param(lambda folder: str(os.system("true")), "reaches out", id="a program"),
        pytest.param(_spin, "TooLong", id="work without an end"),
        pytest.param(lambda folder: "an error in quickfit: x", "an error", id="a failing cause"),
    ],
)
def test_a_fault_is_seen(read, key, tmp_path, monkeypatch):
    monkeypatch.setattr("fuzz.judging.LIMIT_S", 0.05)
    verdict = judge(kind_that(read), {"a": b""}, tmp_path / "scratch" / "case")
    assert verdict.outcome == "finding"
    assert verdict.key.startswith(key)


def test_a_case_is_made_small_while_it_shows_the_fault():
    case = {"a.json": b'{"x": [1, 2, {"bad": 7}], "y": 2}', "b": b"not needed"}
    small = shrinking.shrink(case, lambda one: b'"bad"' in one.get("a.json", b""))
    assert set(small) == {"a.json"}
    assert len(small["a.json"]) < 16


def test_changed_json_is_mostly_still_json():
    rng = Random(1)
    value = {"a": [1, 2.5, "x"], "b": {"c": None}}
    changed = [mutations.change_json(rng, value) for _ in range(200)]
    assert sum(one != value for one in changed) > 150
    assert value == {"a": [1, 2.5, "x"], "b": {"c": None}}
