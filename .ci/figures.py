"""Writes what .ci/reliability measured between the marks of a document; .ci/delivery takes its way to do so."""
import datetime
import os
import platform
import re
import subprocess
import sys

MARKS = ("<!-- figures -->", "<!-- end of figures -->")


def machine(beside):
    """What was measured on, and with what."""
    cpu = re.search(r"model name\s*: (.*)", open("/proc/cpuinfo").read())
    memory = int(re.search(r"MemTotal:\s+(\d+)", open("/proc/meminfo").read())[1]) >> 20
    go = subprocess.run(["go", "version"], capture_output=True, text=True).stdout.split()[2]
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    load = " ".join(f"{x:.1f}" for x in os.getloadavg())
    return (f"{datetime.date.today()}, commit {commit}, {os.cpu_count()} cores ({cpu[1] if cpu else '?'}), {memory} GiB, "
            f"Linux {platform.release()}, {go}, {beside}, load average at the end {load}.")


def tests(log):
    """Top-level tests with what they logged, in the order in which they ended."""
    rows, said = [], []
    for line in log.splitlines():
        if m := re.match(r"\s+\w+_test\.go:\d+: (.*)", line):
            said.append(m[1])
        elif m := re.match(r"--- (PASS|FAIL|SKIP): (\w+) \((.*)\)", line):
            rows.append(f"| {m[2]} | {m[1]} | {m[3]} | {'; '.join(said).replace('|', '/')} |")
            said = []
    return rows


def growth(text):
    rows = []
    for line in text.splitlines():
        m = re.match(r"BenchmarkGrowth/(\w+)/(\d+)\S*\s", line)
        if not m:
            continue
        v = {unit: float(n) for n, unit in re.findall(r"([\d.e+]+) (\S+)", line)}
        cells = [f"{v.get(op + '/s', 0):,.0f}/s, {v.get(op + '-p50-ms', 0):.1f} / {v.get(op + '-p99-ms', 0):.1f} ms" for op in ("push", "search", "list", "show")]
        rows.append(f"| {m[1]} | {int(m[2]):,} | " + " | ".join(cells) + " |")
    return rows


def write(document, lines):
    """Puts lines between the marks."""
    text = open(document).read()
    before, rest = text.split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    open(document, "w").write("\n".join([before + MARKS[0], "", *lines, "", MARKS[1] + after]))


def main(document):
    lines = [machine("PostgreSQL 15 on the same machine"), "", "| test | result | took | figures |", "|---|---|---|---|"]
    lines += tests(open(os.environ["KX_RESULT_LOG"]).read())
    lines += ["", "Growth: rate, and the 50th / 99th percentile of single calls.", "",
              "| database | releases | push, 16 clients, 2 KB | search, two words, 8 clients | list, 8 clients | show, 8 clients |",
              "|---|---|---|---|---|---|"]
    lines += growth(open(os.environ["KX_RESULT_GROWTH"]).read())
    write(document, lines)


if __name__ == "__main__":
    main(sys.argv[1])
