"""A call is known to lie inside a loop's body or outside of it, from the bytecode alone."""

import contextlib
import sys
import types

import pytest

from quickfit.probes import _code_loops
from quickfit.probes._code_loops import bodies, innermost_body


def here():
    """Return the line of the loop that the caller is in, counted from its `def`."""
    frame = sys._getframe(1)
    body = innermost_body(frame)
    return None if body is None else body.line - frame.f_code.co_firstlineno


def loop():
    """Return the loop that the caller is in."""
    return innermost_body(sys._getframe(1))


def seen(function, *args):
    """Return the lines of loops that the calls of a function were in, from its `def` on."""
    found = []
    function(found, *args)
    return found


def test_a_body_knows_its_first_and_last_line():
    def script(found):
        for number in range(3):
            if number == 1:
                continue
            for _ in range(2):
                pass
            with contextlib.suppress(KeyError):
                found.append(loop())
        return found

    (first, *_) = seen(script)
    begin = script.__code__.co_firstlineno
    assert first.lines == (begin + 1, begin + 7)


def test_a_call_outside_any_loop_is_in_none():
    def script(found):
        found.append(here())
        for _ in range(2):
            pass
        found.append(here())

    assert seen(script) == [None, None]


def test_a_call_in_a_for_is_in_the_line_of_the_for():
    def script(found):
        for _ in range(2):
            found.append(here())

    assert seen(script) == [1, 1]


def test_a_for_over_a_call_of_many_lines_begins_at_its_own_line():
    def script(found):
        for _ in zip(
            range(2),
            range(2),
            strict=True,
        ):
            found.append(here())

    assert all(1 <= line <= 4 for line in seen(script))


def test_what_a_for_iterates_is_made_before_it():
    def script(found):
        for _ in [found.append(here())]:
            pass

    assert seen(script) == [None]


def test_a_call_in_a_while_is_in_its_test_or_its_first_line():
    def script(found):
        left = 2
        while left:
            left -= 1
            found.append(here())

    lines = seen(script)
    assert len(lines) == 2
    assert set(lines) <= {2, 3}


def test_a_call_in_the_test_of_a_while_is_in_it_from_the_second_time_on():
    def script(found):
        while not found.append(here()) and len(found) < 3:
            pass

    assert set(seen(script)[1:]) <= {1, 2}


def test_a_call_in_an_endless_while_is_in_its_first_line():
    def script(found):
        while True:
            found.append(here())
            if len(found) == 2:
                break

    assert set(seen(script)) <= {1, 2}
    assert len(seen(script)) == 2


def test_the_innermost_of_nested_loops_is_found():
    def script(found):
        for _ in range(2):
            found.append(here())
            for _ in range(2):
                found.append(here())
            found.append(here())

    assert seen(script) == [1, 3, 3, 1] * 2


def test_a_while_inside_a_for_and_a_for_inside_a_while_are_told_apart():
    def script(found):
        rounds = 0
        while rounds < 2:
            rounds += 1
            for _ in range(1):
                found.append(here())
            found.append(here())

    inner, outer = seen(script)[:2]
    assert inner == 4
    assert outer in (2, 3)


def test_continue_and_an_else_do_not_change_where_a_loop_ends():
    def script(found):
        for number in range(4):
            if number % 2:
                continue
            found.append(here())
        else:
            found.append(here())
        found.append(here())

    assert seen(script) == [1, 1, None, None]


def test_an_endless_loop_inside_another_one_is_left_by_its_break():
    def script(found):
        for _ in range(2):
            left = 2
            found.append(loop())
            while True:
                if not left:
                    break
                left -= 1
                found.append(loop())

    outer, inner = seen(script)[:2]
    assert seen(script) == [outer, inner, inner] * 2
    assert outer.first < inner.first
    assert inner.last <= outer.last, "all of the inner loop lies in the outer one"


def test_continue_in_a_while_does_not_make_two_loops_of_one():
    def script(found):
        number = 0
        while True:
            number += 1
            found.append(loop())
            if number % 2:
                continue
            found.append(loop())
            if number > 3:
                break

    assert len(set(seen(script))) == 1
    assert None not in seen(script)


def test_a_while_with_a_test_of_two_parts_and_continue_is_one_loop():
    def script(found):
        number = 0
        while number < 4 and not found.append(loop()):
            number += 1
            if number % 2:
                continue
            found.append(loop())

    assert len(set(seen(script)[1:])) == 1


def test_continue_after_an_error_does_not_make_two_loops_of_one():
    def script(found):
        number = 0
        while number < 4:
            number += 1
            found.append(loop())
            try:
                if number == 2:
                    raise ValueError
            except ValueError:
                continue
            found.append(loop())

    assert len(set(seen(script))) == 1


def test_what_follows_a_with_or_a_try_is_in_no_loop():
    """Where an error ends, Python 3.12 jumps back to it from behind all other code."""

    def script(found):
        with contextlib.suppress(ValueError):
            found.append(loop())
        found.append(loop())
        try:
            found.append(loop())
        except ValueError:
            found.append(loop())
        found.append(loop())
        return found

    assert seen(script) == [None] * 4


def test_what_follows_a_with_inside_a_loop_is_in_that_loop():
    def script(found):
        for number in range(4):
            with contextlib.suppress(ValueError):
                found.append(loop())
                if number == 1:
                    raise ValueError
            found.append(loop())
            if number == 2:
                continue
            found.append(loop())

    assert len(set(seen(script))) == 1


def test_a_call_before_a_break_is_still_inside_or_known_to_run_once():
    def script(found):
        for _ in range(3):
            found.append(here())
            if len(found) == 2:
                break

    assert seen(script) == [1, 1]


def test_a_loop_with_try_and_with_is_one_loop():
    def script(found):
        for number in range(3):
            try:
                if number == 1:
                    raise ValueError
                found.append(here())
            except ValueError:
                found.append("raised")
            finally:
                found.append(here())

    lines = seen(script)
    assert lines.count("raised") == 1
    assert [line for line in lines if line != "raised"] == [1] * 5


def test_a_call_in_a_comprehension_is_in_a_loop():
    def script(found):
        found.extend([here() is not None for _ in range(2)])

    assert seen(script) == [True, True]


def test_a_call_in_a_generator_expression_is_in_a_loop():
    def script(found):
        found.extend(here() is not None for _ in range(2))

    assert seen(script) == [True, True]


def test_a_call_in_a_generator_function_is_in_its_loop():
    def batches(found):
        yield here()
        for _ in range(2):
            yield here()

    def script(found):
        found.extend(batches(found))

    assert seen(script) == [None, 2, 2]


def test_waiting_is_no_loop_of_the_script():
    """`yield from` and `await` jump back as well."""

    def inner():
        yield 1
        yield 2

    def delegates():
        yield from inner()

    async def waits():
        await pause()

    @types.coroutine
    def pause():
        yield

    assert bodies(delegates.__code__) == []
    assert bodies(waits.__code__) == []


def test_an_asynchronous_for_is_a_loop():
    async def numbers():
        for number in range(2):
            yield number

    async def script(found):
        async for _ in numbers():
            found.append(here())

    found = []
    with pytest.raises(StopIteration):
        script(found).send(None)
    assert found == [1, 1]


def test_a_long_body_is_found_although_its_jumps_need_more_bytes():
    lines = ["def script(found):", "    for _ in range(2):"]
    lines += [f"        x{number} = [{number}, found]" for number in range(3000)]
    lines += ["        found.append(here())", "    found.append(here())"]
    names = {"here": here}
    exec(compile("\n".join(lines), "long.py", "exec"), names)
    assert seen(names["script"]) == [1, 1, None]


def test_code_that_has_run_often_is_told_as_before():
    """Python 3.11 and later rewrite their bytecode while it runs."""

    def script(found):
        for _ in range(200):
            found.append(here())
        found.append(here())

    assert seen(script) == [1] * 200 + [None]
    assert seen(script) == [1] * 200 + [None]


# -- bodies and frames ----------------------------------------------------------------------------


def test_a_body_holds_a_call_many_frames_below_it():
    def ask(body, deep):
        return ask(body, deep - 1) if deep else body.holds(sys._getframe(0))

    def script(deep):
        answers = []
        for _ in range(1):
            body = innermost_body(sys._getframe(0))
            answers.append(ask(body, deep))
        return [*answers, ask(body, deep)]

    assert script(5) == [True, False]
    assert script(_code_loops.MAX_FRAMES + 5) == [False, False], "it is not looked for so far"


def test_a_body_does_not_hold_the_function_that_made_it_after_the_loop():
    def script():
        for _ in range(1):
            body = loop()
            inside = body.holds(sys._getframe(0))
        return body, inside, body.holds(sys._getframe(0)), sys._getframe(1)

    body, inside, after, caller = script()
    assert (inside, after) == (True, False)
    assert body.holds(caller) is False
    assert body.holds(None) is False


def test_a_function_is_looked_at_once():
    def script():
        for _ in range(3):
            pass

    first = bodies(script.__code__)
    assert bodies(script.__code__) is first
    assert [body.code for body in first] == [script.__code__]
    assert first[0].first < first[0].last


@pytest.mark.parametrize(
    ("text", "loops"),
    [
        ("x = 1", 0),
        ("if a:\n  pass\nelse:\n  pass", 0),
        ("for a in b: pass", 1),
        ("while a: pass", 1),
        ("for a in b:\n  for c in d:\n    pass", 2),
        ("for a in b: pass\nfor a in b: pass", 2),
        ("for a in b:\n  if c: continue\n  d()", 1),
        ("while True:\n  if a: continue\n  if b: break", 1),
        ("try:\n  a()\nexcept E:\n  b()\nfinally:\n  c()", 0),
        ("with a as b:\n  c()", 0),
        ("try:\n  a()\nexcept E:\n  b()\nc()\nd()", 0),
        ("with a as b:\n  c()\nd()\ne()", 0),
        ("for a in b:\n  with c: d()\n  e()\nf()", 1),
        ("while a:\n  try: b()\n  except E: continue\n  c()", 1),
        ("while a and b:\n  if c: continue\n  d()", 1),
        ("for a in b:\n  while True:\n    if c: break\n    d()", 2),
        ("while a:\n  while True:\n    if c: break\n    d()", 2),
        ("while a():\n  while b():\n    c()", 2),
        ("while True:\n  x()\n  while a:\n    if b: continue\n    c()\n  d()", 2),
        ("match a:\n  case 1: b()\n  case [x, *y]: c()", 0),
        ("assert a and b or c", 0),
    ],
)
def test_as_many_loops_are_found_as_a_text_has(text, loops):
    assert len(bodies(compile(text, "script.py", "exec"))) == loops
