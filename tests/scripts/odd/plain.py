"""Scripts that do odd things to their own process, without TensorFlow: `plain.py CASE`."""

import atexit
import builtins
import contextlib
import gc
import io
import locale
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings

CASES = {}
# Long enough for a background thread that writes twice a second to do so.
A_WHILE_S = 0.8


def case(function):
    """List a function as a case of its name."""
    CASES[function.__name__] = function
    return function


def child(number):
    """What a process of a pool does."""
    return number * number


@case
def fork():
    sys.stdout.flush()
    for code in (0, 3):
        pid = os.fork()
        if pid == 0:
            print("in the child", code, flush=True)
            os._exit(code)
        print("ended with", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
    pid = os.fork()
    if pid == 0:
        sys.exit("the child ends as a script does")
    print("ended with", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


@case
def fork_in_threads():
    def fork_some():
        for _ in range(10):
            pid = os.fork()
            if pid == 0:
                os._exit(4)
            codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

    codes = []
    threads = [threading.Thread(target=fork_some) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(codes)


@case
def pools():
    for method in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(method, pool.map(child, range(5)))


@case
def execute_again():
    print(sys.argv, flush=True)
    if len(sys.argv) < 4:
        os.execv(sys.executable, [sys.executable, *sys.argv, "again"])


@case
def go_to_the_background():
    sys.stdout.flush()
    ours, theirs = os.pipe()
    if os.fork():
        os.close(theirs)
        print("from the daemon:", os.read(ours, 100))
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    os.closerange(0, theirs)
    os.closerange(theirs + 1, 256)
    time.sleep(0.1)
    os.write(theirs, b"hello")
    os._exit(0)


@case
def change_folder():
    gone = tempfile.mkdtemp()
    os.chdir(gone)
    print(os.listdir())
    os.rmdir(gone)
    try:
        os.getcwd()
    except FileNotFoundError as error:
        print(error)
    time.sleep(A_WHILE_S)
    subprocess.run([sys.executable, "-c", "print('a child without a folder')"], check=True)


@case
def lose_the_path():
    del sys.path[0]
    import colorsys

    print(colorsys.__name__, len(sys.meta_path) > 0)
    sys.path.clear()
    try:
        import wave
    except ImportError as error:
        print(error)
    else:
        print(wave.__name__)
    sys.path_importer_cache.clear()
    sys.meta_path.clear()


@case
def redirect():
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        print("kept")
        print("kept too", file=sys.stderr)
    print(repr(text.getvalue()), flush=True)
    with tempfile.TemporaryFile() as file:
        before = os.dup(1)
        os.dup2(file.fileno(), 1)
        os.system("echo from a shell")
        os.dup2(before, 1)
        file.seek(0)
        print(file.read())
    sys.stdout = sys.stderr
    print("now on stderr")


@case
def change_locale():
    print(locale.setlocale(locale.LC_ALL, ""))
    for name in ("de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"):
        with contextlib.suppress(locale.Error):
            print(locale.setlocale(locale.LC_ALL, name))
            break
    print(f"{1234.5:n}", locale.str(0.5), repr(0.5))
    time.sleep(A_WHILE_S)


@case
def handle_signals():
    seen = []
    for name in ("SIGINT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGCHLD", "SIGPROF"):
        number = getattr(signal, name)
        print(name, signal.signal(number, lambda number, frame: seen.append(number)))
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    os.kill(os.getpid(), signal.SIGUSR1)
    os.kill(os.getpid(), signal.SIGINT)
    subprocess.run(["true"], check=True)
    end = time.monotonic() + A_WHILE_S
    while time.monotonic() < end:
        time.sleep(0.01)
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(sorted(set(seen)), seen.count(signal.SIGCHLD), seen.count(signal.SIGALRM) > 10)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print(subprocess.run(["false"]).returncode)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGTERM)


@case
def signals_interrupt_calls():
    def stop(number, frame):
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    for _ in range(5):
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        try:
            time.sleep(60)
        except TimeoutError:
            print("stopped")


@case
def hold_signals_back():
    numbers = [signal.SIGTERM, signal.SIGUSR1, signal.SIGWINCH, signal.SIGALRM]
    signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    for number in numbers:
        os.kill(os.getpid(), number)
    time.sleep(A_WHILE_S)
    print(sorted(signal.sigpending()))
    print(sorted(signal.sigwait([number]) for number in numbers))


@case
def trace_and_profile():
    seen = []

    def watch(frame, event, arg):
        seen.append((os.path.basename(frame.f_code.co_filename), frame.f_code.co_name, event))
        return watch

    threading.settrace(watch)
    threading.setprofile(watch)
    sys.settrace(watch)
    sys.setprofile(watch)
    child(3)
    time.sleep(A_WHILE_S)
    thread = threading.Thread(target=child, args=(4,))
    thread.start()
    thread.join()
    sys.setprofile(None)
    sys.settrace(None)
    print(len(seen), sorted(set(seen)))
    print(threading.active_count(), [thread.name for thread in threading.enumerate()])


@case
def garbage():
    gc.disable()
    gc.set_threshold(5, 5, 5)
    gc.enable()
    print(gc.get_threshold(), gc.isenabled(), gc.callbacks, gc.get_freeze_count())
    gc.disable()
    time.sleep(A_WHILE_S)
    print(gc.isenabled(), gc.get_debug())


@case
def little_room():
    def depth(n):
        try:
            return depth(n + 1)
        except RecursionError:
            return n

    sys.setrecursionlimit(60)
    print(depth(0))
    soft = 24
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (soft, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    )
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    time.sleep(A_WHILE_S)
    with open(__file__) as file:
        print(len(file.readline()))


@case
def end_in_order():
    sys.excepthook = lambda kind, error, trace: print("hook:", kind.__name__, error)
    threading.excepthook = lambda args: print("thread:", args.exc_value)
    for n in range(3):
        atexit.register(print, "at exit", n)
    atexit.register(lambda: print("threads", threading.active_count()))
    thread = threading.Thread(target=lambda: 1 / 0)
    thread.start()
    thread.join()
    threading.Thread(target=lambda: (time.sleep(0.1), print("a thread ends last"))).start()
    raise ValueError("unhandled")


@case
def forget_the_environment():
    os.environ.clear()
    print(dict(os.environ))
    done = subprocess.run([sys.executable, "-c", "import os; print(sorted(os.environ))"], env={})
    print(done.returncode, subprocess.call(["/bin/sh", "-c", "exit 4"]))
    time.sleep(A_WHILE_S)


@case
def close_stderr():
    os.close(2)
    time.sleep(A_WHILE_S)
    print("still here")


@case
def close_everything():
    """Close all files that are not ours and open others, as a daemon does."""
    os.closerange(3, 256)
    files = [tempfile.TemporaryFile() for _ in range(8)]  # noqa: SIM115 - open to the end
    end = time.monotonic() + 2 * A_WHILE_S
    while time.monotonic() < end:
        time.sleep(0.05)
    for file in files:
        file.write(b"mine")
        file.seek(0)
    print([file.read() for file in files])


@case
def close_all_numbers():
    """Close what is open as `python-daemon` does, at a moment when nothing is expected of it."""
    for wait_s in (0.0, 0.3, A_WHILE_S):
        time.sleep(wait_s)
        os.closerange(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        ours, theirs = os.pipe()
        os.write(theirs, b"mine")
        print(ours, theirs, os.read(ours, 10))
    time.sleep(A_WHILE_S)
    print(os.fstat(ours).st_ino == os.fstat(theirs).st_ino)


@case
def patch_builtins():
    real_print, real_open = builtins.print, builtins.open

    def broken(*args, **kwargs):
        raise RuntimeError("nobody may call this now")

    builtins.print = builtins.open = time.sleep = broken
    real_time, real_perf_counter = time.time, time.perf_counter
    time.time = time.perf_counter = time.monotonic = lambda: 1_000_000.0
    os.getpid = lambda: 1
    threading.Event().wait(A_WHILE_S)
    builtins.print, builtins.open = real_print, real_open
    print(time.time(), real_time() > 1_700_000_000.0, real_perf_counter() > 0)


@case
def warn():
    warnings.simplefilter("error")
    try:
        warnings.warn("mine", stacklevel=1)
    except UserWarning as warning:
        print(warning)
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    time.sleep(A_WHILE_S)
    print(__debug__, sys.flags.optimize, sys.warnoptions)


@case
def read_stdin():
    print(sys.stdin.readline(), input(), sys.stdin.read().upper())


if __name__ == "__main__":
    CASES[sys.argv[1]]()
