"""Measures what .ci/delivery is about, and writes the table between the marks of a document.

Every figure is the least of several runs (of one, where that took more than ten seconds), each into a folder of its own. Nothing is
removed between them: ext4 does not give inodes away again for a while, so that whoever
writes after a removal pays for it. What was written before is flushed before a run, so
that nobody flushes for another. Runs take turns, so that what else the machine does hits
all alike.
"""
import atexit
import http.client
import io
import json
import os
import queue
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

import figures

document, work, node = sys.argv[1:]
sizes = [int(n) for n in os.environ["KX_SIZES"].split(",")]
runs = int(os.environ["KX_RUNS"])
kx = work + "/kx"
programs = node + "/node_modules/.bin/"

TEXT = "Read the message, then decide what it is about. Ask when two answers are possible.\n"
NOTE = "A note that says where to look next.\n"


def make_skills(folder, n, notes):
    """n skills of 2.7 KB, with a second file of 1.5 KB each where notes is set."""
    for i in range(n):
        at = f"{folder}/skill-{i:04d}"
        os.makedirs(at + "/references" if notes else at)
        with open(at + "/SKILL.md", "w") as f:
            f.write(f"---\nname: skill-{i:04d}\ndescription: Sorts messages of kind {i} by what they are about.\n---\n\n# Skill {i}\n\n{TEXT * 30}")
        if notes:
            with open(at + "/references/notes.md", "w") as f:
                f.write(f"# Notes {i}\n\n{NOTE * 40}")


def fresh():
    return tempfile.mkdtemp(dir=work)


# Nobody waits longer for a program than this, in seconds.
LONGEST = 300


class Least:
    """The least wall and CPU time of several runs, and the most memory."""

    def __init__(self):
        self.wall = self.cpu = float("inf")
        self.memory = 0
        self.cut = False

    @property
    def enough(self):
        """What takes minutes is not measured again: others wait."""
        return self.cut or float("inf") > self.wall > 10

    def run(self, args, cwd, home, **environment):
        """False says that it took too long and was ended."""
        env = {"PATH": programs + ":" + os.environ["PATH"], "HOME": home, "KX_HOME": home + "/kx", "TMPDIR": work,
               "DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1", "CI": "1", **environment}
        os.sync()
        with open(work + "/output", "wb+") as out:
            begin = time.perf_counter()
            child = subprocess.Popen(args, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
            late = threading.Timer(LONGEST, os.kill, (child.pid, signal.SIGKILL))
            late.start()
            _, status, used = os.wait4(child.pid, 0)
            took = time.perf_counter() - begin
            late.cancel()
            child.returncode = os.waitstatus_to_exitcode(status)
            if child.returncode == -signal.SIGKILL and took >= LONGEST:
                self.cut = True
                return False
            if child.returncode != 0:
                out.seek(0)
                sys.exit(f"{args} ended with {child.returncode}:\n{out.read()[-2000:].decode(errors='replace')}")
        self.wall, self.cpu = min(self.wall, took), min(self.cpu, used.ru_utime + used.ru_stime)
        self.memory = max(self.memory, used.ru_maxrss)
        return True

    def __str__(self):
        if self.cut:
            return f"more than {LONGEST // 60} minutes"
        if self.wall == float("inf"):
            return "–"
        if self.cpu == float("inf"):
            return milliseconds(self.wall)
        text = f"{milliseconds(self.wall)} ({milliseconds(self.cpu)} CPU"
        # A process begins with the memory of the one that started it.
        return text + (f", {self.memory / 1024:.0f} MB)" if self.memory > 1.2 * own_memory() else ")")


def own_memory():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1])


def milliseconds(seconds):
    return f"{seconds:,.2f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def project():
    """A folder to install into, the home of who installs, and what tells that an agent is there."""
    top = fresh()
    os.makedirs(top + "/project/.claude")
    os.makedirs(top + "/home/.claude")
    subprocess.run(["git", "init", "-q", top + "/project"], check=True)
    return top + "/project", top + "/home"


def expect(folder, n):
    found = len([name for name in os.listdir(folder) if not name.startswith(".")])
    if found != n:
        sys.exit(f"{folder} holds {found} skills instead of {n}")


class Hub:
    """A server with n releases of a single file each."""

    def __init__(self, n):
        top = fresh()
        make_skills(top + "/skills", n, False)
        self.env = env = {**os.environ, "HOME": top, "KX_HOME": top + "/kx"}
        self.server = subprocess.Popen([kx, "serve", "--dev-allow-local", "--listen", "127.0.0.1:0"],
                                       env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        atexit.register(self.server.kill)
        self.address = self.server.stdout.readline().split()[2].rstrip(",")
        self.push(top + "/skills")

    def push(self, folder):
        work, faults = queue.Queue(), []
        for name in sorted(os.listdir(folder)):
            work.put(name)

        def some():
            hub = http.client.HTTPConnection(self.address.removeprefix("http://"))
            while not faults:
                try:
                    name = work.get_nowait()
                except queue.Empty:
                    return
                packed = io.BytesIO()
                with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as tar:
                    tar.add(f"{folder}/{name}/SKILL.md", f"{name}/SKILL.md")
                hub.request("POST", "/api/v1/releases?author=bench&version=1&approve=true", packed.getvalue(), {"Content-Type": "application/gzip"})
                answer = hub.getresponse()
                said = answer.read()
                if answer.status >= 300:
                    faults.append(f"{name}: {answer.status} {said[:300]}")

        threads = [threading.Thread(target=some) for _ in range(16)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        if faults:
            sys.exit(faults[0])

    def close(self):
        self.server.terminate()
        self.server.wait()

    def read_skill(self):
        """From the start of an MCP server over the same releases to the text of one: seconds."""
        begin = time.perf_counter()
        server = subprocess.Popen([kx, "mcp"], env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

        def say(message):
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            server.stdin.flush()

        say({"id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "delivery", "version": "1"}}})
        server.stdout.readline()
        say({"method": "notifications/initialized"})
        say({"id": 2, "method": "tools/call", "params": {"name": "read_skill", "arguments": {"name": "skill-0000"}}})
        said = json.loads(server.stdout.readline())
        took = time.perf_counter() - begin
        if TEXT.strip() not in said["result"]["content"][0]["text"]:
            sys.exit(f"read_skill answers {said}")
        server.stdin.close()
        server.wait()
        return took


def repository(n):
    """A git repository with n skills, and a project into which all of them are installed."""
    source = fresh() + "/repository"
    make_skills(source, n, True)
    git = ["git", "-C", source, "-c", "user.name=delivery", "-c", "user.email=delivery@example.com"]
    for args in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "all"]):
        subprocess.run(git + args, check=True)
    at, home = project()
    Least().run([kx, "skills", "install", source + "@main", "--all", "--agent", "claude-code", "--scope", "project"], at, home)
    expect(at + "/.claude/skills", n)

    def change():
        with open(source + "/skill-0000/SKILL.md", "a") as f:
            f.write(TEXT)
        subprocess.run(git + ["commit", "-q", "-a", "-m", "one"], check=True)

    return at, home, change


# As many active skills as a tenant may have, for nodes to follow.
MOST_SYNCED = 1000

# What was just written is not believed to be as it looks for two seconds.
SETTLE = 2.5


def measure(n):
    source = fresh() + "/skills"
    make_skills(source, n, True)
    hub = Hub(n) if n <= MOST_SYNCED else None
    got = {name: Least() for name in (
        "cp", "kx install", "skills install", "openskills install", "kx list", "skills list", "openskills list", "kx agents", "kx outdated", "kx one outdated", "kx cold", "kx same", "kx mcp")}
    for turn in range(runs):
        got["cp"].run(["cp", "-r", source, fresh() + "/copy"], work, work)
        at, home = project()
        got["kx install"].run([kx, "skills", "install", source, "--all", "--agent", "claude-code", "--scope", "project"], at, home)
        expect(at + "/.claude/skills", n)
        ours = at, home
        target, synced = fresh(), fresh()
        sync = []
        if hub:
            sync = [kx, "sync", "--endpoint", hub.address, "--target", target + "/skills:owned"]
            got["kx cold"].run(sync, target, synced)
            expect(target + "/skills", n)
        if not got["skills install"].enough:
            at, home = theirs = project()
            if got["skills install"].run([programs + "skills", "add", source, "--skill", "*", "--agent", "claude-code", "--yes", "--copy"], at, home):
                expect(at + "/.claude/skills", n)
        if not got["openskills install"].enough:
            at, home = others = project()
            if got["openskills install"].run([programs + "openskills", "install", source, "--yes"], at, home):
                expect(at + "/.claude/skills", n)
        if turn == 0:
            time.sleep(SETTLE)
            Least().run([kx, "skills", "list", "--installed", "--scope", "project"], *ours)
            if hub:
                Least().run(sync, target, synced)
            Least().run([kx, "agents"], *ours)
            lists = ours, theirs, others, target, synced, sync
    ours, theirs, others, target, synced, sync = lists
    for _ in range(2 * runs):
        got["kx list"].run([kx, "skills", "list", "--installed", "--scope", "project"], *ours)
        got["kx agents"].run([kx, "agents"], *ours)
        if hub:
            got["kx same"].run(sync, target, synced)
    for _ in range(runs):
        if not got["skills list"].enough and not got["skills install"].cut:
            got["skills list"].run([programs + "skills", "list"], *theirs)
        if not got["openskills list"].enough and not got["openskills install"].cut:
            got["openskills list"].run([programs + "openskills", "list"], *others)
    *checked, change = repository(n)
    outdated = [kx, "skills", "outdated", "--scope", "project"]
    for _ in range(runs):
        got["kx outdated"].run(outdated, *checked)
    change()
    for _ in range(runs):
        got["kx one outdated"].run(outdated, *checked)
    if hub:
        hub.close()
        got["kx mcp"].wall = min(hub.read_skill() for _ in range(2 * runs))
    return got


def table():
    head = "| | " + " | ".join(f"{n:,} skill" + ("s" if n != 1 else "") for n in sizes) + " |"
    all_of = [measure(n) for n in sizes]

    def row(text, cell):
        return f"| {text} | " + " | ".join(cell(got) for got in all_of) + " |"

    def of(name):
        return lambda got: str(got[name])

    return [
        head, "|---" * (len(sizes) + 1) + "|",
        row("`cp -r`, neither checked nor durable", of("cp")),
        row("`kx skills install`, for one agent", of("kx install")),
        row("… as a multiple of `cp -r`", lambda got: f"{got['kx install'].wall / got['cp'].wall:.1f}"),
        row("`skills add --copy` (npm)", of("skills install")),
        row("`openskills install` (npm)", of("openskills install")),
        row("`kx skills list --installed`", of("kx list")),
        row("`skills list` (npm)", of("skills list")),
        row("`openskills list` (npm)", of("openskills list")),
        row("`kx agents`", of("kx agents")),
        row("`kx skills outdated`, of a git repository on this disk, nothing changed", of("kx outdated")),
        row("… one skill changed", of("kx one outdated")),
        row("`kx sync`, from nothing", of("kx cold")),
        row("`kx sync`, nothing changed", of("kx same")),
        row("`kx mcp`, from its start to the text of one skill", of("kx mcp")),
    ]


def versions():
    got = {name: json.load(open(f"{node}/node_modules/{name}/package.json"))["version"] for name in ("skills", "openskills")}
    return f"skills {got['skills']} and openskills {got['openskills']} from npm"


before = os.getloadavg()
lines = table()
figures.write(document, [
    figures.machine(f"{versions()}, load average before it {before[0]:.1f}, the least of {runs} runs"), "", *lines,
])
print("\n".join(lines))
