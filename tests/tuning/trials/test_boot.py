"""A fresh process is made one that harms nobody."""

import os
import subprocess
import sys


def run(code):
    head = "import os\nfrom quickfit.tuning.trials import boot\n"
    return subprocess.run(
        [sys.executable, "-c", head + code], capture_output=True, text=True, check=False
    )


def test_it_is_the_first_to_go_where_memory_runs_out():
    ran = run("boot.be_harmless(os.getppid()); print(open('/proc/self/oom_score_adj').read())")
    assert ran.stdout.strip() == "1000"


def test_it_ends_at_once_where_its_parent_is_gone():
    ran = run(f"boot.be_harmless({os.getpid()} + 1); print('still here')")
    assert (ran.returncode, ran.stdout) == (1, "")
