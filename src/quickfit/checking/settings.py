"""What a project wants checked: its settings, the causes that were chosen, comments that silence
one.
"""

from __future__ import annotations

import ast
import difflib
import io
import re
import tokenize
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from quickfit.causes import catalogue
from quickfit.checking.paths import is_match
from quickfit.errors import UsageError
from quickfit.findings import Span, Spotted

NAME = "pyproject.toml"
FORMATS = ("text", "markdown", "json", "sarif", "github")


@dataclass(frozen=True)
class Settings:
    """What a project wants, as far as it says so; None where it does not.

    Args:
        file: the pyproject.toml; globs are relative to its folder. None: there is none.
        select: the causes that are told.
        ignore: the causes that are not.
        exclude: globs of files and folders that are not read.
        per_file_ignores: globs, and the causes that are not told in such files.
        hints: whether hints are told.
        format: how the findings are written.
    """

    file: Path | None = None
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    hints: bool = False
    format: str | None = None

    @property
    def base(self) -> str:
        """The folder that globs are relative to."""
        return str((self.file or Path(NAME)).absolute().parent)


def nearest_settings(folder: Path) -> Settings:
    """Return the settings of the nearest pyproject.toml that has some, from a folder upwards.

    Raises:
        UsageError: one of them cannot be read, or its settings are wrong.
    """
    for above in (folder, *folder.parents):
        file = above / NAME
        if file.is_file() and "quickfit" in _tools(file):
            return read_settings(file)
    return Settings()


def read_settings(file: Path) -> Settings:
    """Return the settings in a file.

    Raises:
        UsageError: it cannot be read, has none, or has wrong ones.
    """
    tools = _tools(file)
    if "quickfit" not in tools:
        raise UsageError(f"{file}: has no [tool.quickfit], which is where settings are looked for.")
    table = tools["quickfit"]
    if not isinstance(table, dict):
        raise UsageError(f"{file}: tool.quickfit: a table is expected, found {_kind(table)}.")
    return _Table(file, table).settings()


def _tools(file: Path) -> Mapping[str, object]:
    try:
        content = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{file}: cannot read this file ({error.strerror}).") from error
    except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, a number without an end
        raise UsageError(
            f"{file}: is not TOML ({error}).\n"
            "Repair it, or check without it:\n    quickfit check --isolated"
        ) from error
    tools = content.get("tool", {})
    return tools if isinstance(tools, dict) else {}


class _Table:
    """The keys of `[tool.quickfit]`, each with the type it must have."""

    def __init__(self, file: Path, table: Mapping[str, object]) -> None:
        self._file = file
        self._table = table

    def settings(self) -> Settings:
        self._check_keys()
        return Settings(
            file=self._file,
            select=self._texts("select") if "select" in self._table else None,
            ignore=self._texts("ignore"),
            exclude=self._texts("exclude"),
            per_file_ignores=self._by_file(),
            hints=self._truth("hints"),
            format=self._format(),
        )

    def _check_keys(self) -> None:
        known = ("select", "ignore", "exclude", "per-file-ignores", "hints", "format")
        for key in self._table:
            if key not in known:
                near = difflib.get_close_matches(key.replace("_", "-"), known, n=1)
                hint = f"Did you mean: {near[0]}" if near else f"Known: {', '.join(known)}."
                raise UsageError(f"{self._where(key)}: there is no such setting.\n{hint}")

    def _texts(self, key: str) -> tuple[str, ...]:
        return self._list(key, self._table.get(key, []))

    def _by_file(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        key = "per-file-ignores"
        table = self._table.get(key, {})
        if not isinstance(table, dict):
            raise self._wrong(key, 'a table such as {"old/*.py" = ["predict-in-loop"]}', table)
        return tuple((glob, self._list(f'{key}."{glob}"', each)) for glob, each in table.items())

    def _list(self, key: str, value: object) -> tuple[str, ...]:
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return tuple(value)
        raise self._wrong(key, 'a list of texts such as ["predict-in-loop"]', value)

    def _truth(self, key: str) -> bool:
        value = self._table.get(key, False)
        if isinstance(value, bool):
            return value
        raise self._wrong(key, "true or false", value)

    def _format(self) -> str | None:
        value = self._table.get("format")
        if value is None or value in FORMATS:
            return None if value is None else str(value)
        raise self._wrong("format", f"one of {', '.join(FORMATS)}", value)

    def _wrong(self, key: str, expected: str, value: object) -> UsageError:
        return UsageError(f"{self._where(key)}: {expected} is expected, found {_kind(value)}.")

    def _where(self, key: str) -> str:
        return f"{self._file}: tool.quickfit.{key}"


def _kind(value: object) -> str:
    if isinstance(value, str):
        return f"the text {value!r}"
    if isinstance(value, list):
        strange = [each for each in value if not isinstance(each, str)]
        return f"a list with {_kind(strange[0])} in it" if strange else "a list"
    return "a table" if isinstance(value, dict) else str(value).lower()


ALL = "ALL"
# Names share many words; below this likeness a guess is no help.
MIN_LIKENESS = 0.5


@dataclass(frozen=True)
class Choice:
    """What is told.

    Args:
        causes: of these causes.
        hints: also what is only sometimes a fault.
        per_file: globs, and the causes that are not told in such files.
        base: the folder that the globs are relative to.
    """

    causes: frozenset[str]
    hints: bool = False
    per_file: tuple[tuple[str, frozenset[str]], ...] = ()
    base: str = ""

    def has(self, spotted: Spotted) -> bool:
        """Tell whether a finding is of a cause that is told in its file."""
        path = spotted.where.file
        return spotted.cause in self.causes and not any(
            spotted.cause in causes and is_match(path, glob, self.base)
            for glob, causes in self.per_file
        )


def chosen(
    select: Sequence[str], ignore: Sequence[str], settings: Settings, *, hints: bool
) -> Choice:
    """Return what the command line and the settings ask for together.

    What the command line selects takes the place of what the settings select, and is told even
    where they ignore it; what it ignores is ignored besides.

    Raises:
        UsageError: there is no such cause.
    """
    file = f"{settings.file}: tool.quickfit"
    asked = names(select, "--select")
    wanted = asked or names(settings.select or (), f"{file}.select") or {ALL}
    if settings.select == () and not asked:
        wanted = set()
    ignored = names(settings.ignore, f"{file}.ignore") - asked
    ignored |= names(ignore, "--ignore")
    return Choice(
        causes=frozenset(_all(wanted) - _all(ignored)),
        hints=hints or settings.hints,
        per_file=tuple(
            (glob, frozenset(_all(names(given, f'{file}.per-file-ignores."{glob}"'))))
            for glob, given in settings.per_file_ignores
        ),
        base=settings.base,
    )


def names(given: Iterable[str], where: str) -> set[str]:
    """Return the names in texts such as `a,b`; capitals and underscores are forgiven.

    Raises:
        UsageError: one is not the name of a cause.
    """
    words = [word.strip() for text in given for word in text.split(",")]
    return {_name(word, where) for word in words if word}


def _name(word: str, where: str) -> str:
    if word.upper() == ALL:
        return ALL
    name = normal(word)
    if name in catalogue():
        return name
    near = near_names(word)
    guess = f"Did you mean: {', '.join(near)}\n" if near else ""
    raise UsageError(
        f"{where}: {word!r} is not the name of a cause.\n{guess}"
        "For the list of all causes:\n    quickfit explain"
    )


def normal(word: str) -> str:
    """Return a name as the catalogue has it."""
    return word.strip().lower().replace("_", "-")


def near_names(word: str) -> list[str]:
    """Return the names of causes that are written nearly like a word."""
    return difflib.get_close_matches(normal(word), catalogue(), n=3, cutoff=MIN_LIKENESS)


def _all(wanted: set[str]) -> set[str]:
    return set(catalogue()) if ALL in wanted else wanted


# A cheap look before the text is taken apart: most files have no such comment.
_HINT = re.compile(r"#.*quickfit\s*:", re.IGNORECASE)
_COMMENT = re.compile(
    r"#\s*quickfit\s*:\s*(?P<word>[\w-]*)\s*(?P<list>\[(?P<causes>[^\]]*)\])?", re.IGNORECASE
)
# What may stand in front of the first statement; the text is that of the module's docstring.
_BEFORE_CODE = frozenset(
    (tokenize.ENCODING, tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.STRING)
)
EVERYTHING = "*"


@dataclass
class Ignores:
    """What the comments of one text silence.

    Args:
        of_file: causes that are silent in the whole text.
        of_lines: causes that are silent at a line.
        notes: what is wrong with the comments, with the line.
    """

    of_file: set[str] = field(default_factory=set)
    of_lines: dict[int, set[str]] = field(default_factory=dict)
    notes: list[tuple[int, str]] = field(default_factory=list)

    def silences(self, cause: str, lines: set[int]) -> bool:
        """Tell whether a cause is silent at one of some lines."""
        silent = self.of_file.union(*(self.of_lines.get(line, ()) for line in lines))
        return cause in silent or EVERYTHING in silent


def ignores_of(text: str) -> Ignores:
    """Return what the comments in a Python text silence; strings are no comments."""
    found = Ignores()
    if not _HINT.search(text):
        return found
    for comment, line, is_early in _comments(text):
        for match in _COMMENT.finditer(comment):
            _add(found, match, line, is_early=is_early)
    return found


def _comments(text: str) -> Iterator[tuple[str, int, bool]]:
    """Yield each comment with its line, and whether no statement stands before it."""
    is_early = True
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            is_early = is_early and token.type in _BEFORE_CODE
            if token.type == tokenize.COMMENT:
                yield token.string, token.start[0], is_early
    except (tokenize.TokenError, SyntaxError):  # the parser has reported it
        return


def _add(found: Ignores, match: re.Match[str], line: int, *, is_early: bool) -> None:
    word = match["word"].lower()
    if word not in ("ignore", "ignore-file"):
        found.notes.append((line, f"`{match[0]}` is not known; write `# quickfit: ignore[cause]`"))
        return
    causes = set(_causes(found, match, line)) if match["list"] else {EVERYTHING}
    if word == "ignore":
        found.of_lines.setdefault(line, set()).update(causes)
    elif is_early:
        found.of_file.update(causes)
    else:
        found.notes.append((line, "`ignore-file` counts only above the first statement"))


def _causes(found: Ignores, match: re.Match[str], line: int) -> Iterator[str]:
    given = [word.strip() for word in match["causes"].split(",") if word.strip()]
    if not given:
        found.notes.append((line, f"`{match[0]}` names no cause, so it silences nothing"))
    for word in given:
        if normal(word) in catalogue():
            yield normal(word)
            continue
        near = near_names(word)
        guess = f" (did you mean {' or '.join(near)}?)" if near else ""
        found.notes.append((line, f"`{word}` in `{match[0]}` is not the name of a cause{guess}"))


def lines_of(where: Span, tree: ast.Module) -> set[int]:
    """Return the lines at which a comment silences a finding: its own, and its statement's ends."""
    lines = {where.line, where.end_line or where.line}
    statement = _statement(tree, where.line)
    if statement is not None:
        lines |= {statement.lineno, _last_line(statement)}
    return lines


def _statement(tree: ast.Module, line: int) -> ast.stmt | None:
    """Return the innermost statement that a line is part of."""
    found: ast.stmt | None = None
    waiting: list[ast.AST] = list(tree.body)
    for node in waiting:
        if isinstance(node, ast.expr):
            continue
        begin, end = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
        if isinstance(node, ast.stmt) and not begin <= line <= end:
            continue
        found = node if isinstance(node, ast.stmt) else found
        waiting.extend(ast.iter_child_nodes(node))
    return found


def _last_line(statement: ast.stmt) -> int:
    """Return the line that a statement ends on; of one with a body, the line its head ends on."""
    body = getattr(statement, "body", None)
    if isinstance(body, list) and body:
        return max(statement.lineno, int(body[0].lineno) - 1)
    return statement.end_lineno or statement.lineno
