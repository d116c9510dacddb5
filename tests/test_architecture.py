"""The import table of the project, who may parse, and the few places that may catch everything.

`docs/architecture.md` shows the table to people, and is held to it. Change both together with a
note in docs/decisions.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "quickfit"
EVERYONE = {"arrays", "errors", "machine", "standard", "terminal", "trust", "units"}
MAY_IMPORT = {
    "recording": set(),
    "findings": set(),
    "machine": set(),
    "pipeline_model": set(),
    "code": {"findings"},
    "lab": {"findings", "launch", "probes", "recording"},
    "probes": {"recording", "pipeline_model"},
    "turbo": {"probes", "data", "findings"},
    "launch": {
        "probes",
        "turbo",
        "recording",
        "diagnosis",
        "report",
        "findings",
        "lab",
        "liveness",
        "causes",
    },
    "liveness": {"recording", "findings", "code", "lab", "pipeline_model", "signals"},
    "signals": {"recording", "code", "pipeline_model", "findings", "lab"},
    "account": {"signals", "findings", "recording", "pipeline_model"},
    "causes": {
        "signals",
        "liveness",
        "account",
        "findings",
        "code",
        "recording",
        "pipeline_model",
    },
    "diagnosis": {"causes", "account", "signals", "findings", "recording", "code"},
    "fixing": {
        *("launch", "recording", "diagnosis", "causes", "code", "findings", "lab"),
        *("report", "signals", "tuning"),
    },
    "profiles": {"lab", "recording"},
    "checking": {"code", "causes", "findings", "lab", "report"},
    "data": {"pipeline_model", "lab"},
    "tuning": {"lab", "compression", "findings"},
    "compression": {"lab", "data"},
    "report": {"findings"},
    "comparing": {"diagnosis", "findings", "lab", "launch", "recording", "signals"},
    "live_page": {"diagnosis", "findings", "lab", "launch", "recording", "report"},
    "demo": {"launch", "diagnosis", "report", "findings", "lab", "recording"},
    "exporting": {"findings", "report"},
    "integrations": {
        *("launch", "probes", "recording", "diagnosis", "report", "tuning", "comparing"),
        *("exporting", "findings", "lab"),
    },
    "cli": None,  # everything
}
# Where an error of ours must not reach the user's training or change how it ends.
CATCHES_EVERYTHING = {
    "probes": "the user's training comes first",
    "launch/inject/sitecustomize.py": "an error at start-up must not keep the script from running",
    "launch/verdict.py": "a failing report must not change the script's exit code",
    "launch/follow.py": "a failing early verdict must not end the run",
    "live_page/feed.py": "a look that fails must not end the page",
    "integrations/notebook.py": "a failing display must not end the user's cell",
    "launch/quiet.py": "a failing look at a quiet run must not end it",
    "causes/__init__.py": "a failing cause must not keep the others from being asked",
    "diagnosis/engine.py": "a failing cause must not keep the others from being told",
    "diagnosis/candidates.py": "a failing fix must not keep the others from being made",
    "data/packing/workers.py": "a worker's failure is told by the pack, not by silence",
    "data/packing/shards.py": "an image that breaks a decoder must not stop the pack",
    "data/workers/worker.py": "the user's function fails in any way, and its item is named",
    "data/workers/jobs.py": "objects of users refuse to be pickled in any way",
    "tuning/trials/child.py": "whatever fails in a trial is told by its answer, not by silence",
    "tuning/trials/saving.py": "layers and objects of users refuse to be saved in any way",
    "tuning/numerics/loss_scale.py": "looking for a NaN must not break the training",
    "lab/pool.py": "whatever fails in a worker is shown by its parent, not by silence",
    "integrations/watch.py": "logging elsewhere must not end the user's training",
    "machine/devices.py": "what NVML fails to answer is not known, whatever the error",
    "machine/frameworks.py": "whatever fails in a framework is the answer of the child",
    "launch/child.py": "a trial that cannot be begun safely must not run the script",
}
# Who may read the user's source by itself.
PARSES = {
    "code": "it is the one reader",
    "probes/_clauses.py": "inside the user's process, which loads nothing of us but probes",
}
# Who may start, signal or fork a process by itself; everyone else asks `lab/child` or `lab/pool`.
STARTS_PROCESSES = {
    "lab": "it is the one place",
    "launch": "the script itself, and what it leaves",
    "demo/scripts": "scripts of a user",
}
_STARTS = {"fork", "forkpty", "kill", "killpg", "posix_spawn", "posix_spawnp", "system", "popen"}
# Who may name the least gain that counts, or compute an interval from pairs.
ONE_OF_EACH = {
    "1.05": {
        "findings/_records.py": "`MIN_GAIN`",
        "compression/shrinking/recipes.py": "a margin on what was asked for, not on a gain",
    },
    "12.706": {"lab/statistics.py": "the one interval"},
    "1.96": {"lab/statistics.py": "`NORMAL_95`"},
}
# Who reads the user's source, and so must ask the one table of dataset methods.
READS_SOURCE = ("code", "causes")
# Documents that are not in the repository, under the names they may be cited by.
ELSEWHERE = re.compile(r"\b(style|house|design)\.md\b|\bstyle guide\b|\(design, section")
# Who may write to a terminal without `terminal`: each hands on what is not ours to change, or what
# went through `terminal` before.
WRITES_ITSELF = {
    "terminal.py": "it is the one place",
    "launch/report_file.py": "a file that the user named, not a terminal",
    "launch/status.py": "lines of ours on the script's stderr, escaped by `terminal`",
    "launch/stderr.py": "the script's own bytes, unchanged",
    "launch/inject/sitecustomize.py": "quickfit could not be imported, so neither can `terminal`",
    "compression/quantizing/native_output.py": "what TensorFlow itself prints",
    "data/speed/target.py": "what TensorFlow itself prints",
    "machine/frameworks.py": "JSON that its parent reads",
    "demo/scripts": "scripts of a user",
}
# How streams that a person may read are called; files have other names.
_STREAMS = {"stdout", "stderr", "out", "err", "stream", "_out", "_err", "_stream", "console"}
TENSORFLOW_ALLOWED = {"probes", "lab/sandbox", "demo/scripts", "data", "tuning", "compression"}


def modules():
    """Return every source file with its tree."""
    files = sorted(SOURCE.rglob("*.py"))
    return [(file.relative_to(SOURCE), ast.parse(file.read_text())) for file in files]


MODULES = modules()


def every_module(check):
    """Make one test of a check of all modules; one test for each would take half a minute."""

    def test():
        wrong = []
        for path, tree in MODULES:
            try:
                check(path, tree)
            except AssertionError as error:
                wrong.append(f"{path}: {error}")
        assert not wrong, "\n".join(wrong)

    return test


def imports_of(tree):
    """Return the dotted names of everything a module imports, inside functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@every_module
def test_a_module_imports_only_what_the_table_allows(path, tree):
    package = path.parts[0] if len(path.parts) > 1 else None
    if package is None or MAY_IMPORT.get(package, set()) is None:
        return
    assert package in MAY_IMPORT, f"{package} is not in the import table"
    allowed = MAY_IMPORT[package] | EVERYONE | {package}
    known = set(MAY_IMPORT) | EVERYONE
    for name in imports_of(tree):
        parts = name.split(".")
        if parts[0] == "quickfit" and len(parts) > 1 and parts[1] in known:
            assert parts[1] in allowed, f"{path} may not import {name}"


@every_module
def test_nothing_imports_the_command_line(path, tree):
    if path.parts[0] in ("cli", "__main__.py"):
        return
    assert not [name for name in imports_of(tree) if name.startswith("quickfit.cli")]


@every_module
def test_a_cause_never_imports_another_cause(path, tree):
    if path.parts[0] != "causes" or len(path.parts) < 3:
        return
    others = [n for n in imports_of(tree) if n.startswith("quickfit.causes.")]
    own = "quickfit.causes." + ".".join([path.parts[1], path.parts[2].removesuffix(".py")])
    shared = ("quickfit.causes._cause", "quickfit.causes._shared", own)
    assert all(name.startswith(shared) for name in others)


def _raises_again(handler):
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


@every_module
def test_only_the_listed_files_catch_everything(path, tree):
    if any(str(path).startswith(allowed) for allowed in CATCHES_EVERYTHING):
        return
    for node in ast.walk(tree):
        # Cleaning up and raising again swallows nothing.
        if isinstance(node, ast.ExceptHandler) and not _raises_again(node):
            caught = ast.unparse(node.type) if node.type else "everything"
            assert caught not in ("everything", "Exception", "BaseException"), f"{path}: {caught}"


@every_module
def test_only_code_parses_the_users_source(path, tree):
    if any(str(path).startswith(allowed) for allowed in PARSES):
        return
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    lines = [c.lineno for c in calls if ast.unparse(c.func) in ("ast.parse", "tokenize.tokenize")]
    assert not lines, f"lines {lines}: ask quickfit.code.module"


@every_module
def test_only_the_laboratory_and_the_launch_run_processes(path, tree):
    if any(str(path).startswith(allowed) for allowed in STARTS_PROCESSES):
        return
    names = {name.split(".")[0] for name in imports_of(tree)}
    assert not names & {"subprocess", "multiprocessing"}, "ask quickfit.lab.child"
    calls = [n.func for n in ast.walk(tree) if isinstance(n, ast.Call)]
    direct = [c.lineno for c in calls if ast.unparse(c) in {f"os.{name}" for name in _STARTS}]
    assert not direct, f"lines {direct}: ask quickfit.lab.child"


@every_module
def test_there_is_one_threshold_of_a_gain_and_one_interval(path, tree):
    numbers = [n for n in ast.walk(tree) if isinstance(n, ast.Constant)]
    for number, homes in ONE_OF_EACH.items():
        lines = [n.lineno for n in numbers if n.value == float(number)]
        assert not lines or str(path) in homes, f"lines {lines}: {number} has a name in lab"
    targets = [t for n in ast.walk(tree) if isinstance(n, ast.Assign) for t in n.targets]
    is_second = any(isinstance(t, ast.Name) and t.id == "MIN_GAIN" for t in targets)
    assert not is_second or str(path) == "findings/_records.py", "MIN_GAIN is another number"
    spreads = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr == "stdev"]
    assert not spreads or path.parts[0] == "lab", "ask quickfit.lab.statistics.interval"


@every_module
def test_only_the_laboratory_says_whose_turn_it_is(path, tree):
    if path.parts[0] == "lab":
        return
    choices = [n for n in ast.walk(tree) if isinstance(n, ast.IfExp)]
    swaps = [n.lineno for n in choices if re.search(r"% 2\b.*(reversed\(|\[::-1\])", _flat(n))]
    assert not swaps, f"lines {swaps}: ask quickfit.lab.turns"


def _flat(node):
    """Return a choice as text, its condition first."""
    return " ".join(ast.unparse(part) for part in (node.test, node.body, node.orelse))


def _texts_of(node):
    """Return the texts of a tuple, list, set or dictionary that holds nothing but texts."""
    parts = getattr(node, "keys", None) or getattr(node, "elts", [])
    texts = [p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)]
    return texts if len(texts) == len(parts) else []


@every_module
def test_only_one_table_knows_the_methods_of_datasets(path, tree):
    from quickfit.code.datasets import METHODS

    if path.parts[0] not in READS_SOURCE or str(path) == "code/datasets.py":
        return
    kinds = (ast.Tuple, ast.List, ast.Set, ast.Dict)
    lists = [n for n in ast.walk(tree) if isinstance(n, kinds) and len(_texts_of(n)) > 2]
    lines = [n.lineno for n in lists if METHODS.issuperset(_texts_of(n))]
    assert not lines, f"lines {lines}: ask quickfit.code.datasets"


def _prints(node):
    """Tell whether a call writes for people by itself."""
    called = node.func
    if isinstance(called, ast.Name):
        return called.id in ("print", "Console", "input")
    if not isinstance(called, ast.Attribute):
        return False
    if called.attr in ("echo", "secho", "print_exc", "print_exception"):
        return True
    of = called.value
    name = of.attr if isinstance(of, ast.Attribute) else getattr(of, "id", "")
    return called.attr in ("write", "writelines") and name in _STREAMS


@every_module
def test_what_people_read_goes_through_the_one_place_that_escapes_it(path, tree):
    if any(str(path).startswith(allowed) for allowed in WRITES_ITSELF):
        return
    lines = [n.lineno for n in ast.walk(tree) if isinstance(n, ast.Call) and _prints(n)]
    assert not lines, f"lines {lines}: write with quickfit.terminal"


@every_module
def test_tensorflow_is_never_imported_where_it_does_not_belong(path, tree):
    if any(str(path).startswith(allowed) for allowed in TENSORFLOW_ALLOWED):
        return
    names = {name.split(".")[0] for name in imports_of(tree)}
    assert not names & {"tensorflow", "keras"}


def test_the_map_of_the_packages_is_true():
    text = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \|$", text, re.M)
    shown = {name: set(re.findall(r"`(\w+)`", allowed)) for name, _, allowed in rows}
    shown["cli"] = None
    assert shown == MAY_IMPORT
    assert {path.parts[0] for path, _ in MODULES if len(path.parts) > 1} == set(MAY_IMPORT)


def test_every_path_of_the_map_is_there():
    text = (ROOT / "docs" / "architecture.md").read_text()
    named = re.findall(r"`([a-z_]+/[a-z_/]*(?:\.py)?)`", text)
    assert len(named) > 10
    missing = [one for one in named if not ((SOURCE / one).exists() or (ROOT / one).exists())]
    assert not missing


def test_nothing_cites_a_document_that_is_not_here():
    own = Path(__file__).name
    files = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *SOURCE.rglob("*.py")]
    files += [file for file in (ROOT / "tests").rglob("*.py") if file.name != own]
    wrong = [str(file.relative_to(ROOT)) for file in files if ELSEWHERE.search(file.read_text())]
    assert not wrong


def test_a_module_has_a_docstring():
    for path, tree in modules():
        assert ast.get_docstring(tree) or path.name == "__init__.py", f"{path} has no docstring"


def test_importing_quickfit_loads_no_tensorflow_and_nothing_heavy():
    code = "import sys, quickfit; print(sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    for heavy in ("tensorflow", "keras", "numpy", "rich", "typer", "sqlite3"):
        assert f"'{heavy}'" not in loaded


def test_watching_a_process_loads_only_modules_that_tensorflow_loads_anyway():
    """A script's own `queue.py` or `statistics.py` must not be hidden by what we preload."""
    code = (
        "import sys; before = set(sys.modules)\n"
        "from quickfit.probes import session\n"
        "print(sorted(n for n in set(sys.modules) - before if not n.startswith('quickfit')))"
    )
    loaded = ast.literal_eval(
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
    )
    top = {name.split(".")[0] for name in loaded if not name.startswith("_")}
    assert not top & {"statistics", "random", "numpy", "psutil", "rich", "typer", "asyncio"}


@pytest.mark.parametrize("file", sorted(ROOT.glob("benchmarks/**/*.py")), ids=lambda f: f.name)
def test_what_a_benchmark_imports_of_us_is_there(file):
    for node in ast.walk(ast.parse(file.read_text())):
        if not (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("quickfit")):
            continue
        home = SOURCE.joinpath(*node.module.split(".")[1:])
        text = next(f for f in (home / "__init__.py", home.with_suffix(".py")) if f.is_file())
        names = set(re.findall(r"\w+", text.read_text())) | {f.stem for f in home.glob("*")}
        missing = {alias.name for alias in node.names} - names
        assert not missing, f"{node.module} has no {', '.join(sorted(missing))}"
