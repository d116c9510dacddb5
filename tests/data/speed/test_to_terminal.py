"""The table: bars, units, and lines that fit."""

import pytest
from speed.speeds import machine, span, speed, stage

from quickfit.data.speed.figures import Memory, Step
from quickfit.data.speed.to_terminal import bar, printable, text

EXPECTED = """\
train.py:make: 1,600 examples/s (50 batches/s)
   device   CPU, 2 cores, other processes use 0.0
   counted  100 batches (3,200 examples, 32 per batch) in 2.0 s, blocks ± 0 %, data not at its end
   first    100 ms to the first batch
   memory   300 MB before, 350 MB after, 4.0 MB in buffers

stage           work  share                        threads   period  buffer
map(decode)    20 ms   90 %  ##################          1    20 ms
batch(32)     2.0 ms   10 %  ##                          1   2.0 ms

time per batch
   now      20 ms  ####                  20 ms CPU
   ideal    10 ms  ##                    20 ms CPU per batch on 2 cores: 2.0× as fast
   model   100 ms  ####################  as given

limit  map(decode) runs on one thread
model  input is not the limit: the model takes 100 ms per batch, the input 20 ms
try    more threads
note   one run"""


def test_the_whole_table_reads_like_this():
    shown = speed(step=Step(0.1, None, False), advice=("more threads",), notes=("one run",))
    assert text(shown) == EXPECTED


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_lines_fit_into_the_terminal(width):
    long = stage("map(a_function_with_quite_a_long_name) + batch(128)", place="preparing.py:1234")
    shown = speed(stages=(long,), advice=("a " * 90,))
    assert max(map(len, text(shown, width).splitlines())) <= max(width, 64)


def test_idle_stages_of_a_long_chain_are_only_counted():
    many = tuple(stage(f"map(f{n})", share=0.001) for n in range(20))
    shown = text(speed(stages=(stage(share=0.98), *many)))
    assert "20 others, each under 1 %" in shown
    assert "map(f3)" not in shown


def test_without_stages_it_says_why():
    shown = text(speed(stages=(), no_stages="autotune is off"))
    assert "stages unknown: autotune is off" in shown


def test_an_injected_stage_is_marked():
    shown = text(speed(stages=(stage("prefetch", "prefetch", is_injected=True, buffer=2.0),)))
    assert "prefetch (by tf.data)" in shown
    assert "0 of 2" in shown


def test_a_first_pass_that_fills_a_cache_is_told():
    shown = text(speed(first_pass=span(element_s=0.2), has_cache=True, passes=3))
    assert "160 examples/s (5.0 batches/s) in the first pass, which fills a cache" in shown
    assert "3 passes ended" in shown


def test_what_the_system_does_not_say_is_unknown():
    shown = text(speed(memory=Memory(None, None, 0, None), machine=machine(other_cores=None)))
    assert "memory   unknown" in shown
    assert "other load unknown" in shown


def test_a_hostile_name_cannot_steer_the_terminal():
    assert printable("a\x1b[31m\n") == "a\\x1b[31m\\n"
    assert "\x1b" not in text(speed(name="a\x1b[2J", stages=(stage("map(\x1b[2J)"),)))


def test_bars_are_as_long_as_shares():
    assert bar(0.5) == "#" * 10
    assert bar(0.001) == ""
    assert bar(0.02) == "#"
    assert bar(3.0) == "#" * 20
    assert bar(float("nan")) == ""
