"""Scripts that look at their own process and print what they see: `looks.py CASE`."""

import atexit
import os
import sys

CASES = {}


def case(function):
    """List a function as a case of its name."""
    CASES[function.__name__] = function
    return function


class Mine:
    """A class of the script itself."""

    def __init__(self, value):
        self.value = value


@case
def main_module():
    main = sys.modules["__main__"]
    print(sys.argv, sorted(vars(main)), main.__spec__ and main.__spec__.name, main.__file__)
    print(sys.path, sys.flags, sys.orig_argv[1:], sys.executable, sys.warnoptions, sys._xoptions)


@case
def hooks():
    print(sys.excepthook, sys.displayhook, sys.breakpointhook, sys.unraisablehook)
    print(sys.gettrace(), sys.getprofile(), sys.getswitchinterval(), sys.getrecursionlimit())
    print(sys.stdin.encoding, sys.stdout.encoding, sys.stderr.errors, sys.getfilesystemencoding())
    print(sys.stdin.isatty(), sys.stdout.isatty(), sys.stdout.line_buffering)


@case
def process():
    import resource
    import signal

    print(os.getcwd(), os.umask(0o22), os.getpgrp() == os.getpid(), os.nice(0))
    print([resource.getrlimit(limit) for limit in range(10)])
    print([str(signal.getsignal(number)) for number in range(1, 32)])
    print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])), os.sched_getaffinity(0))


@case
def descriptors():
    names = os.listdir("/proc/self/fd")
    print(sorted(int(name) for name in names if int(name) < 256))
    files = [os.open(os.devnull, os.O_RDONLY) for _ in range(20)]
    print(files, [os.get_inheritable(file) for file in files])


@case
def environment():
    ours = ("QUICKFIT", "PYTHONPATH", "PWD", "_")
    print(sorted(item for item in os.environ.items() if not item[0].startswith(ours)))


@case
def modules():
    print([name for name in sys.modules if name.partition(".")[0] != "quickfit"])
    import random
    import threading

    print(sorted(name for name in sys.modules if name.partition(".")[0] != "quickfit"))
    print(random.Random(1).random(), threading.active_count(), threading.enumerate()[0].name)


@case
def stack():
    import inspect
    import traceback

    print(len(inspect.stack()), [frame.function for frame in inspect.stack()])
    traceback.print_stack()


@case
def too_deep():
    def deeper(n):
        depths[0] = n
        deeper(n + 1)

    depths = [0]
    try:
        deeper(0)
    except RecursionError:
        print(depths)
    deeper(0)


@case
def pickled():
    import pickle

    text = pickle.dumps(Mine(3))
    print(text, pickle.loads(text).value)


@case
def exit_in_a_thread():
    import threading

    threading.Thread(target=sys.exit, args=(4,)).start()
    threading.Event().wait(0.3)
    print("the process goes on")


@case
def leave_at_once():
    atexit.register(print, "never")
    print("flushed", flush=True)
    os._exit(7)


@case
def end_by_sigint():
    import time

    atexit.register(print, "at exit")
    print("begun", flush=True)
    time.sleep(0.3)
    raise KeyboardInterrupt


@case
def crash():
    import faulthandler

    faulthandler.enable(all_threads=False)
    print("before", flush=True)
    faulthandler._sigsegv()


@case
def finalizers():
    class Late:
        def __del__(self):
            print("late", sys.is_finalizing(), flush=True)

    sys.late = Late()
    atexit.register(print, "at exit")
    sys.unraisablehook = lambda unraisable: print("unraisable", unraisable.exc_type)


@case
def start_pythons():
    import subprocess

    look = "import sys; print(sys.flags, [n for n in sys.modules if n[:8] != 'quickfit'])"
    for flags in ((), ("-I",), ("-E",), ("-S",), ("-s",), ("-O",), ("-X", "dev")):
        subprocess.run([sys.executable, *flags, "-c", look], check=True)


@case
def few_files():
    import resource

    resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))
    files = [os.open(os.devnull, os.O_RDONLY) for _ in range(24)]
    print(files)


@case
def little_memory():
    import resource
    import time

    resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    time.sleep(0.8)
    try:
        bytearray(1 << 31)
    except MemoryError as error:
        print(repr(error))


@case
def write_files():
    for name in ("a.txt", "b/c.txt"):
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        with open(name, "w") as file:
            print(os.path.abspath(name), file=file)
    print(sorted(os.listdir("b")))


if __name__ == "__main__":
    CASES[sys.argv[1]]()
