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


def codes(call: cst.Call, edit: CallEdit) -> tuple[str, str]:
    """Return the code of a call as it is and edited."""
    render = cst.Module(body=()).code_for_node
    return render(call), render(edit(call))


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
    between = _between(call)
    if isinstance(last.comma, cst.Comma):
        added = added.with_changes(comma=last.comma, whitespace_after_arg=last.whitespace_after_arg)
        last = last.with_changes(comma=between)
    else:
        added = added.with_changes(whitespace_after_arg=last.whitespace_after_arg)
        last = last.with_changes(comma=between, whitespace_after_arg=cst.SimpleWhitespace(""))
    return call.with_changes(args=[*before, last, added])


def _between(call: cst.Call) -> cst.Comma:
    """Return the comma between two arguments of a call, and the white space behind it."""
    if len(call.args) > 1 and isinstance(call.args[-2].comma, cst.Comma):
        space = call.args[-2].comma.whitespace_after
        if isinstance(space, cst.ParenthesizedWhitespace):
            space = _without_comment(space)
        return cst.Comma(whitespace_after=space)
    space = call.whitespace_before_args
    if isinstance(space, cst.ParenthesizedWhitespace):
        return cst.Comma(whitespace_after=_without_comment(space))
    return cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))


def _without_comment(space: cst.ParenthesizedWhitespace) -> cst.ParenthesizedWhitespace:
    return space.with_changes(first_line=cst.TrailingWhitespace(), empty_lines=())


def without_keyword(call: cst.Call, name: str) -> cst.Call:
    """Take an argument by keyword away; the one before it then ends as it did."""
    index = next(i for i, arg in enumerate(call.args) if arg.keyword and arg.keyword.value == name)
    args = list(call.args)
    removed = args.pop(index)
    if index and index == len(args):
        args[-1] = args[-1].with_changes(
            comma=_with_comment_of(args[-1].comma, removed.comma),
            whitespace_after_arg=removed.whitespace_after_arg,
        )
    return call.with_changes(args=args)


def _with_comment_of(
    kept: cst.Comma | cst.MaybeSentinel, ending: cst.Comma | cst.MaybeSentinel
) -> cst.Comma | cst.MaybeSentinel:
    """Return the comma that ends the arguments, with the comment behind the last that stays."""
    if isinstance(kept, cst.Comma) and isinstance(ending, cst.Comma):
        ours, last = kept.whitespace_after, ending.whitespace_after
        if not isinstance(last, cst.ParenthesizedWhitespace):
            return ending
        if isinstance(ours, cst.ParenthesizedWhitespace) and ours.first_line.comment:
            space = last.with_changes(first_line=ours.first_line)
            return ending.with_changes(whitespace_after=space)
    return ending
