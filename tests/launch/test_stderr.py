"""What a script writes to a terminal arrives as it would without quickfit, byte for byte."""

import gc
import os
import subprocess

import pytest

from quickfit.launch import stderr
from quickfit.launch.place import Place
from quickfit.launch.signals import SignalWatch
from quickfit.launch.stderr import Relay, open_relay
from quickfit.recording.folder import read_run_file

from launch.sessions import (
    PATIENCE_S,
    PYTHON,
    QUICKFIT,
    Terminal,
    clean_env,
    newest_run,
    of_the_script,
    python,
    quickfit,
)

FILL = "Filling up shuffle buffer (this may take a while): 46432 of 70000"
CTRL_S, CTRL_Q = b"\x13", b"\x11"
# The bytes of tqdm: bars redrawn in place, nested ones by moving the cursor, and `tqdm.write`,
# which clears the bar on stderr, prints on stdout, and draws the bar again.
BARS = f"""
import os, sys
def bar(n, total, width=20):
    full = "█" * (n * width // total)
    return f"\\r{{100 * n // total:3d}}%|{{full:<{{width}}}}| {{n}}/{{total}} [00:00<00:01]"
for n in range(1, 201):
    sys.stderr.write("\\n" + bar(n, 200) + "\\x1b[A")
    sys.stderr.write("\\x1b[32m" + bar(n % 10, 10) + "\\x1b[0m")
    sys.stderr.flush()
    if n % 5 == 0:
        sys.stderr.write("\\r" + " " * 40 + "\\r")
        print(f"loss at {{n}}: ü\\ttab", flush=True)
        sys.stderr.write(bar(n, 200))
    if n % 50 == 0:
        os.write(2, b"\\r\\n{FILL}\\n\\r\\n")
sys.stderr.write("\\x1b[2K\\x1b[?25h\\r\\nthe end")
"""
# Without the times, which no two runs have in common.
TQDM = """
from tqdm import tqdm
tqdm.monitor_interval = 0
shape = dict(bar_format="{l_bar}{bar}| {n_fmt}/{total_fmt}{postfix}", mininterval=0, miniters=1)
for epoch in tqdm(range(3), desc="epochs", **shape):
    with tqdm(total=50, leave=False, colour="green", **shape) as steps:
        for step in range(50):
            steps.set_postfix(loss=1 / (step + 1), refresh=False)
            steps.update()
            if step % 10 == 0:
                tqdm.write(f"step {step}")
"""
BURST = "import os\nwith open(2, 'wb', 0) as f: f.write(bytes(range(32, 127)) * 53_000)\n"
BURST_BYTES = bytes(range(32, 127)) * 53_000


def shown(command, cwd, source):
    """Return all that a terminal shows of a script, and how it ended."""
    (cwd / "train.py").write_text(source)
    with Terminal((*command, "train.py"), cwd) as terminal:
        terminal.resize(24, 100)
        code = terminal.end()
    return terminal.shown, code


def of_script(text):
    """Return what a terminal showed between quickfit's first line and its next, or its report."""
    first, _, rest = text.partition(b"\r\n")
    assert first.startswith(b"quickfit: watching")
    return rest.partition(b"\r\n\x1b[2mdevice ")[0].partition(b"quickfit: ")[0]


def log_lines(cwd):
    """Return the facts of the newest run's log lines by pattern."""
    return {line["pattern"]: line for line in read_run_file(newest_run(cwd))["log_lines"]}


# On a terminal


def test_progress_bars_are_the_same_bytes_with_and_without_quickfit(tmp_path):
    plain, _ = shown(PYTHON, tmp_path, BARS)
    watched, code = shown((*QUICKFIT, "run"), tmp_path, BARS)
    assert plain.count(b"\r") > 400
    assert of_script(watched) == plain
    assert code == 0
    assert log_lines(tmp_path)["shuffle-fill"]["count"] == 4
    assert log_lines(tmp_path)["shuffle-fill"]["text"] == FILL


def test_real_tqdm_is_the_same_bytes_with_and_without_quickfit(tmp_path):
    plain, _ = shown(PYTHON, tmp_path, TQDM)
    watched, _ = shown((*QUICKFIT, "run"), tmp_path, TQDM)
    assert plain.count(b"\r") > 150
    assert of_script(watched) == plain


@pytest.mark.parametrize("end", ["", "import os; os._exit(0)", "import os; os.abort()"])
def test_five_megabytes_right_before_the_end_all_arrive(tmp_path, end):
    watched, code = shown((*QUICKFIT, "run"), tmp_path, BURST.replace("with", "f = 0\nwith") + end)
    assert of_script(watched) == BURST_BYTES
    assert (code == 0) == ("abort" not in end)


def test_the_size_of_the_window_is_that_of_the_terminal(tmp_path):
    (tmp_path / "train.py").write_text(
        "import os, signal, time\n"
        "seen = []\n"
        "input('ready')\n"
        "signal.signal(signal.SIGWINCH, lambda *_: seen.append(1))\n"
        "print('size', *os.get_terminal_size(2), *os.get_terminal_size(1))\n"
        "while not seen or os.get_terminal_size(2).columns == 90: time.sleep(0.001)\n"
        "print('size', *os.get_terminal_size(2))\n"
    )
    with Terminal((*QUICKFIT, "run", "train.py"), tmp_path) as terminal:
        terminal.resize(30, 90)
        terminal.read_until(b"ready")
        terminal.type(b"\n")
        terminal.read_until(b"size 90 30 90 30")
        terminal.resize(40, 120)
        terminal.read_until(b"size 120 40")
        assert terminal.end() == 0


def test_the_terminal_that_controls_the_script_stays_the_users(tmp_path):
    source = (
        "import os\nwith open('/dev/tty', 'w') as tty: print('tty', file=tty)\n"
        "print(os.tcgetpgrp(0) == os.getpgrp(), [os.isatty(n) for n in range(3)])"
    )
    watched, code = shown((*QUICKFIT, "run"), tmp_path, source)
    assert b"tty\r\n" in watched
    assert b"True [True, True, True]" in watched
    assert code == 0


def test_a_redirected_stdout_stays_the_file_it_is(tmp_path):
    (tmp_path / "train.py").write_text(
        "import os, sys\nprint(sys.stdout.seekable())\nprint(os.isatty(2), file=sys.stderr)\n"
    )
    command = " ".join([*QUICKFIT, "run", "train.py", ">", "out.txt"])
    with Terminal(("sh", "-c", command), tmp_path) as terminal:
        assert terminal.end() == 0
    assert (tmp_path / "out.txt").read_text() == "True\n"
    assert of_script(terminal.shown) == b"True\r\n"


def test_a_terminal_that_stops_reading_for_a_while_loses_nothing(tmp_path):
    (tmp_path / "train.py").write_text("input('ready')\n" + BURST)
    with Terminal((*QUICKFIT, "run", "train.py"), tmp_path) as terminal:
        terminal.read_until(b"ready")
        terminal.type(b"\n" + CTRL_S)
        terminal.type(CTRL_Q)
        assert terminal.end() == 0
    assert BURST_BYTES in terminal.shown


def test_a_process_that_outlives_the_script_keeps_nobody_waiting_and_its_stderr(tmp_path):
    os.mkfifo(tmp_path / "go")
    lives_on = "open('go').read(); import os; os.write(2, b'late words\\\\n')"
    source = (
        "import subprocess, sys, os\n"
        f'subprocess.Popen([sys.executable, "-c", "{lives_on}"], start_new_session=True)\n'
        "os.write(2, b'last words\\n'); os._exit(0)\n"
    )
    (tmp_path / "train.py").write_text(source)
    command = " ".join([*QUICKFIT, "run", "train.py; echo quickfit has ended; read line"])
    with Terminal(("sh", "-c", command), tmp_path) as terminal:
        text = terminal.read_until(b"quickfit has ended")
        assert b"last words" in text
        assert b"has a session of its own and is left running" in text
        (tmp_path / "go").write_text("")
        terminal.read_until(b"late words")


def test_without_log_lines_the_script_keeps_the_terminal_itself(tmp_path):
    source = "import os\nprint(os.ttyname(0) == os.ttyname(1) == os.ttyname(2))"
    watched, _ = shown((*QUICKFIT, "run", "--no-log-lines"), tmp_path, source)
    assert of_script(watched) == b"True\r\n"
    assert "log_lines" not in read_run_file(newest_run(tmp_path))


# Not on a terminal


def test_a_stderr_that_is_no_terminal_is_the_scripts_unless_asked_for(tmp_path):
    (tmp_path / "train.py").write_text(f"import sys; sys.stderr.write('{FILL}\\n')")
    quickfit(tmp_path, "run", "train.py")
    assert "log_lines" not in read_run_file(newest_run(tmp_path))


def test_with_log_lines_a_pipe_carries_the_same_bytes(tmp_path):
    (tmp_path / "train.py").write_text(
        f"import os, sys\nos.write(2, b'{FILL}\\n\\x00\\xff\\r\\n')\n{BURST}"
        "print([os.isatty(n) for n in range(2)]); os._exit(3)"
    )
    plain = python(tmp_path, "train.py")
    watched = quickfit(tmp_path, "run", "--log-lines", "train.py")
    assert of_the_script(watched.stderr) == plain.stderr
    assert len(plain.stderr) > 5_000_000
    assert (watched.stdout, watched.returncode) == (plain.stdout, plain.returncode)
    assert log_lines(tmp_path)["shuffle-fill"]["numbers"] == [46432.0, 70000.0]


def test_with_log_lines_stdout_and_stderr_in_one_pipe_keep_their_order(tmp_path):
    (tmp_path / "train.py").write_text(
        "import os\nfor n in range(500): os.write(1 + n % 2, b'%d\\n' % n)\n"
    )
    command = [*QUICKFIT, "run", "--log-lines", "train.py"]
    done = subprocess.run(
        command, cwd=tmp_path, env=clean_env(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert of_the_script(done.stdout) == b"".join(b"%d\n" % n for n in range(500))


def test_a_reader_that_leaves_is_noticed_by_the_script(tmp_path):
    (tmp_path / "train.py").write_text(
        "import os, sys\n"
        "try:\n    while True: os.write(2, bytes(65536))\n"
        "except BrokenPipeError: sys.exit(7)\n"
    )
    ours, theirs = os.pipe()
    process = subprocess.Popen(
        [*QUICKFIT, "run", "--log-lines", "train.py"], cwd=tmp_path, env=clean_env(), stderr=theirs
    )
    os.close(theirs)
    os.read(ours, 10)
    os.close(ours)
    assert process.wait(PATIENCE_S) == 7


# Its parts


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path, tmp_path, {"pid": 1})


def test_log_lines_are_noted_now_and_then(place, capfd):
    seconds = [0.0]
    ours, theirs = os.pipe()
    kept = os.dup(theirs)
    relay = Relay(ours, theirs, place, clock=lambda: seconds[0])
    relay.start()
    os.write(kept, FILL.encode() + b"\n")
    relay.settle(SignalWatch())
    assert capfd.readouterr().err == FILL + "\n"
    relay.poll()
    assert read_run_file(place.folder) == {}
    seconds[0] = 6.0
    relay.poll()
    assert read_run_file(place.folder)["log_lines"][0]["pattern"] == "shuffle-fill"
    os.write(kept, b"Compiled cluster using XLA!")
    os.close(kept)
    relay.close(SignalWatch())
    assert [n["pattern"] for n in place.facts["log_lines"]] == ["shuffle-fill", "xla-compiled"]
    assert capfd.readouterr().err == "Compiled cluster using XLA!"


def test_where_no_terminal_can_be_had_the_script_keeps_ours(place, monkeypatch):
    def none_left():
        raise OSError(5, "out of pty devices")

    monkeypatch.setattr(os, "openpty", none_left)
    monkeypatch.setattr(os, "isatty", lambda fd: True)
    assert open_relay(place) is None


def test_a_closed_stderr_is_left_closed(place, monkeypatch):
    monkeypatch.setattr(stderr, "STDERR", 987)
    assert open_relay(place, log_lines=True) is None


def test_no_files_are_left_open(place, capfd):
    gc.collect()  # what other tests left to it may not be closed meanwhile
    before = os.listdir("/proc/self/fd")
    ours, theirs = os.pipe()
    relay = Relay(ours, theirs, place)
    relay.start()
    relay.close(SignalWatch())
    assert os.listdir("/proc/self/fd") == before
