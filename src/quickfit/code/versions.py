"""Which Keras a file of a program runs with, by its text, its settings and its project's pins."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from pathlib import Path
from weakref import WeakKeyDictionary

from quickfit.code.imports import files_run_together, imported_names
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.syntax import name_of
from quickfit.errors import SourceError

# How far up the files of a project are looked for; the folder of the repository ends it earlier.
MAX_FOLDERS = 5
_FILES = (
    *("requirements*.txt", "requirements/*.txt", "constraints*.txt", "environment*.y*ml"),
    *("Pipfile", "pyproject.toml", "setup.py", "setup.cfg"),
)
_PACKAGES = r"(?<![\w-])(tensorflow(?:[-_](?:gpu|cpu|macos))?|keras)(?![\w-])"
_BOUND = re.compile(r"(?<![<>!=~])(===?|=|~=|<=|<)\s*[\"']?\s*v?(\d+)(?:\.(\d+))?")
_LINE = re.compile(_PACKAGES + r"(?:\[[\w,\s-]*\])?[\"']?\s*([^#\n;]*)")
_INSTALL = re.compile(r"(?:pip3?|conda)\s+install\s+[^\n]*")
# Packages that no version of Keras 3 runs with, where one is required or installed.
_IMPLIES = re.compile(
    r"^[^#\n]*(?<![\w./-])(tensorflow[-_]addons|keras[-_](contrib|applications|rl2?|retinanet))(?![\w-])",
    re.MULTILINE | re.IGNORECASE,
)
# The first versions that bring Keras 3.
_FIRST = {"tensorflow": (2, 16), "keras": (3, 0)}


def asks_for_keras2(path: str) -> bool:
    """Tell whether a project, or a notebook itself, asks for versions that bring Keras 2."""
    return bool(keras2_pin(path))


def keras2_pin(path: str) -> str:
    """Return what asks for Keras 2: the file of a project, or the notebook itself; else empty."""
    file = Path(path)
    if file.suffix in (".ipynb", ".py") and _installs_keras2(file):
        return str(file)
    return _folder_pin(file.parent)


def pins_keras2(text: str) -> bool:
    """Tell whether requirements hold TensorFlow or Keras below the versions with Keras 3."""
    if _IMPLIES.search(text):
        return True
    for found in _LINE.finditer(text):
        first = _FIRST["keras" if found[1] == "keras" else "tensorflow"]
        if any(_is_below(bound, first) for bound in _BOUND.finditer(found[2])):
            return True
    return False


def _is_below(bound: re.Match[str], first: tuple[int, int]) -> bool:
    version = int(bound[2]), int(bound[3] or 0)
    return version <= first if bound[1] == "<" else version < first


@lru_cache(maxsize=1024)
def _folder_pin(folder: Path) -> str:
    for each in (folder, *folder.parents)[:MAX_FOLDERS]:
        found = [file for pattern in _FILES for file in sorted(each.glob(pattern))]
        asking = next((file for file in found if pins_keras2(_text(file))), None)
        if asking is not None:
            return str(asking)
        if (each / ".git").exists() or (each / "pyproject.toml").exists():
            return ""
    return ""


@lru_cache(maxsize=1024)
def _installs_keras2(file: Path) -> bool:
    """Tell whether a notebook, or its export to a script, installs Keras 2 itself."""
    text = _text(file)
    if "install" not in text and "tensorflow_version" not in text:
        return False
    if re.search(r"%tensorflow_version\s+1", text):
        return True
    return any(pins_keras2(line) for line in _INSTALL.findall(text.replace("\\n", "\n")))


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8", errors="replace")
    except OSError:
        return ""


LEGACY = "TF_USE_LEGACY_KERAS"
BACKEND = "KERAS_BACKEND"
# What is raised where a name or an argument is gone.
GONE = ("AttributeError", "ImportError", "ModuleNotFoundError", "TypeError", "ValueError")
_BROAD = ("Exception", "BaseException")
# Behind the name of a variable: what it is set to, whatever the way of setting it.
_GIVEN = r"""["']?\s*\]?\s*(?:=(?!=)|,|:|\s)\s*["']?(\w*)"""
_OFF = ("0", "false", "no", "off", "none")
_VERSION = re.compile(
    r"version|legacy|keras_?[23]|tf_?[12]\b|is_?v[123]\b|_v[123]\b", re.IGNORECASE
)
_ASKING = frozenset(("hasattr", "getattr", "signature", "getfullargspec", "find_spec"))
_TOLD = frozenset(("print", "debug", "info", "warning", "error", "exception", "critical"))
_TOLD_BY = frozenset(("print_exc", "log", "warn", "write"))
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)

_settings: WeakKeyDictionary[Program, dict[str, dict[str, set[str]]]] = WeakKeyDictionary()


def uses_legacy_keras(program: Program, module: Module) -> bool:
    """Tell whether a file may run with Keras 2.

    By `tf_keras`; by TF_USE_LEGACY_KERAS in the file, in what it imports or in what imports it, as
    a variable of the process is for all of them; or by the versions that its project asks for.
    """
    if "tf_keras" in module.text and _imports(module, "tf_keras"):
        return True
    if not program.assumes_keras3 and asks_for_keras2(module.path):
        return True
    return any(v.lower() not in _OFF for v in _set_to(program, module, LEGACY))


def backend(program: Program, module: Module) -> str:
    """Return the backend of Keras that a file runs with; empty where it may be one of several."""
    found = _set_to(program, module, BACKEND)
    if not found:
        return "tensorflow"
    return min(found).lower() if len(found) == 1 else ""


# -- variables of the process ---------------------------------------------------------------


def _set_to(program: Program, module: Module, variable: str) -> set[str]:
    """Return what the files that run together with one give a variable of the process."""
    known = _settings.setdefault(program, {})
    if variable not in known:
        known[variable] = _settings_of(program, variable)
    return known[variable].get(module.path, set())


def _settings_of(program: Program, variable: str) -> dict[str, set[str]]:
    setters = {path: _given(_raw(program, path), variable) for path in program.files.paths}
    found: dict[str, set[str]] = {}
    for path, given in setters.items():
        for other in files_run_together(program, path) if given else ():
            found.setdefault(other, set()).update(given)
    return found


def _given(text: str, variable: str) -> set[str]:
    if variable not in text:
        return set()
    lines = [line for line in text.split("\n") if variable in line]
    lines = [line for line in lines if not line.lstrip().startswith("#")]
    kept = [line for line in lines if not re.search(r"\bpop\(|\bdel\s|unsetenv", line)]
    return {match[1] for line in kept for match in re.finditer(variable + _GIVEN, line)}


def _raw(program: Program, path: str) -> str:
    """Return the text of a file; of a notebook the JSON, in which `%env` still stands."""
    try:
        if path.endswith(".ipynb") and Path(path).is_file():
            return Path(path).read_text("utf-8", errors="replace").replace("\\n", "\n")
        return program.files.text(path)
    except (SourceError, OSError):
        return ""


def _imports(module: Module, name: str) -> bool:
    return any(n == name or n.startswith(f"{name}.") for n in imported_names(module))


# -- code that is kept for another version --------------------------------------------------


def is_version_guarded(module: Module, node: ast.AST, *raised: str) -> bool:
    """Tell whether code runs only where it can, or is caught where it cannot.

    Args:
        module: where it stands.
        node: the code.
        raised: the names of the errors that it would raise; those of what is gone if not given.
    """
    child, above = node, module.parent(node)
    while above is not None:
        if _guards(module, above, child, raised or GONE):
            return True
        if _is_behind_choice(module, above, child):
            return True
        child, above = above, module.parent(above)
    return False


def _guards(module: Module, above: ast.AST, child: ast.AST, raised: tuple[str, ...]) -> bool:
    if isinstance(above, ast.If | ast.IfExp | ast.While):
        return child is not above.test and _is_choice(module, above.test)
    if isinstance(above, ast.BoolOp):
        return child is not above.values[0] and _is_choice(module, above)
    if isinstance(above, ast.ExceptHandler):
        return _catches(above, raised)
    return isinstance(above, ast.Try) and _is_tried(above, child, raised)


def _is_choice(module: Module, test: ast.expr) -> bool:
    """Tell whether a condition asks for a version or for what there is, or never holds."""
    if isinstance(test, ast.Constant):
        return not test.value
    for node in ast.walk(test):
        if isinstance(node, ast.Name | ast.Attribute):
            name = name_of(node)
            if name in ("TYPE_CHECKING", *_ASKING) or _VERSION.search(name):
                return True
            if isinstance(node, ast.Name) and _is_of_version(module, name):
                return True
        elif isinstance(node, ast.Constant) and node.value in (LEGACY, BACKEND):
            return True
    return False


def _is_of_version(module: Module, name: str) -> bool:
    """Tell whether a name is made of a version: `MAJOR = int(keras.__version__.split(".")[0])`."""
    for node in module.all(ast.Assign):
        if any(name == name_of(target) for target in node.targets):
            parts = [name_of(part) for part in ast.walk(node.value)]
            if any("version" in part.lower() or part in _ASKING for part in parts):
                return True
    return False


def _is_tried(node: ast.Try, child: ast.AST, raised: tuple[str, ...]) -> bool:
    if child not in node.body:
        return False
    return any(_catches(h, raised) and not _ends(h.body) and not _tells(h) for h in node.handlers)


def _catches(handler: ast.ExceptHandler, raised: tuple[str, ...]) -> bool:
    names = _caught(handler)
    return not names or bool(names & {*raised, *_BROAD})


def _caught(handler: ast.ExceptHandler) -> set[str]:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return {name_of(kind) for kind in kinds if kind is not None}


def _tells(handler: ast.ExceptHandler) -> bool:
    """Tell whether any error is caught and only told: nothing is done in place of the code."""
    if _caught(handler) - {*_BROAD}:
        return False
    calls = [s.value for s in handler.body if isinstance(s, ast.Expr)]
    told = [c for c in calls if isinstance(c, ast.Call) and name_of(c.func) in _TOLD | _TOLD_BY]
    return len(told) == len(handler.body)


def _ends(body: list[ast.stmt]) -> bool:
    """Tell whether a block ends the program: by `raise`, or `sys.exit()`."""
    last = body[-1]
    call = last.value if isinstance(last, ast.Expr) else None
    return isinstance(last, ast.Raise) or (
        isinstance(call, ast.Call) and name_of(call.func) in ("exit", "_exit", "quit")
    )


def _is_behind_choice(module: Module, block: ast.AST, child: ast.AST) -> bool:
    """Tell whether an earlier statement of the same block leaves it for some versions."""
    for field in ("body", "orelse", "finalbody"):
        body = getattr(block, field, None)
        if not isinstance(body, list) or child not in body:
            continue
        for earlier in body[: body.index(child)]:
            if not isinstance(earlier, ast.If) or not _leaves(earlier):
                continue
            if _is_choice(module, earlier.test):
                return True
    return False


def _leaves(node: ast.If) -> bool:
    ways = [way for way in (node.body, node.orelse) if way]
    return any(isinstance(way[-1], _LEAVES) or _ends(way) for way in ways)
