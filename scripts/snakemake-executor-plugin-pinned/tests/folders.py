"""A working directory in which the executor's tests run Snakemake, with a runtime folder of its own."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1]


class Folder:
    """Runs of one workflow, which share the machine with no others."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = os.pathsep.join(filter(None, [str(PACKAGE), os.environ.get("PYTHONPATH")]))
        self.environment = {**os.environ, "GPD_RUNTIME_DIR": str(folder / "runtime"), "PYTHONPATH": path}
        for name in ("GPD_JOB", "GPD_LEDGER", "GPD_RUN"):
            self.environment.pop(name, None)

    def command(self, text: str, *options: str, cores: int = 2, executor: str = "pinned") -> list[str]:
        (self.folder / "Snakefile").write_text(text)
        return [sys.executable, "-m", "snakemake", "--executor", executor, "--cores", str(cores), *options]

    def run(self, text: str, *options: str, **more: Any) -> subprocess.CompletedProcess[str]:
        words = self.command(text, *options, **more)
        return subprocess.run(words, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=300)

    def start(self, words: list[str]) -> subprocess.Popen[bytes]:
        """Start a process as a session of its own, as a terminal does."""
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(words, cwd=self.folder, env=self.environment, start_new_session=True, **quiet)

    def records(self) -> list[dict[str, Any]]:
        ledger = self.folder / "ledger.jsonl"
        return [json.loads(line) for line in ledger.read_text().splitlines()] if ledger.exists() else []

    def ledger(self, what: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "snakemake_executor_plugin_pinned.ledger_command", what]
        return subprocess.run(words, cwd=self.folder, env=self.environment, capture_output=True, text=True)


def wait_until(condition: Callable[[], Any], timeout_s: float = 60.0) -> Any:
    """Wait until something holds; return it, or fail."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError(f"did not happen within {timeout_s:g} s")
