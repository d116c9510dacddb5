"""A generator or PyDataset runs, or waits, and never gives the next batch.

Why it is slow: `fit` waits for a batch as long as it takes. A generator that skips every sample,
because each one raises an error that it catches, goes round for ever; one that waits for a queue
or a server that has nothing to give stands still. Neither says a word: `Epoch 1/10` is the last
line on the screen.

How it shows: no batch comes and nothing else is counted on meanwhile, and one of these is seen: the
thread of the input raises and catches the same exception at one line again and again (its text,
how often, and the line that catches it are told); it stands at one line without using the CPU; or
it runs in a loop that has no `yield`, or has given batches before and gives no more. The text of a
script shows the first of these before it runs: an endless generator in which, if a `try` fails
every time, no path reaches a `yield` or leaves the loop.

Example:
    def batches(paths):
        while True:
            for path in paths:
                try:
                    image = load_image(path)
                except Exception:
                    continue  # every path is wrong, and nobody hears of it
                yield image[None], labels[path]

Use instead:
    def batches(paths):
        while True:
            skipped = 0
            for path in paths:
                try:
                    image = load_image(path)
                except OSError as error:
                    skipped += 1
                    if skipped > len(paths) // 10:
                        raise RuntimeError(f"{skipped} of {len(paths)} skipped") from error
                    continue
                yield image[None], labels[path]

Fix class: repairs, where the loop over the data is plain: after a round in which nothing could be
read, the first error is raised; a run that can read anything is left as it is. Otherwise shown
only: whether a sample may be left out is for you to decide. What waits for somebody else
(`queue.get`, a request, a socket) needs a timeout and an error.

When it is wrong: a first batch that takes long is not one that never comes. A generator that uses
the CPU and has a `yield` in its loop is not named before its first batch, whatever the time; one
that sleeps or waits is named only after the limit of `--stuck-after`, and any batch, element or
operation that is counted meanwhile rules it out. A generator that swallows exceptions is named
before that only after some thousand of them without a single batch: one that skips most of what
it finds is slow, and moves. From text it is told what happens if all samples fail; whether they
do, only a run shows. A clause that prints or logs what it skips is a hint; one that waits before
it tries again is silent.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause, silence_finding
from quickfit.causes._shared.generators import goes_round_on
from quickfit.causes._shared.swallowed import Skip, head, is_for_training, skips, tells, written
from quickfit.code.lines import (
    is_in_generator,
    loop_without_yield,
)
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.syntax import name_of, own_nodes
from quickfit.code.values import Computed, Item, Made, Member
from quickfit.findings import (
    Change,
    Edit,
    Effect,
    Evidence,
    Finding,
    Fix,
    FixClass,
    Spotted,
    Symptom,
)
from quickfit.liveness.phases import is_peek, making_thread, waiting_input
from quickfit.liveness.reason import Mechanism, Proof, Reason
from quickfit.liveness.scene import Raised, Scene, Thread
from quickfit.liveness.waiting import (
    has_working_child,
    is_idle,
    stands_still,
    still,
    waits_for_workers,
)
from quickfit.signals import Signals

# So many exceptions of one kind in a look of a fifth of a second are a loop of their own.
MIN_RAISED = 5
# So many since the last batch, and not one that went well: that is all of them.
MIN_SWALLOWED = 2000
# What was counted on more lately moves; a look from outside takes a little longer.
MIN_STILL_S = 2.0


def detect(signals: Signals) -> Finding | None:
    """Report what was seen while the run was quiet."""
    return silence_finding(signals, "generator-never-yields")


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report endless generators that go round for ever if every sample fails."""
    for skip in skips(program, module):
        yield Spotted(
            where=head(module, skip.handler),
            summary=_summary(module, skip),
            effect=Effect.HANGS,
            related=((skip.module.span(skip.ever), "goes round for ever"),),
            change=_change(program, module, skip),
            is_hint=tells(skip.handler),
        )
    yield from _unread(module, program)


def _summary(module: Module, skip: Skip) -> str:
    said = "" if tells(skip.handler) else ", and nobody hears of it"
    return (
        f"if this fails for every sample, `{skip.generator.name}` goes round for ever without "
        f"a batch: `{written(module, skip.handler)}` skips each of them{said}"
    )


def _change(program: Program, module: Module, skip: Skip) -> Change | None:
    edits = failing_round(program, module, skip.tried, skip.handler) if skip.is_own else ()
    if not edits:
        return None
    return Change(
        title="Raise the first error when nothing could be read in a whole round",
        kind=FixClass.REPAIRS,
        edits=edits,
        note="Samples that fail are still left out as long as one can be read.",
    )


def _unread(module: Module, program: Program) -> Iterator[Spotted]:
    """Report images that OpenCV cannot read: it gives None, and raises nothing."""
    for call in module.calls("imread"):
        if program.called(module, call) != "cv2.imread":
            continue
        generator = goes_round_on(program, module, call, ast.Constant(value=None))
        if generator is not None and is_for_training(program, module, generator):
            yield Spotted(
                where=module.span(call),
                summary=(
                    f"if no image can be read, `{generator.name}` goes round for ever without a "
                    "batch: `cv2.imread` gives None, and each one is skipped"
                ),
                effect=Effect.HANGS,
            )


_READ, _ERROR = "has_read", "first_error"
# Give all of what they are given, in some order.
_WHOLE = frozenset(
    (
        *("permutation", "arange", "range", "list", "tuple", "sorted", "reversed", "enumerate"),
        *("zip", "tqdm", "trange", "shuffle", "array", "copy", "glob", "rglob", "listdir"),
        *("iterdir", "iterrows", "itertuples", "items", "keys", "values"),
    )
)
# Take some of the data by chance: a round of them is not the whole.
_CHANCE = frozenset(("choice", "choices", "randint", "sample", "random_integers", "integers"))
_LEAVES = (ast.Continue, ast.Break, ast.Return)


def failing_round(
    program: Program, module: Module, tried: ast.Try, handler: ast.ExceptHandler
) -> tuple[Edit, ...]:
    """Return the edits that raise the first error after a round without success; none: unclear.

    A run in which anything can be read is left as it is.
    """
    loop = _round(program, module, tried)
    if loop is None or not _is_plain(module, tried, handler, loop):
        return ()
    used = {n.id for n in module.all(ast.Name)} | {n.arg for n in module.all(ast.arg)}
    error = handler.name or "error"
    if used & {_READ, _ERROR} or (handler.name is None and error in used):
        return ()
    raising = f"if {_ERROR} is not None and not {_READ}:\n{_inner(module, loop)}raise {_ERROR}"
    return (
        _above(module, loop, f"{_READ}, {_ERROR} = False, None"),
        _below(module, tried.body[-1], f"{_READ} = True"),
        *_named(module, handler, error),
        _noted(module, handler, f"{_ERROR} = {_ERROR} or {error}"),
        _below(module, loop, raising),
    )


def _round(program: Program, module: Module, tried: ast.Try) -> ast.For | None:
    """Return the loop over all data, inside one that never ends, that a `try` stands in."""
    around = module.loops(tried)
    if len(around) < 2 or not all(isinstance(loop, ast.For) for loop in around[:-1]):
        return None
    loop, ever = around[-2], around[-1]
    if not isinstance(loop, ast.For) or not isinstance(ever, ast.While):
        return None
    names = {name_of(n.func) for n in ast.walk(ever) if isinstance(n, ast.Call)}
    if names & _CHANCE or any(isinstance(n, ast.Break | ast.Return) for n in own_nodes(loop)):
        return None
    return loop if _is_whole(program, module, loop.iter, ever) else None


def _is_whole(program: Program, module: Module, node: ast.expr, ever: ast.AST) -> bool:
    """Tell whether a loop runs over everything there is."""
    if isinstance(node, ast.Call) and name_of(node.func) == "range":
        return any(_is_length(program, module, part) for part in node.args)
    if isinstance(node, ast.Call):
        is_all = all(_is_whole(program, module, part, ever) for part in node.args)
        return name_of(node.func) in _WHOLE and is_all
    if isinstance(node, ast.Name):
        bound = program.files.bindings(module).reaching(node, node.id)
        inside = [b for b in bound if module.is_in(b.node, ever)]
        values = [b.value for b in inside if b.kind == "value" and b.value is not None]
        if len(values) != len(inside):
            return False
        return all(_is_whole(program, module, value, ever) for value in values)
    return isinstance(node, ast.Attribute) or _is_length(program, module, node)


def _is_length(program: Program, module: Module, node: ast.expr) -> bool:
    """Tell whether an expression has the number of all samples in it."""
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and name_of(part.func) == "len":
            return True
        if isinstance(part, ast.Attribute) and part.attr in ("shape", "size"):
            return True
        if isinstance(part, ast.Name) and any(map(_counts, program.values(module, part))):
            return True
    return False


def _counts(value: object) -> bool:
    if isinstance(value, Made):
        return value.maker == "builtins.len"
    if isinstance(value, Computed):
        calls = [n for n in ast.walk(value.node) if isinstance(n, ast.Call)]
        return any(name_of(call.func) == "len" for call in calls)
    return isinstance(value, Item) and isinstance(value.of, Member) and value.of.name == "shape"


# -- where the lines go -----------------------------------------------------------------------


def _is_plain(module: Module, tried: ast.Try, handler: ast.ExceptHandler, loop: ast.For) -> bool:
    """Tell whether every line that is put in has a line of its own to stand by."""
    if any(isinstance(n, _LEAVES) for statement in tried.body for n in ast.walk(statement)):
        return False
    if any(other is not handler for other in tried.handlers):
        return False
    alone = [loop, tried.body[0], tried.body[-1], handler, handler.body[0]]
    if not all(_begins_line(module, node) for node in alone):
        return False
    return all(_ends_line(module, node) for node in (tried.body[-1], loop))


def _begins_line(module: Module, node: ast.AST) -> bool:
    line, column = module.begin(node)
    return not module.lines[line - 1][:column].strip()


def _ends_line(module: Module, node: ast.AST) -> bool:
    line, column = module.end(node)
    rest = module.lines[line - 1][column:].strip()
    return not rest or rest.startswith("#")


def _indent(module: Module, node: ast.AST) -> str:
    line, column = module.begin(node)
    return module.lines[line - 1][:column]


def _inner(module: Module, loop: ast.For) -> str:
    """Return what a block inside a statement that stands beside the loop is indented by."""
    return _indent(module, loop.body[0])


def _above(module: Module, node: ast.AST, code: str) -> Edit:
    line = module.begin(node)[0]
    return Edit(module.path, (line, 0), (line, 0), f"{_indent(module, node)}{code}\n")


def _below(module: Module, node: ast.stmt, code: str) -> Edit:
    line = module.end(node)[0]
    at = (line, len(module.lines[line - 1]))
    return Edit(module.path, at, at, f"\n{_indent(module, node)}{code}")


def _named(module: Module, handler: ast.ExceptHandler, error: str) -> tuple[Edit, ...]:
    if handler.name is not None:
        return ()
    if handler.type is None:
        begin = module.begin(handler)
        at = (begin[0], begin[1] + len("except"))
        return (Edit(module.path, at, at, f" Exception as {error}"),)
    at = module.end(handler.type)
    line = module.lines[at[0] - 1]
    # The brackets of `except (A):` belong to no node.
    while line[at[1] : at[1] + 1] == ")":
        at = (at[0], at[1] + 1)
    return (Edit(module.path, at, at, f" as {error}"),)


def _noted(module: Module, handler: ast.ExceptHandler, code: str) -> Edit:
    """Return the edit that puts a line first in a clause; instead of a lone `pass`."""
    first = handler.body[0]
    if isinstance(first, ast.Pass) and len(handler.body) == 1:
        return module.replace(first, code)
    return _above(module, first, code)


def show_swallowed_errors(scene: Scene) -> Reason | None:
    """Tell of an input that swallows one exception after the other and gives nothing."""
    # What a library raises and catches itself is its way of looking for something.
    own = [one for one in scene.raised if one.caught and one.caught.file in scene.sources]
    raised = max(own, key=lambda one: one.count, default=None)
    if raised is None or raised.count < MIN_RAISED or raised.place is None:
        return None
    thread, source = making_thread(scene), waiting_input(scene)
    is_asked = thread is not None or source is not None
    if scene.still_s < raised.window_s or not (is_asked or _is_in_generator(scene)):
        return None
    per_s = raised.count / raised.window_s
    given = f"batch {source.batches + 1:,}" if source is not None else "the first batch"
    return Reason(
        cause="generator-never-yields",
        summary=f"{raised.name} is raised and swallowed {_how_often(per_s)}, and {given} never"
        f" comes: {_short(raised)}",
        where=raised.place,
        evidence=(
            Evidence(f"{raised.name} swallowed", raised.count, "count", _when(raised)),
            Evidence("since the last batch", scene.still_s, "s", "none was given meanwhile"),
        ),
        advice="Let the exception through, or count what is skipped and raise after too many.",
        also=raised.caught,
        # A generator of a loop of the script's own may give to somebody who is not watched, and one
        # that skips most of what it finds gives something in the end.
        is_certain=is_asked and per_s * scene.still_s >= MIN_SWALLOWED,
    )


def _is_in_generator(scene: Scene) -> bool:
    """Tell whether the main thread is inside a generator of the user's."""
    frames = scene.main.frames if scene.main is not None else ()
    return any(
        frame.is_user and is_in_generator(scene.sources.get(frame.file, ""), frame.line)
        for frame in frames
    )


def _how_often(per_s: float) -> str:
    """Return a rate in words."""
    return f"{per_s:,.0f} times a second" if per_s >= 1 else "again and again"


def _short(raised: Raised) -> str:
    message = " ".join(raised.message.split())
    return message if len(message) <= 80 else f"{message[:79]}…"


def _when(raised: Raised) -> str:
    caught = f", caught at line {raised.caught.line}" if raised.caught is not None else ""
    return f"in {raised.window_s:.1f} s{caught}"


def show_silent_generator(scene: Scene) -> Reason | None:
    """Tell of an input that stands at one line, or runs and gives nothing."""
    thread = making_thread(scene)
    source = waiting_input(scene)
    if thread is None or thread.user_frame is None or scene.still_s < MIN_STILL_S:
        return None
    given = source.batches if source is not None else 0
    idle = is_idle(thread)
    if idle and not stands_still(thread):
        return None
    if waits_for_workers(thread) and has_working_child(scene):
        return None
    if not idle and not given and not _never_gives(scene, thread):
        return None  # the first batch of a busy generator may take its time
    where = scene.place(thread.user_frame)
    does = f"waits at {where.short}" if idle and where else "runs and gives nothing"
    waits = f" ({thread.waits_in})" if idle and thread.waits_in else ""
    since_s = scene.still_s
    return Reason(
        cause="generator-never-yields",
        summary=f"the input has given {given:,} batches and no more: it {does}{waits}",
        where=where,
        evidence=(
            still(thread) if idle else Evidence("of a core it uses", thread.cores or 0.0, "share"),
            Evidence("since the last batch", since_s, "s", "none was given meanwhile"),
        ),
        advice="Give what it waits for a timeout and an error, so that it cannot wait for ever.",
    )


def _never_gives(scene: Scene, thread: Thread) -> bool:
    """Tell whether the lines that run lie in a loop without a `yield`."""
    frame = thread.user_frame
    text = scene.sources.get(frame.file, "") if frame is not None else ""
    return frame is not None and is_peek(thread) and loop_without_yield(text, frame.line)


CAUSE = Cause(
    title="The input gives no batch",
    symptom=Symptom.STUCK,
    detect=detect,
    scan=scan,
    advice=Fix(
        "Let the input fail: count what is skipped, and give waits a timeout", FixClass.SHOW_ONLY
    ),
    live=(
        Mechanism(show_swallowed_errors, Proof.EXCEPTIONS),
        Mechanism(show_silent_generator, Proof.SILENCE),
    ),
)
