"""The parts of the benchmarks that decide who is right: checks of outputs, and claims."""

import importlib
import itertools
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from photos import folder

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
CLASSES = {"cat": 20, "dog": 20}


@pytest.fixture
def part(monkeypatch):
    """Return modules of the benchmarks by name; they are forgotten after the test."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    for name in [name for name in sys.modules if name.partition(".")[0] == "data"]:
        monkeypatch.delitem(sys.modules, name)  # the tests have a folder of that name, too
    before = set(sys.modules)
    yield lambda name: importlib.import_module(f"data.{name}")
    for name in set(sys.modules) - before:
        if name.partition(".")[0] == "data":
            del sys.modules[name]


@pytest.fixture
def outputs(part, monkeypatch):
    """Return the checks, content with one batch."""
    checks = part("outputs")
    monkeypatch.setattr(checks, "CHECKED_BATCHES", 1)
    return checks


@pytest.fixture
def taken(part, tmp_path):
    """Return a few photographs as the benchmarks list them."""
    where = tmp_path / "photos"
    files = folder(where, CLASSES, size=(240, 320))
    names = [str(file.relative_to(where)) for file in files]
    (tmp_path / "photos.json").write_text(json.dumps({"note": "40 JPEGs", "files": names}))
    return part("photos").photos(where)


def batch(outputs, taken, numbers):
    labels = taken.labels()
    images = np.stack([outputs.pil(taken.files[number]) for number in numbers])
    return images, np.asarray([labels[number] for number in numbers])


def shuffled(count):
    return np.random.default_rng(1).permutation(40)[:count]


def test_right_images_are_recognised_in_any_order(outputs, taken):
    seen = outputs.check(iter([batch(outputs, taken, shuffled(32))]), taken.folder)
    assert seen == {"dtype": "uint8", "psnr_db": 99.0}


def test_labels_that_shifted_are_an_error(outputs, taken):
    images, labels = batch(outputs, taken, shuffled(32))
    with pytest.raises(ValueError, match=r"labels right 0\.\d\d, images distinct 1\.00"):
        outputs.check(iter([(images, np.roll(labels, 1))]), taken.folder)


def test_an_image_again_and_again_is_an_error(outputs, taken):
    images, labels = batch(outputs, taken, [3] * 32)
    with pytest.raises(ValueError, match=r"labels right 1\.00, images distinct 0\.03"):
        outputs.check(iter([(images, labels)]), taken.folder)


def test_pixels_of_another_scale_are_an_error(outputs, taken):
    images, labels = batch(outputs, taken, shuffled(32))
    with pytest.raises(ValueError, match="levels away from every photograph"):
        outputs.check(iter([(images / 255, labels)]), taken.folder)


def test_smaller_images_are_an_error(outputs, taken):
    images, labels = batch(outputs, taken, shuffled(32))
    with pytest.raises(ValueError, match=r"a batch has the shape \(32, 112, 112, 3\)"):
        outputs.check(iter([(images[:, ::2, ::2], labels)]), taken.folder)


def test_photographs_are_the_same_each_time_they_are_cut(part, tmp_path):
    from photos import jpeg, photo

    source = tmp_path / "source"
    source.mkdir()
    (source / "large.jpg").write_bytes(jpeg(photo(1250, 1600)))
    (source / "small.jpg").write_bytes(jpeg(photo(60, 80)))
    made = [part("photos").photos(tmp_path / name, count=9, where=[source]) for name in ("a", "b")]
    assert len(made[0].classes) == 8
    assert "cut from 1 photographs" in made[0].note
    contents = [[file.read_bytes() for file in each.files] for each in made]
    assert contents[0] == contents[1]
    assert len(set(contents[0])) == 9


def test_photographs_of_another_count_are_not_taken(part, taken):
    with pytest.raises(SystemExit, match="40 photographs, not 2,000"):
        part("photos").photos(taken.folder, count=2000)


def test_a_folder_without_photographs_says_what_to_install(part, tmp_path):
    with pytest.raises(SystemExit, match="--photos DIR"):
        part("photos").photos(tmp_path / "new", count=9, where=[tmp_path])


def result(part, name, rates):
    """Return a case that did so many images in each second, with all of two cores."""
    turns = part("turns")
    blocks = [turns.Block(images, 1.0, 2.0, 0.0) for images in rates]
    return turns.Result(part("cases").Case(name, "nowhere:nothing"), blocks)


@pytest.mark.parametrize(
    ("rates", "outcome"),
    [
        pytest.param([100, 101, 100, 101], "holds", id="all of the interval above"),
        pytest.param([80, 81, 80, 81], "is missed", id="all of it below"),
        pytest.param([60, 140, 70, 130], "is unclear", id="the machine was too restless"),
        pytest.param([], "not measured", id="it could not run"),
    ],
)
def test_a_claim(part, capsys, rates, outcome):
    table = part("table")
    others = [result(part, "slow", [50] * 4), result(part, "fast", [100] * 4)]
    claim = table.Claim("ours against theirs", "ours", ("slow", "fast"), 0.95)
    (verdict,) = table.judge([claim], [result(part, "ours", rates), *others])
    assert verdict.outcome == outcome
    assert f"{outcome:12} ours against theirs" in capsys.readouterr().out
    assert table.exit_code([verdict]) == (outcome in ("is missed", "not measured"))


def test_a_claim_is_held_against_the_fastest_of_the_others(part):
    table = part("table")
    others = [result(part, "slow", [50] * 4), result(part, "fast", [100] * 4)]
    claim = table.Claim("ours against theirs", "ours", ("slow", "fast"), 0.95)
    (verdict,) = table.judge([claim], [result(part, "ours", [100] * 4), *others])
    assert verdict.best == "fast"
    assert verdict.wall.mean == pytest.approx(1.0)


def test_a_peer_that_is_not_there_is_named(part, capsys):
    cases, turns = part("cases"), part("turns")
    case = cases.Case("other loader", "nowhere:nothing", needs=("json", "no_such_package"))
    found = turns.measure([case], turns.Plan(1, 0.0, 0.0), shared={})
    part("table").show("Loaders", found, "ours")
    assert "not installed: no_such_package" in capsys.readouterr().out


def test_a_case_that_fails_leaves_its_last_words(part):
    cases, turns = part("cases"), part("turns")
    case = cases.Case("broken", "data.no_such_module:make")
    (found,) = turns.measure([case], turns.Plan(1, 0.0, 0.0), shared={"photos": "."})
    assert "No module named 'data.no_such_module'" in found.failure
    assert found.blocks == []


def test_a_case_works_when_its_turn_comes(part, tmp_path):
    folder(tmp_path / "images", {"cat": 40, "dog": 40}, size=(12, 16))
    cases, turns = part("cases"), part("turns")
    options = {"writer": "quickfit_pack", "scratch": str(tmp_path / "new"), "is_copy": True}
    case = cases.Case("pack", "data.writers:write_in_turns", options)
    shared = {"photos": str(tmp_path / "images"), "takes_turns": True}
    (found,) = turns.measure([case], turns.Plan(2, 0.0, 0.0), shared=shared)
    assert found.failure == ""
    assert [block.images for block in found.blocks] == [80, 80]
    assert list((tmp_path / "new").iterdir()) == []


def test_memory_is_told_for_each_tenth_of_the_work(part):
    memory = part("memory")
    looks = [memory.Look(10 * n, 100 + n) for n in range(1, 101)]
    tenths = memory.deciles(looks)
    assert [look.written_bytes for look in tenths] == [*range(90, 900, 100), 1000]


def test_memory_that_grows_with_every_image_is_seen_though_it_is_freed_at_the_end(part):
    memory = part("memory")
    looks = [memory.Look(n, 1000 + 2 * n) for n in range(500)]
    assert memory.growth([*looks, memory.Look(500, 1000)]) > 1.8


def test_memory_that_stays_is_flat(part):
    memory = part("memory")
    assert memory.growth([memory.Look(n, 1000 + n % 7) for n in range(500)]) < 1.01


def test_shards_are_cut_by_their_bytes(part, monkeypatch):
    writers = part("writers")
    monkeypatch.setattr(writers, "SHARD_BYTES", 10)
    rows = ((f"{n}.jpg", n, b"1234") for n in itertools.islice(itertools.count(), 7))
    shards = [[label for _, label, _ in shard] for shard in writers._by_bytes(rows)]
    assert shards == [[0, 1, 2], [3, 4, 5], [6]]
