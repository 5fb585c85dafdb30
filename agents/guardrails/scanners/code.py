"""Programs and commands that destroy, multiply, let others in, or run what they have fetched. What a program only
prints or writes is not meant: a command counts where a shell would take it for one, or where it is handed to a shell.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from agents.guardrails.fields import is_executed
from agents.guardrails.scanner import Certainty, Finding, Place, Scanner, Subject
from agents.guardrails.scanners.paths import SECRET_FILE

NAME: Final = "code"
MAX_CHARS: Final = 400_000
# Every quantifier has an end, and none stands in another that could match the same: the texts are hostile.
_GAP: Final = r"(?:[ \t]|\$\{?IFS\}?|\\\n){1,20}"
# Where a shell looks for a command: at the beginning of a line or after what ends one, or in a string that is handed
# to a shell. Behind it, what may stand before the command's name.
_RUNS: Final = (
    r"(?:(?:system|popen|Popen|run|call|check_call|check_output|getoutput|getstatusoutput|exec\w{0,8}|spawn\w{0,6}"
    r"|passthru|shell_exec|shell|create_subprocess_shell)\s{0,5}\(\s{0,5}[rbfu]{0,2}[\"'`]{1,3}"
    r"|\b(?:ba|z|da|k)?sh\s{1,5}-\w{0,4}c\s{1,5}[\"']|eval\s{1,5}[\"'])"
)
_HERE: Final = (
    rf"(?:^|[;&|({{`\n]|\$\(|\b(?:then|do|else|sudo|nohup|exec|time|env|xargs|command)[ \t]|{_RUNS})[ \t]{{0,20}}"
    r"(?:(?:sudo|doas|nohup|time|command|env|busybox)[ \t]{1,5}(?:-[\w-]{1,20}[ \t]{1,5}){0,3}){0,3}"
)
_BIN: Final = r"(?:/(?:usr/)?(?:local/)?s?bin/)?"


_RM: Final = r"(?:\\?r[\\\"']{0,2}m[\"']?|\"rm\"|'rm')"
r"""As a shell reads it: `r\m`, `'rm'` and `r""m` are rm."""
_EVERYTHING: Final = (
    r"[\"']?(?:/{1,3}\.?/?\*?|/(?:etc|usr|bin|sbin|lib|lib64|home|var|boot|root|opt|dev|proc|sys|Users|System)/?\*?"
    r"|~/?\*?|\$\{?HOME\}?/?\*?|/home/\*|[cC]:[\\/]{1,2}\*?|--no-preserve-root)[\"']?"
    r"(?=$|[\s;&|)\"'`,\]])"
)
_END: Final = r"(?=$|[\s;&|)\"'`}])"
_FETCH: Final = r"(?:curl|wget|fetch|aria2c|lwp-download|iwr|Invoke-WebRequest)\b"
_SHELL: Final = rf"(?:(?:sudo|env|exec)[ \t]{{1,5}}(?:-\w{{1,8}}[ \t]{{1,5}}){{0,3}})?{_BIN}(?:ba|z|da|k|c|tc|fi)?sh\b"
_OTHER_SHELL: Final = rf"{_BIN}(?:python[23]?|perl|ruby|node|php)[ \t]{{0,5}}(?:-[ \t]{{0,5}})?(?=$|[\n;&|)\"'`])"
_REST: Final = r"[^\n|;&]{0,400}"
_DISK: Final = r"/dev/(?:[shv]d[a-z]\d{0,2}(?![\w.])|xvd[a-z]|nvme\d|mmcblk\d|disk\d|mapper/|md\d|mem\b|kmem\b)"


@dataclass(frozen=True, slots=True)
class _Rule:
    """`needs`: one of these stands in every text that the pattern could find; to look for them costs next to nothing.
    Quotation marks and backslashes are taken out of the text before."""

    kind: str
    needs: tuple[str, ...]
    pattern: re.Pattern[str]


_WHY: Final = {
    "destroys_files": "It would delete or take away everything, or all of a system folder.",
    "destroys_disk": "It would write over a disk.",
    "fork_bomb": "It would start programs until nothing is left.",
    "remote_code": "It would run a program from elsewhere that nobody has looked at.",
    "reverse_shell": "It would let somebody elsewhere give commands.",
    "kills_all": "It would end every program.",
    "adds_key": "It would let the owner of a key sign in.",
    "reads_secrets": "It would read a file in which a machine or a person keeps secrets.",
    "metadata": "It speaks to the service that gives machines in a cloud their keys.",
}


def _rule(kind: str, needs: str, *pattern: str) -> _Rule:
    return _Rule(kind, tuple(needs.split()), re.compile("".join(pattern), re.MULTILINE))


_RULES: Final = (
    _rule(
        "destroys_files", "rm",
        rf"{_HERE}{_BIN}{_RM}{_GAP}(?:--?[\w=-]{{1,24}}{_GAP}|--{_GAP}){{0,6}}{_EVERYTHING}",
    ),
    _rule(
        "destroys_files", "[rm /rm",
        r"\[\s{0,5}[\"'](?:/(?:usr/)?bin/)?rm[\"'](?:\s{0,5},\s{0,5}[\"']-{1,2}[\w-]{1,24}[\"']){1,4}\s{0,5},\s{0,5}",
        _EVERYTHING,
    ),
    _rule(
        "destroys_files", "rmtree rmSync rm_rf rmdirSync rimraf removedirs RemoveAll remove_dir_all deleteDirectory",
        r"\b(?:rmtree|rmSync|rm_rf|rmdirSync|rimraf|removedirs|RemoveAll|remove_dir_all|deleteDirectory)\s{0,5}\(\s{0,5}",
        r"(?:(?:os\.path\.)?expanduser\(\s{0,5}|(?:pathlib\.)?Path\(\s{0,5})?r?", _EVERYTHING,
    ),
    _rule(
        "destroys_files", "find",
        rf"{_HERE}{_BIN}find{_GAP}[\"']?/[\"']?{_GAP}[^\n]{{0,200}}(?:-delete\b|-exec{_GAP}{_BIN}rm\b)",
    ),
    _rule(
        "destroys_files", "chmod chown chgrp",
        rf"{_HERE}{_BIN}(?:chmod|chown|chgrp){_GAP}[^\n;&|]{{0,40}}-{{1,2}}(?:R|recursive)[^\n;&|]{{0,60}}{_GAP}/\*?{_END}",
    ),
    _rule("destroys_files", "/dev/null", rf"{_HERE}{_BIN}mv{_GAP}(?:/\*?|~/?\*?|\$HOME){_GAP}/dev/null"),
    _rule(
        "destroys_disk", "/dev/",
        rf"{_HERE}{_BIN}(?:mkfs(?:\.\w{{1,10}})?|mke2fs|wipefs|shred|blkdiscard|sgdisk)\b[^\n;&|]{{0,200}}{_DISK}",
    ),
    _rule("destroys_disk", "of=/dev/", rf"{_HERE}{_BIN}dd\b[^\n;&|]{{0,200}}\bof=[\"']?{_DISK}"),
    _rule("destroys_disk", "/dev/", rf"(?<![<>=])>{{1,2}}[ \t]{{0,5}}[\"']?{_DISK}"),
    _rule(
        "destroys_disk", "open(/dev/",
        rf"\bopen\([\"']{_DISK}\w{{0,8}}[\"']\s{{0,5}},[^\n)]{{0,40}}[\"'][rb]{{0,2}}[wa+]",
    ),
    _rule(
        "fork_bomb", "()",
        r"(?<![\w.])([\w:.]{1,20})[ \t]{0,5}\(\)\s{0,5}\{\s{0,5}\1\s{0,5}\|\s{0,5}\1\s{0,5}&\s{0,5};?\s{0,5}\}",
    ),
    _rule(
        "fork_bomb", "fork",
        r"\bwhile\s{0,5}\(?\s{0,5}(?:True|1|true)\s{0,5}\)?\s{0,5}[:{]?\s{0,40}(?:os\.)?v?fork\(\)",
        r"|\bfor\s{0,5}\(\s{0,5};\s{0,5};\s{0,5}\)\s{0,5}\{?\s{0,40}v?fork\(\)|\bfork\s{1,5}while\s{1,5}(?:fork|1)\b",
    ),
    _rule("fork_bomb", "%0", r"^[ \t]{0,20}%0[ \t]{0,5}\|[ \t]{0,5}%0"),
    _rule(
        "remote_code", "curl wget fetch aria2c lwp-download iwr Invoke-WebRequest",
        rf"{_HERE}{_BIN}{_FETCH}{_REST}\|(?:[^\n|;&]{{0,80}}\|)?[ \t]{{0,5}}(?:{_SHELL}|{_OTHER_SHELL})",
    ),
    _rule(
        "remote_code", "curl wget fetch aria2c lwp-download iwr Invoke-WebRequest",
        r"(?:\b(?:ba|z|da|k)?sh|\bsource|\beval|\bpython[23]?|\.)[ \t]{1,5}(?:-\w{1,4}[ \t]{1,5})?[\"']?(?:<\(|\$\(|`)",
        rf"[ \t]{{0,5}}{_FETCH}",
    ),
    _rule(
        "remote_code", "exec( eval( Function(",
        r"\b(?:exec|eval|Function)\s{0,5}\(\s{0,5}(?:compile\s{0,5}\(\s{0,5}|await\s{1,5}|\(\s{0,5}await\s{1,5}){0,2}",
        r"(?:requests\.|httpx\.|urllib|urlopen\b|urlretrieve\b|fetch\s{0,5}\(|axios\b|http\.get)",
    ),
    _rule(
        "remote_code", "IEX iex Iex nvoke-",
        r"(?i:\b(?:iex|invoke-expression)[ \t]{0,5}[(&$\"'][^\n]{0,120}",
        r"(?:downloadstring|iwr|invoke-webrequest|irm|invoke-restmethod))",
        r"|(?i:downloadstring|\biwr|\birm|invoke-webrequest)[^\n]{0,200}\|\s{0,5}(?i:iex|invoke-expression)\b",
    ),
    _rule(
        "remote_code", "base64",
        rf"\bbase64[ \t]{{1,5}}(?:-d|-D|--decode)\b[^\n|;&]{{0,400}}\|[ \t]{{0,5}}(?:{_SHELL}|{_OTHER_SHELL})",
    ),
    _rule("reverse_shell", "/dev/tcp/ /dev/udp/", r"/dev/(?:tcp|udp)/[\w.${}-]{1,100}/"),
    _rule(
        "reverse_shell", "nc ncat netcat",
        rf"{_HERE}{_BIN}(?:nc|ncat|netcat)\b[^\n]{{0,120}}[ \t]-\w{{0,5}}[ec]\w{{0,3}}[ \t]{{1,5}}",
        r"[\"']?(?:/bin/)?(?:ba|z|da)?sh\b",
    ),
    _rule(
        "reverse_shell", "mkfifo socat",
        r"\bmkfifo\b[^\n]{0,120}(?:\n[^\n]{0,120}){0,2}\b(?:nc|ncat|netcat|openssl)\b|\bsocat\b[^\n]{0,160}\b(?i:exec):",
    ),
    _rule(
        "kills_all", "kill",
        rf"{_HERE}{_BIN}kill[ \t]{{1,5}}-(?:9|KILL|SIGKILL|s[ \t]{{1,5}}KILL)[ \t]{{1,5}}(?:--[ \t]{{1,5}})?-1{_END}",
    ),
    _rule(
        "adds_key", "authorized_keys",
        r">{1,2}[ \t]{0,5}[\"']?(?:~\w{0,32}|\$\{?HOME\}?|/root|/home/[\w.-]{1,64})/\.ssh/authorized_keys",
    ),
)  # fmt: skip
_SOCKET_SHELL: Final = (
    re.compile(r"\bsocket\.socket\(|\bfsockopen\(|\bTCPSocket\b|\bnet\.Socket\(|\bSocket\(|\bsocket\(AF_INET"),
    re.compile(r"\bdup2\(|\bpty\.spawn\(|\bproc_open\(|<&3|\.pipe\("),
    re.compile(r"[\"'](?:/bin/)?(?:ba|z|da)?sh[\"']|cmd\.exe|powershell"),
)
# Reading, copying or sending, in the same line before the file.
_READS: Final = re.compile(
    r"\b(?:open|read\w{0,16}|cat|head|tail|less|more|strings|cp|scp|rsync|tar|zip|base64|xxd|od|hexdump|grep|awk|sed|tee"
    r"|Path|File|load\w{0,10}|curl|wget|nc|ln|mount|chmod|copy\w{0,8})\b",
)
_LINE_CHARS: Final = 300
_BESIDE: Final = 3
"""So many lines before and after may belong to the same command."""
_LEFT_OUT: Final = dict.fromkeys(map(ord, "\\\"'"))
_METADATA: Final = re.compile(r"\b169\.254\.169\.254\b|\bmetadata\.google\.internal\b|\bfd00:ec2::254\b")


def scan(text: str, subject: Subject) -> Sequence[Finding]:
    if not is_executed(subject):
        return ()
    text = text[:MAX_CHARS]
    bare = text.translate(_LEFT_OUT)
    wanted = [rule for rule in _RULES if any(need in bare for need in rule.needs)]
    lines = _Lines(text, bare) if wanted else None
    found = [_finding(rule.kind, match) for rule in wanted if lines and (match := lines.search(rule)) is not None]
    return [*found, *_shells(text), *_secrets(text), *_metadata(text)]


class _Lines:
    """A program by its lines: a pattern is only looked for around those that have what it needs."""

    def __init__(self, text: str, bare: str) -> None:
        self._text = text
        # What is left out is never the end of a line.
        self._bare = bare.split("\n")
        self._ends = list(accumulate(len(line) + 1 for line in text.split("\n")))

    def search(self, rule: _Rule) -> re.Match[str] | None:
        for first, last in self._places(rule.needs):
            begins = self._ends[first - 1] if first else 0
            if (match := rule.pattern.search(self._text, begins, self._ends[last] - 1)) is not None:
                return match
        return None

    def _places(self, needs: tuple[str, ...]) -> Iterator[tuple[int, int]]:
        """From line to line, both included; none overlaps another."""
        first = last = -1
        for number, line in enumerate(self._bare):
            if not any(need in line for need in needs):
                continue
            if last >= 0 and number - _BESIDE > last + 1:
                yield first, last
                first = -1
            first = max(0, number - _BESIDE) if first < 0 else first
            last = min(len(self._bare) - 1, number + _BESIDE)
        if last >= 0:
            yield first, last


def _finding(kind: str, match: re.Match[str], certainty: Certainty = Certainty.CERTAIN) -> Finding:
    return Finding(NAME, kind, *match.span(), certainty, _WHY[kind])


def _shells(text: str) -> list[Finding]:
    """A connection, something that ties files together, and a shell: all in one program."""
    if not any(need in text for need in ("dup2(", "pty.spawn(", "proc_open(", "<&3", ".pipe(")):
        return []
    parts = [rule.search(text) for rule in _SOCKET_SHELL]
    ties = parts[1]
    return [_finding("reverse_shell", ties)] if all(parts) and ties is not None else []


def _secrets(text: str) -> list[Finding]:
    if not any(need in text for need in ("/etc/", "/proc/", "/dev/", "/run/", "/root/", "/.", "/ETC/")):
        return []
    for match in SECRET_FILE.finditer(text):
        begins = max(text.rfind("\n", 0, match.start() + 1) + 1, match.start() - _LINE_CHARS)
        if _READS.search(text, begins, match.end()):
            return [_finding("reads_secrets", match)]
    return []


def _metadata(text: str) -> list[Finding]:
    found = _METADATA.search(text)
    return [] if found is None else [_finding("metadata", found, Certainty.SUSPECTED)]


SCANNER: Final = Scanner(NAME, frozenset({Place.TOOL}), scan, order=30)
