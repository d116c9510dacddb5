"""The language server, with a real client that starts it as an editor does."""

import asyncio
import sys

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from checking.cases import SHUFFLED


async def talk(path, text):
    """Return the diagnostics of a text, the actions at the first one, and those after its fix."""
    client = LanguageClient("editor", "1")
    told = asyncio.Queue()

    @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def publish(params):
        told.put_nowait(params.diagnostics)

    await client.start_io(sys.executable, "-m", "quickfit", "check", "--lsp")
    capabilities = types.ClientCapabilities()
    await client.initialize_async(
        types.InitializeParams(capabilities, root_uri=path.parent.as_uri())
    )
    client.initialized(types.InitializedParams())
    uri = path.as_uri()
    item = types.TextDocumentItem(uri, "python", 1, text)
    client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    found = await told.get()
    document = types.TextDocumentIdentifier(uri)
    context = types.CodeActionContext(found)
    actions = await client.text_document_code_action_async(
        types.CodeActionParams(document, found[0].range, context)
    )
    (edit,) = actions[0].edit.changes[uri]
    change = types.TextDocumentContentChangePartial(range=edit.range, text=edit.new_text)
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(version=2, uri=uri), [change]
        )
    )
    after = await told.get()
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return found, actions, after


def test_an_editor_sees_a_finding_and_its_fix(home):
    # A letter that takes two units of UTF-16 in front of the finding.
    text = SHUFFLED.replace("ds = tf", 's = "\N{CAT FACE}"; ds = tf')
    path = home / "train.py"
    path.write_text("", encoding="utf-8")
    found, actions, after = asyncio.run(asyncio.wait_for(talk(path, text), 120))
    assert [one.code for one in found] == ["shuffle-autotune"]
    assert found[0].severity == types.DiagnosticSeverity.Error
    line = text.splitlines()[1]
    units = len(line[: line.index("shuffle(")].encode("utf-16-le")) // 2
    assert (found[0].range.start.line, found[0].range.start.character) == (1, units)
    assert actions[0].kind == types.CodeActionKind.QuickFix
    assert actions[0].is_preferred
    assert not after
