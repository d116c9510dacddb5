"""Edited text is run in the place of the user's files, which stay as they are."""

import py_compile

import pytest

from quickfit.launch.target import Target
from trials import state_of, tried


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "train.py").write_text("import tool\nprint('original', tool.VALUE)\n")
    (folder / "tool.py").write_text("VALUE = 'plain'\n")
    return folder


def edited(home, **texts):
    return {str(home / f"{name}.py"): text.encode() for name, text in texts.items()}


def test_an_edited_script_is_run(home):
    before = state_of(home)
    texts = edited(home, train="import tool\nprint('edited', tool.VALUE)\n")
    assert tried(home, texts=texts).out == "edited plain\n"
    assert tried(home).out == "original plain\n"
    assert state_of(home) == before


def test_an_edited_module_is_imported(home):
    assert tried(home, texts=edited(home, tool="VALUE = 'edited'\n")).out == "original edited\n"


def test_a_compiled_module_of_the_original_is_not_taken_for_the_edited(home):
    py_compile.compile(str(home / "tool.py"))
    before = state_of(home)
    assert "__pycache__" in str(before)
    assert tried(home, texts=edited(home, tool="VALUE = 'edited'\n")).out == "original edited\n"
    assert state_of(home) == before


def test_an_unchecked_compiled_module_is_not_taken_either(home):
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(home / "tool.py"), invalidation_mode=mode)
    assert tried(home, texts=edited(home, tool="VALUE = 'edited'\n")).out == "original edited\n"


def test_a_module_behind_a_link_is_found(home):
    (home / "real").mkdir()
    (home / "tool.py").rename(home / "real" / "tool.py")
    (home / "tool.py").symlink_to("real/tool.py")
    texts = {str(home / "real" / "tool.py"): b"VALUE = 'edited'\n"}
    assert tried(home, texts=texts).out == "original edited\n"


def test_an_edited_file_keeps_its_name_in_tracebacks(home):
    texts = edited(home, train="\n\nraise ValueError('here')\n")
    ended = tried(home, texts=texts)
    assert f'File "{home / "train.py"}", line 3' in ended.err
    assert ended.failure == "ended with exit code 1: ValueError: here"


def test_an_edited_file_keeps_its_encoding(home):
    text = "# coding: latin-1\nprint(ascii('ü'))\n".encode("latin-1")
    assert tried(home, texts={str(home / "train.py"): text}).out == "'\\xfc'\n"


def test_a_module_that_is_run_can_be_edited_with_what_it_imports(home):
    package = home / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "other.py").write_text("VALUE = 'plain'\n")
    (package / "mod.py").write_text("from .other import VALUE\nprint('original', VALUE)\n")
    target = Target(module="pkg.mod")
    assert tried(home, target=target).out == "original plain\n"
    main = {str(package / "mod.py"): b"from .other import VALUE\nprint('edited', VALUE)\n"}
    assert tried(home, target=target, texts=main).out == "edited plain\n"
    other = {str(package / "other.py"): b"VALUE = 'edited'\n"}
    assert tried(home, target=target, texts=other).out == "original edited\n"


SPAWNS = """
import multiprocessing
VALUE = "original"

def say(value):
    print("child", VALUE, flush=True)

if __name__ == "__main__":
    context = multiprocessing.get_context("{method}")
    child = context.Process(target=say, args=(1,))
    child.start()
    child.join()
    print("parent", VALUE, child.exitcode)
"""


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_a_process_that_the_script_starts_sees_the_edited_script(home, method):
    text = SPAWNS.format(method=method)
    (home / "train.py").write_text(text)
    before = state_of(home)
    ended = tried(home, texts=edited(home, train=text.replace('"original"', '"edited"')))
    assert ended.out.split() == ["child", "edited", "parent", "edited", "0"], ended.err
    assert state_of(home) == before


def test_the_script_can_still_read_its_own_file(home):
    texts = edited(home, train="print(len(open(__file__).read()))\n")
    assert tried(home, texts=texts).out == f"{(home / 'train.py').stat().st_size}\n"


def test_code_that_reads_its_own_source_sees_the_edited_lines(home):
    """AutoGraph compiles what `inspect` shows: with the original there, no edit would be tried."""
    body = "import inspect\ndef f():\n    return {}\nprint(inspect.getsource(f).strip()[-1], f())\n"
    (home / "train.py").write_text(body.format(1))
    texts = edited(home, train="# one line more\n" + body.format(2))
    assert tried(home, texts=texts).out == "2 2\n"
    assert tried(home).out == "1 1\n"
