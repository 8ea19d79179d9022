"""Runs test files, each in a fork of one process that has imported torch_tensorrt: that takes longer than most files.

upstream_tests.py calls it as `upstream_runner.py JOBS LIMIT LIST`, in the folder in which the tests stand; LIST names
them, one a line. Of a file tests/test_x.py it leaves test_x.jsonl (see upstream_plugin), test_x.out (pytest's output)
and, last, test_x.end (how the process ended).
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from pathlib import Path

import pytest

import upstream_plugin

OPTIONS = ("-q", "-p", "no:cacheprovider", "--assert=plain", "--tb=native")


def start(file: str) -> int:
    """Run a test file in a fork; its process id."""
    stem = Path(file).stem
    Path(f"{stem}.jsonl").touch()
    if pid := os.fork():
        return pid
    output = os.open(f"{stem}.out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ["UPSTREAM_TESTS_LOG"] = os.path.abspath(f"{stem}.jsonl")
    code = 1
    try:
        code = pytest.main([*OPTIONS, file], plugins=[upstream_plugin])
    finally:
        # Without the interpreter's end, in which TensorRT's objects may be destroyed in an order that crashes
        sys.stdout.flush()
        os._exit(code)


def run(files: list[str], jobs: int, limit: float) -> None:
    running: dict[int, tuple[str, float]] = {}
    try:
        while files or running:
            while files and len(running) < jobs:
                file = files.pop(0)
                running[start(file)] = (file, time.monotonic() + limit)
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid:
                file, _ = running.pop(pid)
                ended(file, f"the process ended with {os.waitstatus_to_exitcode(status)}")
            for late in [pid for pid, (_, deadline) in running.items() if time.monotonic() > deadline]:
                kill(late)
                ended(running.pop(late)[0], f"not done after {limit:g} s")
            time.sleep(0.05)
    finally:
        for pid in running:
            kill(pid)


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def ended(file: str, how: str) -> None:
    Path(f"{Path(file).stem}.end").write_text(how)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # Upstream's conftest collects garbage twice a case; it need not look at what the imports left
    gc.freeze()
    run(Path(sys.argv[3]).read_text().split(), int(sys.argv[1]), float(sys.argv[2]))
