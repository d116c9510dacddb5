"""What keeps a pipeline from being faster, from figures that are known."""

import pytest
from speed.speeds import machine, span, stage

from quickfit.data.speed.limits import ideal_of, limit_of


def test_a_map_on_one_thread_is_the_limit():
    limit = limit_of(span(), [stage(work_s=0.019)], machine())
    assert limit.kind == "stage"
    assert limit.text == "map(decode) runs on one thread: 19 ms of 20 ms per batch"


def test_full_cores_are_the_limit_whatever_the_stages():
    limit = limit_of(span(element_cpu_s=0.038), [stage(work_s=0.019, share=0.7)], machine())
    assert limit.kind == "cores"
    assert limit.text == "the cores: it uses 1.9 of 2 cores, 70 % of the work is map(decode)"


def test_on_a_busy_machine_nothing_is_concluded_from_a_lack_of_cores():
    limit = limit_of(span(), [stage(work_s=0.001)], machine(other_cores=1.2))
    assert limit.kind == "busy"
    assert "inconclusive: other processes use 1.2 of 2 cores" in limit.text


def test_a_stage_on_one_thread_is_the_limit_on_a_busy_machine_too():
    limit = limit_of(span(), [stage(work_s=0.019)], machine(other_cores=1.0))
    assert limit.kind == "stage"
    assert limit.text.endswith("per batch; other processes use 1.0 of 2 cores")


def test_threads_that_wait_for_the_gil_are_told_so():
    python = stage("map(load)", work_s=0.08, parallelism=4, runs_python=True)
    limit = limit_of(span(), [python], machine(cores=8))
    assert (
        limit.text == "map(load) runs Python: 4 threads wait for one GIL, 20 ms of 20 ms per batch"
    )


def test_a_stage_that_waits_is_told_from_one_that_computes():
    limit = limit_of(span(element_cpu_s=0.001), [stage(work_s=0.019)], machine())
    assert limit.text.endswith("it mostly waits (1.0 ms CPU in all)")


def test_passes_that_take_long_to_begin_are_the_limit():
    limit = limit_of(span(), [stage(work_s=0.004)], machine(), begin_share=0.7)
    assert limit.kind == "start"
    assert "70 % of the time" in limit.text


def test_slow_storage_is_told_by_what_was_read():
    limit = limit_of(
        span(element_cpu_s=0.002), [stage(work_s=0.004)], machine(read_bytes=400_000_000)
    )
    assert limit.kind == "storage"
    assert "200 MB per second" in limit.text


def test_a_loop_that_is_slower_than_its_input_is_the_limit():
    quick = span(element_s=0.0002, element_cpu_s=0.0002)
    limit = limit_of(quick, [stage("prefetch", "prefetch", 1e-5, buffered=2)], machine())
    assert limit.kind == "consumer"
    assert "prefetch had 2 ready" in limit.text


@pytest.mark.parametrize(("cpu_s", "said"), [(0.02, "uses 1.0 of 2"), (0.001, "mostly waits")])
def test_a_python_iterator_works_or_waits(cpu_s, said):
    limit = limit_of(span(element_cpu_s=cpu_s), [], machine(), is_python=True)
    assert limit.kind == "python"
    assert said in limit.text


def test_what_nothing_explains_is_unknown():
    assert limit_of(span(), [stage(work_s=0.004)], machine()).kind == "unknown"


@pytest.mark.parametrize("kind", ["prefetch", "concatenate"])
def test_what_only_hands_over_is_no_limit(kind):
    hands_over = stage(kind, kind, 0.019)
    assert limit_of(span(), [hands_over], machine()).kind == "unknown"
    assert limit_of(span(), [hands_over], machine(), begin_share=0.7).kind == "start"
    assert ideal_of(span(), [hands_over], machine()).element_s == pytest.approx(0.01)


def test_ideally_all_cores_share_the_work():
    ideal = ideal_of(span(element_cpu_s=0.04), [stage()], machine(cores=4))
    assert ideal.element_s == pytest.approx(0.01)
    assert ideal.basis == "40 ms CPU per batch on 4 cores"


def test_a_stage_that_cannot_be_shared_bounds_the_ideal():
    shuffle = stage("shuffle(9)", "shuffle", 0.03)
    ideal = ideal_of(span(element_s=0.05, element_cpu_s=0.04), [shuffle], machine(cores=4))
    assert ideal.element_s == pytest.approx(0.03)
    assert ideal.basis == "shuffle(9) cannot be shared between threads"


def test_the_ideal_is_never_slower_than_what_is():
    slow = stage("shuffle(9)", "shuffle", 0.03)
    assert ideal_of(span(element_s=0.02), [slow], machine()).element_s == pytest.approx(0.02)
