"""Stacks are read without Python's lock: the line that runs is the line that is seen."""

import argparse
import ast
import subprocess
import sys
import sysconfig
import threading
import time
import typing
from pathlib import Path
from types import CodeType

import pytest

from quickfit.probes import native_stacks
from quickfit.probes._loops import begin, leave
from quickfit.probes._state import Loop
from quickfit.probes.stacks import StackSampler

from launch.sessions import PATIENCE_S

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="frames are read through Linux's process_vm_readv"
)


@pytest.fixture
def native():
    """Return the sampler for this thread. It is compiled at install: gcc is asked for."""
    made = native_stacks.start()
    assert made is not None, "quickfit.probes._frames is not built, or does not fit this Python"
    return made


class Busy:
    """A thread that is kept at known lines."""

    def __init__(self, function):
        self.entered, self.done = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=function, args=(self,), daemon=True)

    def __enter__(self):
        self.thread.start()
        self.entered.wait(PATIENCE_S)
        return self.thread.ident

    def __exit__(self, *_):
        self.done.set()
        self.thread.join(PATIENCE_S)


def seen(native, thread):
    """Return the stacks of a thread since the last time, the most frequent first."""
    found = [stack for stack in native.take() if stack.thread == thread]
    return sorted(found, key=lambda stack: -stack.seen)


def test_a_statement_that_never_gives_up_the_lock_is_seen_at_its_own_line(native):
    rows = list(range(100_000))

    def search(busy):
        busy.entered.set()
        while not busy.done.is_set():
            found = -1 in rows
            assert not found

    with Busy(search) as thread:
        native.watch(0.5, 0.002)
    stack = seen(native, thread)[0]
    file, line, name = stack.key[0]
    assert (file, name) == (__file__, "search")
    assert line == search.__code__.co_firstlineno + 3
    assert stack.seen > 20


@pytest.mark.parametrize("name", ["plain", "gr\xfc\xdfe", "\u65e5\u672c", "\U0001f600"])
def test_names_of_every_kind_are_read(name, native):
    def wait(busy):
        busy.entered.set()
        busy.done.wait(PATIENCE_S)

    code = wait.__code__.replace(co_filename=f"/home/{name}.py", co_name=name, co_firstlineno=70)
    renamed = type(wait)(code, globals())
    with Busy(renamed) as thread:
        native.watch(0.05, 0.005)
    frames = [frame for stack in seen(native, thread) for frame in stack.key]
    assert (f"/home/{name}.py", 72, name) in frames


def test_deep_stacks_generators_and_calls_from_c_are_seen_whole(native):
    def wait(busy):
        def numbers(depth):
            if depth:
                yield from numbers(depth - 1)
            busy.entered.set()
            busy.done.wait(PATIENCE_S)
            yield depth

        sorted([1, 2], key=lambda _: sum(numbers(20)))

    with Busy(wait) as thread:
        native.watch(0.05, 0.005)
    names = [name for _, _, name in seen(native, thread)[0].key]
    assert names.count("numbers") == 21
    assert names[-4:] == ["wait", "run", "_bootstrap_inner", "_bootstrap"]
    assert "<lambda>" in names
    assert "<interpreter trampoline>" not in names


def test_threads_that_come_and_go_and_code_that_is_made_anew_harm_nothing():
    source = """
import sys, threading, time
from quickfit.probes import native_stacks
native = native_stacks.start()
is_over = False
def churn():
    while not is_over:
        space, body = {}, "[f(n - 1) for _ in range(2)] if n else 0"
        exec(compile(f"def f(n):\\n return {body}", "<made>", "exec"), space)
        space["f"](7)
def spawn():
    while not is_over:
        thread = threading.Thread(target=sum, args=([1] * 1000,))
        thread.start(); thread.join()
for target in (churn, churn, spawn):
    threading.Thread(target=target).start()
stacks, end = 0, time.monotonic() + 4
while stacks <= 500 or time.monotonic() < end:
    native.watch(0.05, 0.0002)
    stacks += sum(stack.seen for stack in native.take())
is_over = True
print(True)
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, timeout=400)
    assert (done.stdout, done.returncode) == (b"True\n", 0), done.stderr


def test_whatever_is_read_is_survived(tmp_path):
    """Every fiftieth read is spoilt: addresses, lengths, types, numbers."""
    include, source = sysconfig.get_path("include"), Path(native_stacks.__file__).parent
    spoilt = tmp_path / "_frames.abi3.so"
    macros = ("-DPy_LIMITED_API=0x030B0000", "-DSPOIL_ONE_IN=50")
    flags = ("-shared", "-fPIC", "-O2", f"-I{include}", *macros)
    subprocess.run(["gcc", *flags, source / "_frames.c", "-o", spoilt], check=True)
    script = """
import importlib.util, sys, threading, time
from quickfit.probes import native_stacks
import quickfit.probes as probes
spec = importlib.util.spec_from_file_location("_frames", sys.argv[1])
probes._frames = importlib.util.module_from_spec(spec)
spec.loader.exec_module(probes._frames)
native = native_stacks.NativeStacks(native_stacks._configured())
is_over = False
def deep(n):
    return deep(n - 1) if n else (sum(i for i in range(30)), time.sleep(0.0001))
def work():
    while not is_over:
        deep(30)
for _ in range(3):
    threading.Thread(target=work).start()
stacks, end = 0, time.monotonic() + 6
while stacks <= 200 or time.monotonic() < end:
    native.watch(0.05, 0.00005)
    stacks += sum(stack.seen for stack in native.take())
is_over = True
print(True)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "_frames.abi3.so"],
        capture_output=True,
        timeout=400,
    )
    assert (done.stdout, done.returncode) == (b"True\n", 0), (done.stderr, done.returncode)


def test_it_is_woken_at_once_and_also_before_it_sleeps(native):
    threading.Timer(0.1, native.wake).start()
    began = time.monotonic()
    assert native.watch(60.0, 0.02)
    native.wake()
    assert native.watch(60.0, 0.02)
    assert time.monotonic() - began < 50
    assert not native.watch(0.01, 0.02)


def test_every_instruction_has_the_line_that_python_gives_it(native):
    """Of a few hundred functions of Python's own library, with all kinds of entries."""
    codes = [compile(Path(m.__file__).read_text(), "x", "exec") for m in (argparse, ast, typing)]
    for code in codes:
        codes += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
        for first, end, line in code.co_lines():
            for at in range(first, end, 2):
                found = native._frames.line_of(code.co_linetable, code.co_firstlineno, at)
                assert line is None or found == line, (code, at)
    assert len(codes) > 300


def test_nothing_is_sampled_while_paused():
    # In a process of its own: there is one sampler in each, and another test may be watched here.
    code = """
from quickfit.probes import native_stacks

import threading
threading.Thread(target=threading.Event().wait, daemon=True).start()
native = native_stacks.start()
native.watch(0.1, 0.005, is_paused=True)
assert list(native.take()) == []
native.watch(0.1, 0.005)
assert list(native.take()) != []
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE_S)


def test_a_sample_belongs_to_the_loop_that_ran_when_it_was_taken(state):
    def wait(busy):
        busy.entered.set()
        busy.done.wait(PATIENCE_S)

    with Busy(wait) as thread:
        sampler = StackSampler(state)
        sampler.start()
        sampler.watch(0.05, 0.005)
        loops = [Loop(number, "fit", None, 0.0, 0.0, thread, {}) for number in (1, 2)]
        for loop in loops:
            begin(loop, state)
            sampler.watch(0.05, 0.005)
            leave(loop, state)
        sampler.write()
        begin(loops[0], state)
        sampler.watch(0.05, 0.005)
        sampler.write()
    stacks = {row[0]: (row[1], row[2]) for row in state.writer.rows("stacks")}
    found = [(stacks[stack][0], loop) for _, stack, loop, _ in state.writer.rows("samples")]
    assert ("other", None) in found
    assert {loop for role, loop in found if role == "main"} == {1, 2}
    assert [loop for role, loop in found if role == "main"][-1] == 1


def test_a_python_that_is_built_differently_has_the_sampler_in_python(monkeypatch, state):
    layout = native_stacks._LAYOUTS[sys.version_info[:2]]
    for wrong in (
        layout._replace(top=layout.top + 8),
        layout._replace(previous=layout.code),
        layout._replace(instruction=layout.previous),
    ):
        monkeypatch.setitem(native_stacks._LAYOUTS, sys.version_info[:2], wrong)
        assert native_stacks.start() is None
    sampler = StackSampler(state)
    sampler.start()
    assert sampler.native is None
