"""Watches what other threads of this very program catch, and prints what came out as JSON.

Run by every Python there is: needs nothing but quickfit's own source.
"""

import contextlib
import gc
import json
import os
import signal
import sys
import threading
import weakref

from quickfit.probes._catching import Watch
from quickfit.probes._caught import Look
from quickfit.probes._clauses import catching_line
from quickfit.probes._thread_states import native_ids
from quickfit.probes.stacks import all_frames

TIMES = 50
MISSING = os.path.join(os.sep, "no such folder", "file.png")
SAME = ValueError("made once")


class HostileError(Exception):
    def __str__(self):
        sys.exit("asked for its text")


class OwnError(Exception):
    pass


def opens():
    with contextlib.ExitStack():
        open(MISSING)  # noqa: SIM115 - it is not there


def cleans_up():
    try:
        opens()
    finally:
        len("")


def a_missing_file(number):
    try:
        open(MISSING)  # noqa: SIM115 - it is not there
    except OSError:  # caught: a_missing_file
        return number


def deep_inside(number):
    try:
        cleans_up()
    except ValueError:
        return -1
    except (KeyError, OSError):  # caught: deep_inside
        for _ in (letter for letter in "ab"):
            pass
        with contextlib.suppress(StopIteration):
            next(iter(()))
        return number


def suppressed(number):
    with contextlib.suppress(KeyError):  # caught: suppressed
        {}["nothing"]
    return number


def the_same_again(number):
    try:
        raise SAME
    except Exception:  # noqa: BLE001 # caught: the_same_again
        return number


def hostile(number):
    try:
        raise HostileError("what it was made with", object())
    except Exception:  # noqa: BLE001 # caught: hostile
        return number


def a_module(number):
    try:
        import no_such_module  # noqa: F401
    except ImportError:  # caught: a_module
        return number


def nothing(number):
    total = sum(value for value in range(number % 7))
    if getattr(SAME, "nothing", None) is None and not hasattr(SAME, "none"):
        total += next(iter(()), 1)
    return total


def imports(number):
    import importlib

    importlib.import_module(f"{('json', 'gc', 'os')[number % 3]}")
    return number


def worked(work, *, look=None):
    """Do work some times on a thread of its own, watched or not; return what it gave."""
    begin, done, leave = threading.Event(), threading.Event(), threading.Event()
    results = []

    def run():
        begin.wait()
        results.extend(map(work, range(TIMES)))
        done.set()
        leave.wait()

    thread = threading.Thread(target=run)
    thread.start()
    watch = Watch(thread.ident, look.add) if look else None
    is_watched = watch.begin(all_frames()[thread.ident]) if watch else False
    begin.set()
    done.wait()
    if watch:
        watch.end()
    leave.set()
    thread.join()
    return results, is_watched


def line_of(mark):
    with open(__file__) as file:
        return next(at for at, text in enumerate(file, 1) if f"# caught: {mark}" in text)


def told(work):
    """Return what a look at some work tells."""
    look = Look()
    plain, _ = worked(work)
    watched, is_watched = worked(work, look=look)
    rows = []
    for kind, count in look.counts.items():
        message, names = look.details[kind]
        line = catching_line(kind.caught_file, kind.caught_at, names)
        if count:
            rows.append([kind.name, message, line == line_of(work.__name__), count])
    return {"same": plain == watched, "watched": is_watched, "rows": rows}


def ends_while_watched():
    """Watch a thread until after its end; tell whether a later one is left alone."""
    begin, look = threading.Event(), Look()

    def run():
        begin.wait()
        a_missing_file(1)

    thread = threading.Thread(target=run)
    thread.start()
    watch = Watch(thread.ident, look.add)
    watch.begin(all_frames()[thread.ident])
    begin.set()
    thread.join()
    watch.end()
    later = Look()
    worked(a_missing_file)
    return [look.caught, later.caught]


def traced_already(settle):
    """Have a thread traced by the script itself; tell whether it is watched, and still traced."""
    ready, begin, found = threading.Event(), threading.Event(), []

    def tracer(frame, event, arg):
        return tracer

    def run():
        settle(tracer)
        wait(ready, begin)
        found.append(sys.gettrace() is tracer)

    def wait(ready, begin):
        ready.set()
        begin.wait()

    thread = threading.Thread(target=run)
    thread.start()
    ready.wait()
    watch = Watch(thread.ident, Look().add)
    is_watched = watch.begin(all_frames()[thread.ident])
    watch.end()
    begin.set()
    thread.join()
    threading.settrace(None)
    return [is_watched, *found]


def keeps_nothing_alive():
    """Tell whether an exception is gone as soon as the script lets go of it."""
    gone = []

    def work(number):
        try:
            raise OwnError(number)
        except OwnError as error:
            here = weakref.ref(error)
        gone.append(here() is None)

    look = Look()
    gc.disable()
    worked(work, look=look)
    gc.enable()
    return [look.caught, all(gone)]


def interrupted():
    """Press Ctrl-C again and again while the main thread is watched; tell whether it got all."""
    main, presses, got = threading.get_ident(), 40, []
    inside, over = threading.Event(), threading.Event()

    def press():
        inside.wait()
        watch = Watch(main, Look().add)
        watch.begin(all_frames()[main])
        for _ in range(presses):
            inside.wait()
            inside.clear()
            os.kill(os.getpid(), signal.SIGINT)
        inside.wait()
        watch.end()
        over.set()

    thread = threading.Thread(target=press)
    thread.start()
    while len(got) < presses:
        try:
            inside.set()
            while True:
                a_missing_file(0)
        except KeyboardInterrupt:
            got.append(1)
    inside.set()
    thread.join()
    return over.is_set()


def own_ids():
    thread = threading.current_thread()
    return native_ids().get(thread.ident) == thread.native_id


works = (
    *(a_missing_file, deep_inside, suppressed, the_same_again, hostile, a_module),
    *(nothing, imports),
)
found = {work.__name__: told(work) for work in works}
found["ends"] = ends_while_watched()
found["traced by itself"] = traced_already(sys.settrace)
found["traced as all are"] = traced_already(threading.settrace)
found["keeps"] = keeps_nothing_alive()
found["interrupted"] = interrupted()
found["ids"] = own_ids()
found["trace"] = sys.gettrace() is None
print(json.dumps(found))
