"""`quickfit check --lsp`: the same findings in an editor, with their fixes, while it is typed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from quickfit.checking.paths import companions
from quickfit.checking.records import FREE, Told
from quickfit.checking.scanning import Scanner, Task
from quickfit.checking.settings import Settings, chosen, nearest_settings
from quickfit.errors import UsageError
from quickfit.findings import FixClass, Span

if TYPE_CHECKING:
    from lsprotocol import types
    from pygls.lsp.server import LanguageServer

SOURCE = "quickfit"


def serve(*, keras3: bool = False) -> None:
    """Answer an editor on stdin and stdout until it is closed.

    Raises:
        UsageError: pygls is not installed.
    """
    try:
        import pygls.lsp.server  # noqa: F401
    except ImportError as error:
        raise UsageError(
            "check --lsp: it needs pygls, which is not installed:\n    pip install 'quickfit[lsp]'"
        ) from error
    make_server(keras3=keras3).start_io()


def make_server(*, keras3: bool = False) -> LanguageServer:
    """Return a server that checks every Python file that is opened or changed."""
    from lsprotocol import types
    from pygls.lsp.server import LanguageServer

    from quickfit import __version__

    server = LanguageServer(SOURCE, __version__)
    found: dict[str, tuple[Told, ...]] = {}

    def check(uri: str) -> None:
        document = server.workspace.get_text_document(uri)
        if not document.path or document.path.endswith(".ipynb"):
            return
        found[uri] = check_text(document.path, document.source, keras3=keras3)
        diagnostics = [_diagnostic(server, uri, told) for told in found[uri]]
        server.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri, diagnostics, version=document.version)
        )

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        check(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        check(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        found.pop(params.text_document.uri, None)

    kinds = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, kinds)
    def fixes(params: types.CodeActionParams) -> list[types.CodeAction]:
        uri, first, last = params.text_document.uri, params.range.start.line, params.range.end.line
        near = [t for t in found.get(uri, ()) if first <= t.spotted.where.line - 1 <= last]
        return [_action(server, uri, told) for told in near if _is_writable(told)]

    return server


def check_text(path: str, text: str, *, keras3: bool = False) -> tuple[Told, ...]:
    """Return what is found in a text that stands in an editor, with the settings of its project."""
    path = os.path.abspath(path)
    try:
        settings = nearest_settings(Path(path).parent)
    except UsageError:
        settings = Settings()  # the editor says what is wrong with the file of settings
    choice = chosen((), (), settings, hints=True)
    paths = tuple(dict.fromkeys((path, *companions([path]))))
    task = Task(paths, choice, {path: text.encode()}, assumes_keras3=keras3)
    return Scanner(task).check(path).told


def _is_writable(told: Told) -> bool:
    """Tell whether a change is one that an editor may make: all of it in this file."""
    allowed = FREE | {FixClass.EQUIVALENT, FixClass.MAY_CHANGE_RESULTS}
    here = all(span.file == told.spotted.where.file for span, _ in told.edits)
    return told.kind in allowed and here and bool(told.edits)


def _diagnostic(server: LanguageServer, uri: str, told: Told) -> types.Diagnostic:
    from lsprotocol import types

    spotted = told.spotted
    severities = {
        "error": types.DiagnosticSeverity.Error,
        "warning": types.DiagnosticSeverity.Warning,
        "note": types.DiagnosticSeverity.Hint,
    }
    return types.Diagnostic(
        range=_range(server, uri, spotted.where),
        message=f"{spotted.summary} ({spotted.effect.value})",
        severity=severities[told.level],
        code=spotted.cause,
        source=SOURCE,
    )


def _action(server: LanguageServer, uri: str, told: Told) -> types.CodeAction:
    from lsprotocol import types

    change = told.spotted.change
    edits = [types.TextEdit(_range(server, uri, span), text) for span, text in told.edits]
    kind = "" if told.kind in FREE else f" ({told.kind})"
    return types.CodeAction(
        title=f"{change.title if change is not None else told.spotted.cause}{kind}",
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[_diagnostic(server, uri, told)],
        edit=types.WorkspaceEdit(changes={uri: edits}),
        is_preferred=told.kind in FREE,
    )


def _range(server: LanguageServer, uri: str, where: Span) -> types.Range:
    """Return a place in the units that the editor counts columns in."""
    from lsprotocol import types

    lines = server.workspace.get_text_document(uri).lines
    start = types.Position(max(where.line - 1, 0), max(where.column - 1, 0))
    end = types.Position(
        max((where.end_line or where.line) - 1, 0), max((where.end_column or where.column) - 1, 0)
    )
    return server.workspace.position_codec.range_to_client_units(lines, types.Range(start, end))
