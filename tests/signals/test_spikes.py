"""Which steps are spikes, how much of the time they take, and how regular they are."""

import pytest

from quickfit.recording.thinning import bin_of
from quickfit.signals.spikes import spikes_of
from spiky_runs import spiky


def test_counts_steps_over_five_times_the_median_and_their_share():
    found = spiky(every=50, extra_s=0.5).spikes
    assert (found.count, found.steps, found.every) == (8, 400, 50)
    assert found.median_s == pytest.approx(0.02)
    assert found.share == pytest.approx(8 * 0.5 / (400 * 0.02 + 8 * 0.5), abs=0.01)
    assert found.factor == pytest.approx(26, abs=0.1)


@pytest.mark.parametrize("part", ["call_s", "callbacks_s", "wait_s"])
def test_tells_the_part_of_the_step_that_was_longer(part):
    found = spiky(part=part).spikes
    assert found.part_share(part.removesuffix("_s")) == 1.0


def test_what_no_part_accounts_for_lies_between_the_steps():
    assert spiky(part=None).spikes.part_share("between") == 1.0


def test_leaves_out_the_first_step_of_an_epoch():
    signals = spiky(every=50)
    for row in signals.process.rows("steps"):
        row["epoch"] = 1 + row["step"] // 50
    assert signals.spikes is None


def test_a_long_step_among_steps_that_differ_by_nature_is_no_spike():
    signals = spiky(every=1000, steps=400)
    late_s = 0.0
    for row in signals.process.rows("steps"):
        row["begin_s"] += late_s
        late_s += 0.012 * (row["step"] % 10)
        row["end_s"] += late_s
    assert signals.spikes is None


def test_steps_that_all_become_longer_are_no_spikes():
    signals = spiky(every=1000, steps=400)
    late_s = 0.0
    for row in signals.process.rows("steps"):
        row["begin_s"] += late_s
        late_s += 0.2 if row["step"] > 350 and row["step"] % 7 else 0.0
        row["end_s"] += late_s
    assert signals.spikes is None


def test_irregular_ones_have_no_distance():
    signals = spiky(every=40)
    kept = [row for row in signals.process.rows("steps") if row["step"] not in (77, 78, 150, 290)]
    signals.process.tables["steps"] = kept
    assert signals.spikes.every == 40
    kept = [row for row in kept if row["step"] % 67 and row["step"] % 91 and row["step"] % 33]
    irregular = spikes_of(_steps(kept), 20.0)
    assert irregular.every is None


def test_steps_that_were_thinned_out_count_by_their_histogram():
    signals = spiky(every=40)
    signals.process.tables["step_blocks"] = [
        {"loop": 1, "first_step": 1, "steps": 1000, "begin_s": 900.0, "end_s": 940.0, "sums": {},
         "histogram": {str(bin_of(0.02)): 980, str(bin_of(1.0)): 20}}
    ]  # fmt: skip
    found = signals.spikes
    assert (found.count, found.steps, len(found.spikes)) == (30, 1400, 10)
    assert found.extra_s == pytest.approx(20 * 0.98 + 10 * 0.4, rel=0.05)


def _steps(rows):
    from quickfit.signals.steps import steps_of_loop

    return steps_of_loop(rows, 1)
