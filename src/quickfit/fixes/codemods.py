"""The edits of single calls, made on LibCST's tree, which keeps every space and comment."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from quickfit.fixes.change import Position

CallEdit = Callable[[cst.Call], cst.Call]


def module(text: str) -> MetadataWrapper:
    """Return a text parsed with positions."""
    return MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)


def call_at(wrapper: MetadataWrapper, begin: Position, end: Position) -> cst.Call | None:
    """Return the call that fills a span: calls of a chain begin alike and end one by one."""
    for node, span in wrapper.resolve(PositionProvider).items():
        if isinstance(node, cst.Call):
            begins = (span.start.line, span.start.column)
            if begins == begin and (span.end.line, span.end.column) == end:
                return node.with_changes(lpar=(), rpar=())
    return None


def codes(call: cst.Call, edit: CallEdit, indent: str = "") -> tuple[str, str]:
    """Return the code of a call in a block of an indentation, as it is and edited."""
    return _rendered(call, indent), _rendered(edit(call), indent)


def _rendered(call: cst.Call, indent: str) -> str:
    """Return the code of a call; its further lines begin with what the block begins with."""
    if not indent:
        return cst.Module(body=()).code_for_node(call)
    line = cst.SimpleStatementLine(body=[cst.Expr(call)])
    block = cst.IndentedBlock(body=[line], indent=indent)
    head = f"if x:\n{indent}"
    code = cst.Module(body=[cst.If(test=cst.Name("x"), body=block)]).code
    return code.removeprefix(head).removesuffix("\n")


def with_keyword(call: cst.Call, name: str, value: str) -> cst.Call:
    """Add `name=value` as the last argument, laid out as the others are."""
    added = cst.Arg(
        keyword=cst.Name(name),
        value=cst.parse_expression(value),
        equal=cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace("")),
    )
    if not call.args:
        return call.with_changes(args=[added])
    *before, last = call.args
    between, ending = _between(call), last.comma
    space = last.whitespace_after_arg
    if isinstance(ending, cst.Comma):
        between, behind = _with_comment(between, ending.whitespace_after)
        added = added.with_changes(
            comma=ending.with_changes(whitespace_after=behind), whitespace_after_arg=space
        )
        last = last.with_changes(comma=between)
    else:
        between, behind = _with_comment(between, space)
        added = added.with_changes(whitespace_after_arg=behind)
        last = last.with_changes(comma=between, whitespace_after_arg=cst.SimpleWhitespace(""))
    return call.with_changes(args=[*before, last, added])


def _with_comment(
    comma: cst.Comma, space: cst.BaseParenthesizableWhitespace
) -> tuple[cst.Comma, cst.BaseParenthesizableWhitespace]:
    """Move the comment that stands behind an argument to the comma that now follows it."""
    if not isinstance(space, cst.ParenthesizedWhitespace) or not space.first_line.comment:
        return comma, space
    behind = comma.whitespace_after
    if not isinstance(behind, cst.ParenthesizedWhitespace):
        behind = space.with_changes(empty_lines=())
    behind = behind.with_changes(first_line=space.first_line)
    return comma.with_changes(whitespace_after=behind), _bare(space)


def _between(call: cst.Call) -> cst.Comma:
    """Return the comma between two arguments of a call, and the white space behind it."""
    if len(call.args) > 1 and isinstance(call.args[-2].comma, cst.Comma):
        space = call.args[-2].comma.whitespace_after
        if isinstance(space, cst.ParenthesizedWhitespace):
            space = _bare(space)
        return cst.Comma(whitespace_after=space)
    space = call.whitespace_before_args
    if isinstance(space, cst.ParenthesizedWhitespace):
        return cst.Comma(whitespace_after=_bare(space))
    return cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))


def _bare(space: cst.ParenthesizedWhitespace) -> cst.ParenthesizedWhitespace:
    return space.with_changes(first_line=cst.TrailingWhitespace(), empty_lines=())


def without_keyword(call: cst.Call, name: str) -> cst.Call:
    """Take an argument by keyword away; the one before it then ends as it did."""
    index = next(i for i, arg in enumerate(call.args) if arg.keyword and arg.keyword.value == name)
    args = list(call.args)
    removed = args.pop(index)
    if index and index == len(args):
        args[-1] = _as_last(args[-1], removed)
    return call.with_changes(args=args)


def _as_last(kept: cst.Arg, removed: cst.Arg) -> cst.Arg:
    """Return an argument that ends as the last one did, with the comment that stands behind it."""
    ours = kept.comma.whitespace_after if isinstance(kept.comma, cst.Comma) else None
    comma, space = removed.comma, removed.whitespace_after_arg
    if isinstance(ours, cst.ParenthesizedWhitespace) and ours.first_line.comment:
        if isinstance(comma, cst.Comma):
            comma = comma.with_changes(whitespace_after=_commented(ours, comma.whitespace_after))
        else:
            space = _commented(ours, space)
    return kept.with_changes(comma=comma, whitespace_after_arg=space)


def _commented(
    ours: cst.ParenthesizedWhitespace, last: cst.BaseParenthesizableWhitespace
) -> cst.ParenthesizedWhitespace:
    if isinstance(last, cst.ParenthesizedWhitespace):
        return last.with_changes(first_line=ours.first_line)
    return ours.with_changes(empty_lines=())
