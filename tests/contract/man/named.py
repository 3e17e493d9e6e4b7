# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What documents name: files, functions, options, words of ./dev, tests. Each of it has to exist.

Names stand in `code spans` and in code blocks. A name with a placeholder (<noun>, *, ...) stands for whatever
fits it; text of another language or of other projects is not looked at.
"""

import fnmatch
import json
import os
import re
import subprocess
from functools import lru_cache

SUFFIXES = "c h py sh cmake map driver in md rules service target conf lua txt files json bash"
FILE = re.compile(rf"[\w.@<>*+-]*[\w>*]\.(?:{'|'.join(SUFFIXES.split())})")
# Names that a document invents for an example.
MADE_UP = re.compile(r"frobnicate|FROBNICATE|prefix_noun|\bname\b|NAME|KIND|DEVICE|example|/tmp/|\.\.\.")


@lru_cache
def read_tree(root, build):
    return Tree(root, build)


class Tree:
    """The files that are the project's, their words, its tests."""

    def __init__(self, root, build):
        self.root, self.build = root, build
        self.files, self.folders = set(), set()
        for folder, inner, names in os.walk(root):
            inner[:] = [name for name in inner if not re.match(r"build($|-)|\.git$|\.cache$", name)]
            place = os.path.relpath(folder, root)
            self.folders.add("" if place == "." else place)
            self.files |= {os.path.normpath(os.path.join(place, name)) for name in names}
        self.words, self.options = set(), {}
        for name in self.files:
            # The documents that are compared with the tree. Those of the self-test name things that
            # do not exist.
            if name.endswith(".md") or name == "tests/contract/man/self_test.py":
                continue
            text = (root / name).read_bytes().decode(errors="ignore") if (root / name).is_file() else ""
            self.words |= set(re.findall(r"\w+", text))
            self.options[name] = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", text)) | {
                "--" + word for word in re.findall(r'\{ "([\w-]+)", \w+_argument', text)
            }
        self.words_of_dev = set(re.findall(r"^    \./dev (\w+)|^([a-z]+)[)|]", (root / "dev").read_text(), re.M))
        self.words_of_dev = {word for pair in self.words_of_dev for word in pair if word}
        self.tests = self.find_tests()
        # Files and units of a system, by the names that this tree uses.
        self.installed = set()
        for name in self.files:
            if re.match(r"systemd/|udev/|rdma-ndd/|tests/hosts/system/layout/", name):
                text = (root / name).read_bytes().decode(errors="ignore")
                self.installed |= set(re.findall(r"[\w.@-]+\.(?:target|service|conf|rules)", text))

    def find_tests(self):
        result = subprocess.run(["ctest", "--show-only=json-v1"], cwd=self.build, capture_output=True, check=False)
        return {test["name"] for test in json.loads(result.stdout)["tests"]} if result.returncode == 0 else set()

    def has_path(self, path, near):
        """A file or folder, from the root, from @near, or as the end of a path of the tree."""
        pattern = re.sub(r"<[^>]*>|\.\.\.", "*", path).rstrip("/")
        places = self.files | self.folders
        # Files that the build makes under another name, and names of installed files.
        if (self.build / "include" / pattern).exists() or pattern.rpartition("/")[2] in self.installed:
            return True
        if pattern in places or f"{pattern}.c" in places or os.path.normpath(os.path.join(near, pattern)) in places:
            return True
        if path.split("/")[0] in {place.split("/")[0] for place in self.folders} and "*" not in pattern:
            return False
        return any(fnmatch.fnmatch(place, pattern) or fnmatch.fnmatch(place, f"*/{pattern}") for place in places)

    def has_test(self, name):
        pattern = re.sub(r"<[^>]*>|\.\.\.", "*", name)
        return any(fnmatch.fnmatch(test, pattern) for test in self.tests)

    def programs_named(self, word):
        """Files a command of this name is made of."""
        name = word.removeprefix("./").removeprefix("build/bin/").removeprefix("build/")
        if name in self.files and os.access(self.root / name, os.X_OK):
            return {name}
        base = name.rpartition("/")[2]
        if "/" in name and not word.startswith("build"):
            return set()
        stem = base.replace("-", "_")
        return {file for file in self.files if re.search(rf"(^|/){re.escape(stem)}(_\w+)?\.c$", file) and "tests/unit" not in file}


def spans(text):
    """(code, whether it is a line of a block)"""
    blocks = []
    outside = []
    inside = None
    for line in text.splitlines():
        fence = re.match(r"\s*```(\w*)", line)
        if fence:
            inside = None if inside is not None else fence[1]
            continue
        if inside is not None:
            if inside in ("", "sh", "make"):
                blocks.append(line.strip())
        elif re.match(r"    \S", line) and (not outside or not outside[-1].strip() or outside[-1].startswith("    ")):
            blocks.append(line.strip())
            outside.append(line)
        else:
            outside.append(line)
    prose = "\n".join(line for line in outside if not line.startswith("    ") or not blocks)
    return [(span.replace("\n", " "), False) for span in re.findall(r"`([^`]+)`", prose)] + [(line, True) for line in blocks]


def complaints_of_command(tree, code):
    """Options of the tree's own programs, and words of ./dev."""
    for command in re.split(r"&&|\||;", code):
        words = [word for word in command.split() if not re.match(r"[A-Z_]+=", word)]
        while words and words[0] in ("sudo", "env", "$INSIDE", "#", "$"):
            words.pop(0)
        if not words:
            continue
        if words[0] == "./dev" and len(words) > 1 and re.fullmatch(r"[a-z]+", words[1]):
            if words[1] not in tree.words_of_dev:
                yield f"./dev has no word {words[1]}"
        files = tree.programs_named(words[0])
        for word in words[1:] if files else ():
            if word == "--" or word == "#":
                break
            option = re.match(r"--[a-z][\w-]*", word)
            if option and not any(option[0] in tree.options[name] for name in files):
                yield f"{words[0]} has no option {option[0]}"


def complaints_of_span(tree, code, near):
    if MADE_UP.search(code):
        return
    option = re.fullmatch(r"(--[a-z][\w-]*)(?:[= ].*)?", code)
    if option and not any(option[1] in options for options in tree.options.values()):
        yield f"nothing has the option {option[1]}"
    function = re.fullmatch(r"(\w+)\(.*\)", code)
    identifier = re.fullmatch(r"[A-Za-z]\w*_\w+", code)
    name = function[1] if function else code if identifier else None
    if name and not name.endswith("_") and name not in tree.words:
        yield f"{name} is nowhere in the sources"
    path = re.fullmatch(r"(?:\./)?([\w.@<>*+-]+(?:/[\w.@<>*+-]*)+)", code)
    if path and not path[1].startswith(("build/", "~")) and not tree.has_path(path[1], near):
        kinds = {test.split("/")[0] for test in tree.tests}
        if path[1].split("/")[0] in kinds and tree.has_test(path[1]):
            return
        yield f"{path[1]} is neither a file nor a test"
    elif FILE.fullmatch(code) and not tree.has_path(code, near):
        yield f"there is no file {code}"


def complaints_of_line(tree, code, near):
    """Paths with a known suffix, and tests that ctest is asked for."""
    for path in re.findall(r"(?<![\w./~$-])((?:[\w@<>*-]+/)+[\w.@<>*-]*)(?![\w$])", code):
        top = path.split("/")[0]
        if top in {folder for folder in tree.folders if "/" not in folder} and not tree.has_path(path, near):
            if not tree.has_test(path):
                yield f"{path} does not exist"
    for pattern in re.findall(r"ctest\b.* -R '?\^?([\w/-]+)", code):
        if not any(re.search(pattern, test) for test in tree.tests):
            yield f"no test fits {pattern}"


def complaints_of_c(tree, text):
    """Names in an example that the sources do not have."""
    for block in re.findall(r"^ *```c\n(.*?)^ *```", text, re.S | re.M):
        code = re.sub(r"/\*.*?\*/|\"[^\"]*\"", "", block, flags=re.S)
        for name in sorted(set(re.findall(r"\b[A-Za-z]\w*_\w+", code))):
            if name not in tree.words and not MADE_UP.search(name):
                yield f"{name} of an example is nowhere in the sources"


def complaints_of_tables(tree, documents):
    """Folders that the tables of folders leave out, and those that a table has twice."""
    for name, place, level in (("architecture.md", "", 1), ("testing.md", "tests/", 2)):
        path = next((path for path in documents if path.name == name), None)
        if not path:
            continue
        rows = re.findall(r"^\| (`[^|]*`) \|", path.read_text(), re.M)
        cells = [folder.rstrip("/") for row in rows for folder in re.findall(r"`([\w./-]+)`", row)]
        wanted = {folder for folder in tree.folders if folder.startswith(place) and len(folder.split("/")) == level and folder}
        for folder in sorted(wanted - {"/".join(cell.split("/")[:level]) for cell in cells}):
            # A file that git does not have is no part of the project.
            if not folder.startswith(".") and any(file.startswith(folder + "/") for file in tree.files):
                yield f"{name}: the table has no {folder}/"
        for folder in sorted({cell for cell in cells if "/" in cell and cells.count(cell) > 1}):
            yield f"{name}: the table has {folder} twice"


def complaints(tree, document, near):
    text = document.read_text()
    said = list(complaints_of_c(tree, text))
    for code, block in spans(text):
        code = re.sub(r"\s+# .*", "", code)
        said += complaints_of_line(tree, code, near) if block or " " in code else complaints_of_span(tree, code, near)
        if not MADE_UP.search(code) or code.startswith("./dev"):
            said += complaints_of_command(tree, code)
    for name in re.findall(r"\btest `([\w/-]+)`", text):
        if not tree.has_test(name):
            said.append(f"there is no test {name}")
    return sorted({f"{document.name}: {complaint}" for complaint in said})
