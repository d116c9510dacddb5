"""Trains in another process."""

import subprocess
import sys
from pathlib import Path

done = subprocess.run([sys.executable, Path(__file__).with_name("short.py")], check=True)
print("parent", done.returncode)
