"""Files of records: counted, and shared out."""

import gzip
import itertools

import pytest

from quickfit.data.entries import Reason
from quickfit.data.reading import stream
from quickfit.data.reading.faults import Faults
from quickfit.data.reading.stream import UNKNOWN, Part, behind_damage, counted, shared
from quickfit.errors import PipelineError

from record_files import flipped, frame, written


@pytest.mark.parametrize("counts", [[5], [5, 6, 7], [1, 1, 1, 1, 1], [9, 0, 4, 4]])
@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_every_record_is_one_workers(counts, workers):
    parts = [Part(str(number), "", count) for number, count in enumerate(counts)]
    seen = []
    for index in range(workers):
        own = shared(parts, (index, workers))
        for part in own:
            records = range(part.start, part.count, part.step)
            assert part.own_count == len(records)
            seen.extend((part.file, record) for record in records)
    everything = [(str(n), r) for n, count in enumerate(counts) for r in range(count)]
    assert sorted(seen) == sorted(everything)


def test_workers_get_whole_files_where_there_are_enough():
    parts = [Part(str(number), "", 10) for number in range(6)]
    assert [part.file for part in shared(parts, (1, 3))] == ["1", "4"]


def test_leftover_files_are_shared_evenly():
    parts = [Part(str(number), "", 6) for number in range(4)]
    sizes = [sum(part.own_count for part in shared(parts, (index, 5))) for index in range(5)]
    assert max(sizes) - min(sizes) <= 1


def test_files_are_counted(tmp_path):
    files = [str(written(tmp_path / str(n), [b"x"] * n)) for n in range(4)]
    known = counted([Part(file, "") for file in files], Faults(skips=False))
    assert [part.count for part in known] == [0, 1, 2, 3]


def test_many_records_are_not_counted_unless_damaged_ones_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(stream, "_MOST_COUNTED", 4)
    parts = [Part(str(written(tmp_path / str(n), [b"x"] * 3)), "") for n in range(2)]
    assert [part.count for part in counted(parts, Faults(skips=False))] == [UNKNOWN, UNKNOWN]
    assert [part.count for part in counted(parts, Faults(skips=True))] == [3, 3]


@pytest.fixture
def damaged(tmp_path):
    contents = [b"%03d" % number for number in range(8)]
    file = written(tmp_path / "a", contents)
    for number in (2, 5):
        flipped(file, len(frame(contents[0])) * number + 13)
    return str(file)


def test_records_behind_the_first_damaged_one_are_found(damaged):
    faults = Faults(skips=True)
    assert behind_damage(damaged, "", faults) == [b"003", b"004", b"006", b"007"]
    names = [rejection.name for rejection in faults.found]
    assert names == [f"{damaged}, record 2", f"{damaged}, record 5"]


def test_the_first_damaged_record_is_named(damaged):
    with pytest.raises(PipelineError, match="record 2: corrupt: its bytes differ"):
        behind_damage(damaged, "", Faults(skips=False))


def test_a_file_that_is_whole_now_is_told_apart(tmp_path):
    file = str(written(tmp_path / "a", [b"x"]))
    with pytest.raises(PipelineError, match="could not be read when its turn came"):
        behind_damage(file, "", Faults(skips=False))
    assert list(itertools.chain(behind_damage(file, "", Faults(skips=True)))) == []


@pytest.mark.parametrize(("compression", "of_what"), [("", ""), ("GZIP", " of its uncompressed")])
def test_how_much_of_a_file_is_lost_is_told(tmp_path, compression, of_what):
    whole = [frame(b"first"), frame(b"second"), frame(b"third")]
    whole[1] = b"\xff" + whole[1][1:]
    squeeze = gzip.compress if compression else bytes
    (tmp_path / "a").write_bytes(squeeze(b"".join(whole)))
    faults = Faults(skips=True)
    assert counted([Part(str(tmp_path / "a"), compression)], faults)[0].count == 1
    (found,) = faults.found
    assert found.reason is Reason.CORRUPT
    assert f"the rest of this file, from byte {len(whole[0])}{of_what}" in found.detail
    assert found.detail.endswith(" on, could not be read")
