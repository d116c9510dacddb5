"""The clause that caught an exception is found in the text."""

import pytest

from quickfit.probes._clauses import catching_line

NO_FILE = ("FileNotFoundError", "OSError", "Exception", "BaseException", "object")
TEXT = """\
import contextlib
ERRORS = (OSError,)
def read(path):
    try:
        open(path)              # first
    except ValueError:
        pass
    except (KeyError, OSError):
        pass
def outer(path):
    try:
        try:
            open(path)          # inner
        finally:
            open(path)          # cleaning
    except IOError:
        open(path)              # in a handler
def with_it(path):
    try:
        with contextlib.suppress(KeyError), open(path) as file:
            open(path)          # with
    except:
        pass
def suppressed(path):
    with contextlib.suppress(KeyError, OSError):
        open(path)              # suppressed
def named(path):
    try:
        open(path)              # named
    except ERRORS:
        pass
def own(path):
    try:
        open(path)              # own
    except errors.OwnError:
        pass
    except Exception:
        pass
def inside():
    try:
        def later(path):
            open(path)          # later
        return later
    except OSError:
        pass
class Reader:
    def read(self, path):
        match path:
            case "a":
                try:
                    open(path)  # matched
                except (
                    OSError
                ):
                    pass
def group(path):
    try:
        open(path)              # grouped
    except* OSError:
        pass
open("a")                       # outside
"""
LINES = TEXT.splitlines()


def line(text):
    return next(at for at, each in enumerate(LINES, 1) if each.strip() == text)


def at(mark):
    return next(at for at, each in enumerate(LINES, 1) if each.endswith(f"# {mark}"))


@pytest.mark.parametrize(
    ("mark", "clause"),
    [
        ("first", "except (KeyError, OSError):"),
        ("inner", "except IOError:"),
        ("cleaning", "except IOError:"),
        ("in a handler", None),
        ("with", "except:"),
        ("suppressed", "with contextlib.suppress(KeyError, OSError):"),
        ("named", "except ERRORS:"),
        ("own", "except Exception:"),
        ("later", None),
        ("matched", "except ("),
        ("grouped", "except* OSError:"),
        ("outside", None),
    ],
)
def test_the_clause_is_the_innermost_one_for_the_class(tmp_path, mark, clause):
    file = tmp_path / "train.py"
    file.write_text(TEXT)
    found = catching_line(str(file), at(mark), NO_FILE)
    assert found == (line(clause) if clause else None)


@pytest.mark.parametrize("text", ["", "def (", "x = 1\0", "(" * 5000, "é" * 500_000])
def test_a_text_that_cannot_be_looked_through_has_no_clause(tmp_path, text):
    file = tmp_path / "train.py"
    file.write_text(text)
    assert catching_line(str(file), 1, NO_FILE) is None


@pytest.mark.parametrize("file", ["/no such folder/train.py", "<string>", ""])
def test_a_file_that_is_not_there_has_no_clause(file):
    assert catching_line(file, 1, NO_FILE) is None
