"""What a person sees who types kubectl: commands with their answers, kept as golden files.

A golden file holds the session of one test: `$ kubectl …`, then what it printed, `! ` before each
line on stderr, `[exit N]` where the exit code is not 0. What changes from run to run (times, ages,
uids, resource versions, addresses, this machine's names) is replaced by `<…>`, and runs of blanks
between columns are shortened, as widths depend on it.
"""

import difflib
import json
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.running import RunningCluster
from tests.waiting import wait_until

GOLDEN = Path(__file__).with_name("golden")
_AGE = r"(?:\d{1,3}s|\d{1,2}m\d{1,2}s|[2-9]m|1\dm)"
_MACHINE = (
    "Machine ID|System UUID|Boot ID|Kernel Version|OS Image|Architecture|"
    "Container Runtime Version|Kubelet Version"
)
_REPLACED = (
    (r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<uid>"),
    (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z", "<now>"),
    (r"\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d \+0000", "<now>"),
    (r'((?i:resource ?version)"?: +"?)\d+', r"\1<version>"),
    (rf"(?m)(?:^|(?<=  )){_AGE}(?: \(x\d+ over {_AGE}\)| ago)?(?=  |$)", "<age>"),
    (r"\b(?!0\.0\.0\.0)\d{1,3}(?:\.\d{1,3}){3}\b(?::\d+)?", "<ip>"),
    (r"\b(kube-api-access-)[a-z0-9]{5}\b", r"\1<id>"),
    (r"(?m)^! [IWE]\d{4} [\d:.]+ .*\n", ""),  # kubectl's own log
    (r"\b\d+m?(?= is left to promise)", "<left>"),
    (r"(?m)^(  Generation: +)\d+", r"\1<count>"),
    (r"(Transition ID: +)\d+", r"\1<id>"),
    (rf"(?m)^( *(?:{_MACHINE}): +)\S.*$", r"\1<machine>"),
    (r"(kubernetes\.io/arch=)\w+", r"\1<machine>"),
)


def normalise(text: str, *, namespace: str) -> str:
    """The same text in every run on every machine."""
    text = re.sub(rf"\b{re.escape(namespace)}\b", "<ns>", text)
    for pattern, instead in _REPLACED:
        text = re.sub(pattern, instead, text)
    text = re.sub(r"(?<=\S)(?: {2,}|\t+ *)(?=\S)", "  ", text)
    text = re.sub(r"(?m)(?<=  )-{3,}(?=  |$)|(?<=  )-{3,}$", "---", text)
    return re.sub(r"(?m)[ \t]+$", "", text)


class Shell:
    """kubectl in a namespace of its own; a call writes down the command and what it printed."""

    def __init__(self, cluster: RunningCluster, namespace: str) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self._lines: list[str] = []

    def __call__(self, line: str, stdin: str = "") -> str:
        """Run `kubectl LINE`, which must succeed; its stdout."""
        return self._run(line, stdin, fails=False).stdout

    def fails(self, line: str, stdin: str = "") -> str:
        """Run `kubectl LINE`, which must not succeed; its stderr."""
        return self._run(line, stdin, fails=True).stderr

    def quiet(self, line: str, stdin: str = "") -> str:
        """Run `kubectl LINE` for the test's own needs: not written down; its stdout."""
        done = self.cluster.kubectl(*self._words(line), stdin=stdin)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def stored(self, what: str, name: str) -> Any:
        """The object as the server stores it, None if it does not."""
        words = self._words(f"get {what} {name} -o json --show-managed-fields --ignore-not-found")
        text = self.cluster.kubectl(*words).stdout
        return json.loads(text) if text else None

    def until(self, line: str, expected: str) -> None:
        """Wait until `kubectl LINE` prints exactly so; not written down."""
        words = self._words(line)
        wait_until(
            lambda: self.cluster.kubectl(*words).stdout == expected,
            within=30,
            about=f"{line} prints {expected!r}",
        )

    def start(self, line: str, stdin: str = "") -> "Started":
        """Start `kubectl LINE`; it is written down when it has ended."""
        return Started(self, line, self.cluster.start_kubectl(*self._words(line)))

    def note(self, line: str, out: str, err: str = "", code: int = 0) -> None:
        """Write down a command and what came of it."""
        self._lines.append(f"$ kubectl {line}")
        self._lines += out.splitlines()
        self._lines += [f"! {each}" for each in err.splitlines()]
        self._lines += [f"[exit {code}]"] if code else []

    def transcript(self) -> str:
        """All that was written down, as a golden file holds it."""
        text = normalise("\n".join(self._lines), namespace=self.namespace)
        return re.sub(r"\n(?=\$ kubectl )", "\n\n", text) + "\n"

    def _run(self, line: str, stdin: str, *, fails: bool) -> subprocess.CompletedProcess[str]:
        done = self.cluster.kubectl(*self._words(line), stdin=stdin)
        assert bool(done.returncode) == fails, f"kubectl {line}\n{done.stdout}{done.stderr}"
        self.note(line, done.stdout, done.stderr, done.returncode)
        return done

    def _words(self, line: str) -> list[str]:
        words = shlex.split(line)
        own = any(word in ("-n", "-A") or word.startswith("--namespace") for word in words)
        return words if own else [f"--namespace={self.namespace}", *words]


class Started:
    """A kubectl that runs beside the test, its output read as it comes."""

    def __init__(self, shell: Shell, line: str, process: subprocess.Popen[str]) -> None:
        self._shell, self._line, self._process = shell, line, process
        self._seen: list[str] = []

    def read_until(self, enough: Callable[[str], bool]) -> None:
        """Read lines up to the first one that is `enough`."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._seen.append(line.rstrip("\n"))
            if enough(line):
                return
        raise AssertionError(f"kubectl {self._line} ended first: {self._seen}")

    def end(self, *, stop: bool = False) -> str:
        """Wait for its end, after stopping it if asked; write it down; all it printed."""
        if stop:
            self._process.terminate()
        rest, err = self._process.communicate(timeout=60)
        out = "\n".join([*self._seen, *rest.splitlines()])
        self._shell.note(self._line, out, err, 0 if stop else self._process.returncode)
        return out


def check_golden(path: Path, text: str, *, update: bool) -> None:
    """Compare with a golden file, or write it."""
    if update:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return
    wanted = path.read_text() if path.exists() else ""
    if text != wanted:
        lines = difflib.unified_diff(
            wanted.splitlines(), text.splitlines(), str(path.name), "now", lineterm=""
        )
        raise AssertionError("\n".join([*lines, "(pytest --update rewrites it: look at it then)"]))
