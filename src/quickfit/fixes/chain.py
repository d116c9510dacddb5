"""Reads a chain of `tf.data` operations in a text, written in one expression or in steps."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from quickfit.fixes.chain_names import binding, target_of, uses, value_of
from quickfit.fixes.script import Script

# The methods of a dataset that give a dataset.
METHODS = frozenset(
    re.findall(
        r"\w+",
        """
    apply assert_cardinality batch bucket_by_sequence_length cache concatenate
    dense_to_ragged_batch enumerate filter flat_map group_by_window ignore_errors interleave map
    padded_batch prefetch ragged_batch rebatch rejection_resample repeat scan shard shuffle skip
    snapshot sparse_batch take take_while unbatch unique window with_options
""",
    )
)
MAX_STEPS = 100


@dataclass(frozen=True)
class Step:
    """One operation of a chain.

    Args:
        name: the method that is called.
        call: the call.
        is_private: nothing but the next operation of the chain reads what it gives.
        is_counted: the same, but its length may be asked for.
    """

    name: str
    call: ast.Call
    is_private: bool
    is_counted: bool

    @property
    def line(self) -> int:
        """The line on which the name of the method stands."""
        return self.call.func.end_lineno or self.call.lineno


@dataclass(frozen=True)
class Chain:
    """The operations from the source to the consumer, and what the first one is called on."""

    source: ast.expr
    steps: tuple[Step, ...]

    def index(self, call: ast.Call) -> int:
        """Return the place of a call."""
        return next(i for i, step in enumerate(self.steps) if step.call is call)

    def is_closed(self, first: int, last: int, *, keeps_count: bool = False) -> bool:
        """Tell whether nobody sees what is between the operations of a range.

        Where all of them keep the number of elements, asking for that does not count.
        """
        steps = self.steps[first:last]
        return all(step.is_private or (keeps_count and step.is_counted) for step in steps)


def call_of(script: Script, line: int, method: str) -> ast.Call | None:
    """Return the only call of `.method(...)` whose name stands on a line."""
    named = [
        call
        for call in script.all(ast.Call)
        if isinstance(call.func, ast.Attribute) and call.func.attr == method
    ]
    on_line = [call for call in named if call.func.end_lineno == line]
    within = [c for c in named if (c.func.end_lineno or 0) <= line <= (c.end_lineno or 0)]
    found = on_line or within
    return found[0] if len(found) == 1 else None


def chain_at(script: Script, line: int, method: str) -> tuple[Chain, int] | None:
    """Return the chain that the call of a method at a line is part of, and its place there."""
    call = call_of(script, line, method)
    if call is None:
        return None
    chain = chain_of(script, call)
    return chain, chain.index(call)


def chain_of(script: Script, call: ast.Call) -> Chain:
    """Return the chain that a call of a dataset's method is part of, as far as the text tells."""
    calls = [call]
    before = _before(script, call)
    while isinstance(before, ast.Call) and len(calls) < MAX_STEPS:
        calls.insert(0, before)
        before = _before(script, before)
    after = _after(script, call)
    while after is not None and after not in calls and len(calls) < MAX_STEPS:
        calls.append(after)
        after = _after(script, after)
    return Chain(_receiver(calls[0]), tuple(_step(script, one) for one in calls))


def _method(call: ast.AST) -> str:
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        return call.func.attr if call.func.attr in METHODS else ""
    return ""


def _receiver(call: ast.Call) -> ast.expr:
    assert isinstance(call.func, ast.Attribute)
    return call.func.value


def _before(script: Script, call: ast.Call) -> ast.Call | None:
    """Return the operation that a call is made on, also through a name."""
    value: ast.expr | None = _receiver(call)
    if isinstance(value, ast.Name):
        statement = binding(script, value)
        value = value_of(statement) if statement is not None else None
    return value if isinstance(value, ast.Call) and _method(value) else None


def _after(script: Script, call: ast.Call) -> ast.Call | None:
    """Return the operation on what a call gives; None where there are several or none."""
    user = _call_on(script, call)
    if user is not None:
        return user if _method(user) else None
    statement = script.statement(call)
    if value_of(statement) is not call or target_of(statement) is None:
        return None
    readers = [name for name in uses(script, statement) or () if not asks_length(script, name)]
    calls = [_call_on(script, name) for name in readers]
    if len(calls) != 1 or calls[0] is None or not _method(calls[0]):
        return None
    # In another block it may run never, or more than once.
    other = script.statement(calls[0])
    return calls[0] if other in script.block(statement) else None


def _call_on(script: Script, value: ast.expr) -> ast.Call | None:
    """Return the call of a method of a value: `value.method(...)`."""
    attribute = script.parent(value)
    call = script.parent(attribute) if isinstance(attribute, ast.Attribute) else None
    is_called = isinstance(call, ast.Call) and call.func is attribute
    return call if is_called and isinstance(call, ast.Call) else None


def _step(script: Script, call: ast.Call) -> Step:
    name, statement = _method(call), script.statement(call)
    if _call_on(script, call) is not None:
        return Step(name, call, is_private=True, is_counted=True)
    is_named = value_of(statement) is call and target_of(statement) is not None
    readers = (uses(script, statement) if is_named else None) or []
    others = [reader for reader in readers if not asks_length(script, reader)]
    return Step(name, call, is_private=len(readers) == 1, is_counted=len(others) == 1)


def asks_length(script: Script, name: ast.Name) -> bool:
    """Tell whether a dataset is only asked how many elements it has."""
    parent = script.parent(name)
    if isinstance(parent, ast.Call):
        return isinstance(parent.func, ast.Name) and parent.func.id == "len"
    return isinstance(parent, ast.Attribute) and parent.attr == "cardinality"
