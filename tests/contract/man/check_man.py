#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Hold the manual pages against what they describe.

check_man.py <check> [options] prints a line for each thing that is wrong; exit code 1 when there is
any, 77 when the check cannot run here. A check is a function below: (context) -> complaints.
"""

import argparse
import errno
import os
import re
import shutil
import subprocess
import sys
from functools import cached_property
from pathlib import Path

sys.dont_write_bytecode = True
import named  # noqa: E402
from page import read_pages  # noqa: E402

TREE = Path(__file__).resolve().parents[3]

PROGRAM = "NAME SYNOPSIS DESCRIPTION OPTIONS EXIT_STATUS ENVIRONMENT NOTES EXAMPLE SEE_ALSO"
FUNCTION = "NAME SYNOPSIS DESCRIPTION ARGUMENTS RETURN_VALUE ERRORS NOTES EXAMPLE SEE_ALSO"
# By section: the headings that a page may have, in this order ("*": anything), and those that it
# must have.
ORDER = {
    "1": (PROGRAM, "NAME SYNOPSIS DESCRIPTION OPTIONS EXIT_STATUS SEE_ALSO"),
    "3": (FUNCTION, "NAME SYNOPSIS DESCRIPTION RETURN_VALUE ERRORS NOTES EXAMPLE SEE_ALSO"),
    "7": ("NAME DESCRIPTION * NOTES EXAMPLE SEE_ALSO", "NAME DESCRIPTION SEE_ALSO"),
    "8": (PROGRAM, "NAME SYNOPSIS DESCRIPTION OPTIONS EXIT_STATUS SEE_ALSO"),
}

# Pages of other projects to which our pages refer.
FOREIGN = {
    ("fork", 2), ("execve", 2), ("munmap", 2), ("free", 3), ("gai_strerror", 3), ("madvise", 2), ("getrlimit", 2), ("mlock", 2), ("poll", 2), ("open", 2), ("fcntl", 2),
    ("epoll", 7), ("errno", 3), ("capabilities", 7), ("network_namespaces", 7), ("udev", 7), ("udevadm", 8),
    ("limits.conf", 5), ("systemd.exec", 5), ("rdma", 8), ("rdma-link", 8), ("rdma-system", 8), ("rdma-dev", 8),
    ("ip-address", 8), ("ip-neighbour", 8), ("modprobe", 8), ("sysfs", 5), ("pthread_cancel", 3), ("secure_getenv", 3), ("unix", 7), ("user_namespaces", 7), ("ld.so", 8), ("ib_write_bw", 1), ("numactl", 8), ("dcb", 8), ("ethtool", 8),
}  # fmt: skip

# Headers whose functions the pages describe.
PARTS = ("infiniband/verbs.h", "infiniband/verbs_more.h", "infiniband/uroce.h", "infiniband/efadv.h",
         "infiniband/mlx4dv.h", "infiniband/mlx5dv.h", "infiniband/manadv.h", "infiniband/hnsdv.h",
         "infiniband/ionic_dv.h", "rdma/rdma_verbs.h")
HEADERS = "".join(f"#include <{part}>\n" for part in PARTS)

# Inline functions that only serve other inline functions, and are no part of the interface.
PRIVATE = {"rdma_seterrno", "rdma_wait_comp_"}

# A struct, union or enum with its members: kind, name, members.
DEFINITION = r"^(struct|union|enum) (\w+) \{(.*?)^\};\n"

# Names of pages about a family of functions. No function has such a name.
FAMILIES = {"ibv_wr_post", "ibv_create_flow_action", "ibv_modify_flow_action"}


class Context:
    """The pages, and where the facts come from."""

    def __init__(self, options):
        self.options = options
        self.pages = read_pages(options.pages)

    @cached_property
    def declarations(self):
        """What the public headers declare, with all they include."""
        return self.compile("-E", "-P", source=HEADERS).stdout

    @cached_property
    def functions(self):
        """Functions and function-like inlines the public headers declare."""
        names, depth, declaration = set(), 0, ""
        for character in self.declarations:
            depth += {"{": 1, "}": -1}.get(character, 0)
            declaration += character if depth == 0 else ""
            if depth == 0 and character in ";}":
                found = re.search(r"\b((?:ibv|mult|mbps|rdma|uroce|efadv|mlx4dv|mlx5dv|manadv|hnsdv|ionic_dv)_\w+)\s*\(", declaration)
                names |= {found[1]} if found else set()
                declaration = ""
        return names

    @cached_property
    def types(self):
        """Name -> definition of each struct, union and enum of the public headers."""
        return definitions(self.declarations)

    @cached_property
    def exported(self):
        """Names in the public nodes of the libraries."""
        table = run(["nm", "-D", "--defined-only", *self.options.library]).stdout
        names = re.findall(r" [A-Z] (\w+)@@?(?:IBVERBS_1|RDMACM_1|RDMACM_EXTRA)[._]\d+$", table, re.M)
        return {name.lstrip("_") for name in names}

    @cached_property
    def later(self):
        """Name -> reason of later.txt."""
        lines = [line for line in self.options.later.read_text().splitlines() if line and line[0] != "#"]
        return {line.split()[0]: " ".join(line.split()[1:]) for line in lines}

    @cached_property
    def names(self):
        """(name, section) of every name that has a page."""
        return {(name, page.section) for page in self.pages for name in page.names}

    def compile(self, *arguments, source):
        command = [self.options.cc, "-std=gnu11", "-xc", "-I", self.options.build / "include", *arguments, "-"]
        return run(command, input=source)


def run(command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)


def definitions(text):
    """Name -> words of each struct, union and enum that the text defines, without comments."""
    text = re.sub(r"/\*.*?\*/|\b__extension__\b", "", text, flags=re.S)
    found = re.findall(DEFINITION, text, re.S | re.M)
    return {name: (kind, *re.findall(r"\w+|\S", body)) for kind, name, body in found}


def check_symbols(context):
    """Every function has one page; every page's function or type exists."""
    real = (context.functions | context.exported) - PRIVATE
    owners = {}
    for page in context.pages:
        for name in set(page.names) - FAMILIES if page.section == "3" else []:
            owners.setdefault(name, []).append(str(page))
    if len(context.functions) < 100:
        yield f"only {len(context.functions)} functions found in the public headers"
    for name in sorted(real - owners.keys() - context.later.keys()):
        yield f"{name} has no page: add it to the NAME line of one in documentation/man"
    for name, pages in sorted(owners.items()):
        if name not in real and name not in context.types:
            yield f"{name} of {pages[0]} does not exist in the public headers or the libraries"
        if len(pages) > 1:
            yield f"{name} is in several pages: {', '.join(pages)}"
        if name in context.later:
            yield f"{name} has a page now: remove it from later.txt"
    for name, reason in sorted(context.later.items()):
        if name not in real:
            yield f"{name} of later.txt does not exist"
        if not reason:
            yield f"{name} of later.txt has no reason"


def check_programs(context):
    """Every program that gets installed has a page, with the options its help names."""
    for path in installed_programs(context):
        pages = [page for page in context.pages if path.name in page.names and page.section in "18"]
        if not pages:
            yield f"{path.name} is installed and has no page in section 1 or 8"
            continue
        said = run([path, "--help"], timeout=100)
        told = set(re.findall(r"\*\*(-[-\w]+)\*\*", pages[0].sections.get("OPTIONS", "")))
        for option in sorted(set(re.findall(r"(?<![\w-])(--?\w[-\w]*)(?=[ ,=\n])", said.stdout)) - told):
            yield f"{pages[0]}: OPTIONS does not explain {option} of {path.name}"


def installed_programs(context):
    """As the install scripts of the build have them."""
    found = set()
    for script in context.options.build.rglob("cmake_install.cmake"):
        lists = re.findall(r'DESTINATION "[^"]*/s?bin" TYPE (?:EXECUTABLE|PROGRAM) FILES ([^)]*)\)', script.read_text())
        found |= {Path(name) for names in lists for name in re.findall(r'"([^"]+)"', names)}
    return sorted(found)


def check_format(context):
    """Title block, order of sections, error names, references."""
    for page in context.pages:
        for complaint in [*page_title(page), *page_order(page), *page_errors(page), *page_references(context, page)]:
            yield f"{page}: {complaint}"


def page_title(page):
    for key, value in {"title": page.name, "section": page.section}.items():
        if page.title.get(key) != value:
            yield f"title block: {key} is {page.title.get(key)}, not {value}"
    if "header" not in page.title:
        yield "title block: no header"
    if page.name not in page.names:
        yield "its own name is not in the NAME line"


def page_order(page):
    if page.section not in ORDER:
        yield f"no order of sections is known for section {page.section}"
        return
    allowed, required = ([word.replace("_", " ") for word in words.split()] for words in ORDER[page.section])
    place = {title: allowed.index(title) if title in allowed else None for title in page.sections}
    if "*" in allowed:
        place = {title: allowed.index("*") if at is None else at for title, at in place.items()}
    for title in [title for title, at in place.items() if at is None]:
        yield f"section {title} is not one of {', '.join(allowed)}"
    known = [title for title, at in place.items() if at is not None]
    if known != sorted(known, key=place.get):
        yield f"sections are not in the order {', '.join(allowed)}"
    for title in required:
        if not page.sections.get(title, "").strip():
            yield f"section {title} is missing"
    if page.section == "3" and "\n## Threads\n" not in page.sections.get("NOTES", ""):
        yield "NOTES has no Threads paragraph"


def page_errors(page):
    for name in re.findall(r"^\*\*(E[A-Z0-9]+)\*\*$", page.sections.get("ERRORS", ""), re.M):
        if not hasattr(errno, name):
            yield f"{name} is no error number"


def page_references(context, page):
    for name, section in [ref for title in page.sections for ref in page.references(title)]:
        if (name, section) not in context.names and (name, int(section)) not in FOREIGN:
            yield f"refers to {name}({section}), which does not exist"
    if page.section in "138" and not page.references("SEE ALSO"):
        yield "SEE ALSO names no page"


def check_synopsis(context):
    """Prototypes and types of a page are the header's, and each name of its NAME line is among them."""
    # Macros that add arguments to those of the caller.
    prologue = HEADERS + "#undef ibv_reg_mr\n#undef ibv_reg_mr_iova\n"
    for page in context.pages:
        if page.section != "3":
            continue
        text = "".join(page.code("SYNOPSIS"))
        prototypes = re.sub(DEFINITION, "", text, flags=re.S | re.M)
        result = context.compile("-fsyntax-only", "-Wall", "-Werror", source=prologue + prototypes)
        if result.returncode:
            yield f"{page}: SYNOPSIS differs from the header\n{result.stderr}"
        told = definitions(text)
        for name in sorted(told):
            if told[name] != context.types.get(name):
                yield f"{page}: {told[name][0]} {name} of SYNOPSIS is not the header's"
        for name in set(page.names) - FAMILIES - told.keys():
            if not re.search(rf"\b{name}\(", text):
                yield f"{page}: {name} is not in SYNOPSIS"


def check_examples(context):
    """Each example is a whole translation unit that compiles."""
    for page in context.pages:
        blocks = page.code("EXAMPLE")
        if page.section == "3" and not blocks:
            yield f"{page}: EXAMPLE has no C code"
        for source in blocks:
            result = context.compile("-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", source=source)
            if result.returncode:
                yield f"{page}: an example does not compile\n{result.stderr}"


def check_environment(context):
    """libibverbs(7) has exactly the variables of util/env.c, and nothing reads another way than that file."""
    real = set(run([context.options.facts / "env_names"]).stdout.split())
    text = "".join(page.sections.get("ENVIRONMENT", "") for page in context.pages if str(page) == "libibverbs(7)")
    told = {name for line in re.findall(r"^\*\*[A-Z].*$", text, re.M) for name in re.findall(r"\*\*([A-Z_0-9]+)\*\*", line)}
    if not real:
        yield "the table of util/env.c is empty"
    for name in sorted(real - told):
        yield f"libibverbs(7): ENVIRONMENT does not explain {name}"
    for name in sorted(told - real):
        yield f"libibverbs(7): ENVIRONMENT explains {name}, which nothing reads"
    files = [path for folder in ("lib", "bin") for path in sorted((context.options.build / folder).glob("*"))]
    files = [path for path in files if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF"]
    if not files:
        yield "the build has neither libraries nor programs"
    for path in files:
        for name in re.findall(r" U (getenv|environ|__environ)\b", run(["nm", "-D", path]).stdout):
            yield f"{path.name} reads the environment by {name}, not by util/env.h: also in programs with privilege"


def told_transitions(text):
    """(type, from, to) -> (required, allowed), from the tables "Attributes of <type>"."""
    told = {}
    for kind, table in re.findall(r"^## Attributes of (\w+)\n(.*?)(?=^## |\Z)", text, re.S | re.M):
        for row in re.findall(r"^\| (.* to .*) \| (.*?) ?\| (.*?) ?\|$", table, re.M):
            for pair in row[0].split(", "):
                told[(kind, *pair.split(" to "))] = tuple(frozenset(words.split()) for words in row[1:])
    return told


def real_transitions(context):
    enum = re.search(r"enum ibv_qp_attr_mask \{(.*?)\}", context.declarations, re.S)[1]
    bits = {name: 1 << int(bit) for name, bit in re.findall(r"\bIBV_QP_(\w+) = 1 << (\d+)", enum)}
    real = {}
    for line in run([context.options.facts / "qp_transitions"]).stdout.splitlines():
        kind, cur, to, *masks = line.split()
        real[(kind, cur, to)] = tuple(frozenset(n for n, bit in bits.items() if int(m, 16) & bit) for m in masks)
    return real


def check_transitions(context):
    """The tables of ibv_modify_qp(3) are those the library checks by."""
    text = "".join(page.sections["DESCRIPTION"] for page in context.pages if page.name == "ibv_modify_qp")
    told, real = told_transitions(text), real_transitions(context)
    if not real:
        yield "qp_transitions prints nothing"
    for key in sorted(told.keys() | real.keys()):
        if told.get(key) != real.get(key):
            name = f"ibv_modify_qp(3): {key[0]} {key[1]} to {key[2]}"
            yield f"{name}: the page has {show_sets(told.get(key))}, the library {show_sets(real.get(key))}"


def show_sets(sets):
    return " and ".join(" ".join(sorted(words)) or "nothing" for words in sets) if sets else "no such transition"


def check_documents(context):
    """What README.md and documentation/ refer to exists: links, files, functions, options, tests."""
    tree = named.read_tree(TREE, context.options.build_tree)
    documents = read_documents(context.options.documents)
    if not documents:
        yield "there are no documents"
    yield from named.complaints_of_tables(tree, documents)
    places = {TREE / "README.md": ""}
    places |= {path: str("documentation" / path.relative_to(context.options.documents).parent) for path in documents}
    for path, near in places.items():
        yield from complaints_of_links(path, TREE / near)
        yield from named.complaints(tree, path, near)


def read_documents(folder):
    """Pages of the folder and of its folders, except the manual pages."""
    return [path for path in sorted(folder.rglob("*.md")) if path.relative_to(folder).parts[0] != "man"]


def complaints_of_links(path, folder):
    """Links to files, and to headings of pages, that do not exist."""
    for link, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", path.read_text()):
        # The documents may be a copy in another folder. A link within a page refers to that copy.
        target = folder / link if link else path
        if not target.exists():
            yield f"{path.name}: link to {link}, which does not exist"
        elif anchor and target.suffix == ".md" and anchor not in anchors_of(target.read_text()):
            yield f"{path.name}: link to {link}#{anchor}, a heading which does not exist"


def anchors_of(text):
    """What the headings of a page are called in links."""
    titles = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def check_built(context):
    """The build made a page or link for each name and nothing else."""
    folder = context.options.build / "man"
    wanted = {f"man{section}/{name}.{section}" for name, section in context.names}
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    there = files - {"index.db"}
    for name in sorted(wanted - there):
        yield f"{name} was not built"
    for name in sorted(there - wanted):
        yield f"{name} belongs to no page"
    for name in sorted(there & wanted):
        target = re.match(r"\.so (\S+)\n", (folder / name).read_text())
        if target and not (folder / target[1]).exists():
            yield f"{name} links to {target[1]}, which does not exist"


def check_index(context):
    """man -k knows each name: MANPATH is all that it takes."""
    if not shutil.which("apropos"):
        print("apropos is not installed")
        sys.exit(77)
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "MANPATH": str(context.options.build / "man")}
    result = run(["apropos", "--long", "."], env=environment)
    told = set(re.findall(r"^([\w.-]+) \((\d)\) ", result.stdout, re.M))
    if not told:
        yield f"apropos finds nothing: {result.stderr.strip()}"
        return
    for name, section in sorted(context.names - told):
        yield f"apropos does not find {name}({section})"
    for name, section in sorted(told - context.names):
        yield f"apropos finds {name}({section}), which no page has"


def check_lint(context):
    """groff formats every page without a warning."""
    if not shutil.which("groff"):
        print("groff is not installed")
        sys.exit(77)
    files = [path for path in sorted((context.options.build / "man").rglob("*.[1-8]")) if path.is_file()]
    pages = [path for path in files if not path.read_text().startswith(".so ")]
    if not pages:
        yield "no pages were built"
    for page in pages:
        result = run(["groff", "-t", "-man", "-Tutf8", "-w", "w", "-z", page])
        for line in result.stderr.splitlines():
            yield f"{page.name}: {line}"



CHECKS = {name[len("check_") :]: function for name, function in globals().copy().items() if name.startswith("check_")}


def parse_options(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("check", choices=CHECKS)
    parser.add_argument("--pages", type=Path, default=TREE / "documentation/man")
    parser.add_argument("--documents", type=Path, default=TREE / "documentation")
    parser.add_argument("--later", type=Path, default=TREE / "tests/contract/man/later.txt")
    parser.add_argument("--build", type=Path, default=TREE / "build")
    libraries = [TREE / "build/lib" / name for name in ("libibverbs.so.1", "librdmacm.so.1")]
    parser.add_argument("--build-tree", type=Path, default=TREE / "build", help="where ctest finds its tests")
    parser.add_argument("--library", type=Path, nargs="+", default=libraries)
    parser.add_argument("--facts", type=Path, default=TREE / "build/tests/contract/man", help="folder of env_names and qp_transitions")
    parser.add_argument("--cc", default="cc")
    return parser.parse_args(arguments)


def main():
    options = parse_options()
    complaints = list(CHECKS[options.check](Context(options)))
    print(*complaints, sep="\n", end="\n" if complaints else "")
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
