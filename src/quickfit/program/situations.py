"""The ways in which a program comes to a piece of code, and what each of them decides."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.program import Module, Program, argument, keyword
from quickfit.program.datasets import Chain, Stage, chains_of
from quickfit.program.frames import Frame
from quickfit.program.parameters import default_of, position_of
from quickfit.program.reaching import Reach
from quickfit.program.spread import is_hidden

MAX_DEPTH, MAX_FRAMES = 3, 12


def frames_of(
    program: Program, module: Module, node: ast.AST, *, depth: int = MAX_DEPTH
) -> list[Frame | None]:
    """Return the calls through which a node is come to; None for code that nobody calls."""
    function = module.function(node)
    callers = program.resolver.callers(module, function) if function is not None and depth else []
    if function is None or not callers:
        return [None]
    found: list[Frame | None] = []
    for other, call in callers[:MAX_FRAMES]:
        for outer in frames_of(program, other, call, depth=depth - 1):
            level = outer.depth + 1 if outer is not None else 1
            found.append(Frame(function, call, other, outer, level))
    return found[:MAX_FRAMES]


def chains_in(
    program: Program, module: Module, node: ast.expr, frame: Frame | None
) -> list[Chain] | None:
    """Return the chains that an expression may stand for in one situation.

    Those that a condition rules out are left out. None where it may be something else.
    """
    found: list[Chain] = []
    for value in program.values(module, node, frame):
        chains = chains_of(value)
        if not chains:
            return None
        found += chains
    found = [chain for chain in dict.fromkeys(found) if not _is_ruled_out(program, chain)]
    return [chain for chain in found if not _is_passed_by(program, chain, found)]


def conditions(module: Module, node: ast.AST) -> dict[ast.expr, bool]:
    """Return the conditions around a node, each with what it has to be."""
    found: dict[ast.expr, bool] = {}
    child, above = node, module.parent(node)
    while above is not None:
        if isinstance(above, ast.If | ast.IfExp) and child is not above.test:
            found[above.test] = child in (
                above.body if isinstance(above.body, list) else [above.body]
            )
        child, above = above, module.parent(above)
    return found


def _is_ruled_out(program: Program, chain: Chain) -> bool:
    """Tell whether a condition keeps the program from one of the stages."""
    for stage in chain.stages:
        reach = Reach(program.resolver, stage.module, stage.frame)
        around = conditions(stage.module, stage.call)
        if any(reach.holds(test) is (not wanted) for test, wanted in around.items()):
            return True
    return False


def _is_passed_by(program: Program, chain: Chain, others: list[Chain]) -> bool:
    """Tell whether a chain lacks only what is surely done."""
    for other in others:
        more = [stage for stage in other.stages if stage not in chain.stages]
        rest = tuple(stage for stage in other.stages if stage not in more)
        if more and rest == chain.stages and all(_is_sure(program, stage) for stage in more):
            return True
    return False


def _is_sure(program: Program, stage: Stage) -> bool:
    return Reach(program.resolver, stage.module, stage.frame).comes_to(stage.call)


def given_for(
    program: Program, module: Module, node: ast.expr, frame: Frame | None
) -> Iterator[tuple[Module, ast.expr]]:
    """Yield an expression, and what stands for it in the calls around: a parameter's argument."""
    yield module, node
    while frame is not None and isinstance(node, ast.Name):
        bindings = program.files.bindings(module).reaching(node, node.id)
        if [binding.kind for binding in bindings] != ["parameter"]:
            return
        found = _argument(module, frame, node.id)
        if found is None or bindings[0].node not in ast.walk(frame.function.args):
            return
        is_default = found is default_of(frame.function, node.id)
        node, module = found, module if is_default else frame.module
        frame = frame.outer
        yield module, node


def _argument(module: Module, frame: Frame, name: str) -> ast.expr | None:
    at = position_of(module, frame.function, name)
    given = argument(frame.call, name, at) if at >= 0 else keyword(frame.call, name)
    if given is not None or is_hidden(frame.call, at):
        return given
    return default_of(frame.function, name)
