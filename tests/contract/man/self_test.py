#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prove that each check of check_man.py notices what it is for.

self_test.py <check> [options of check_man.py] breaks a copy of the pages (or of the build's output) one
way after another and fails unless the check complains about it, and about nothing on the copy itself.
"""

import re
import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
import check_man  # noqa: E402


# The checks that compile examine only the pages that their cases break.
FEW = {
    "synopsis": ["ibv_alloc_pd.3.md", "ibv_poll_cq.3.md", "ibv_reg_mr.3.md"],
    "examples": ["ibv_alloc_pd.3.md"],
}


class Copy:
    """What a check looks at, in a folder of its own."""

    def __init__(self, options, folder):
        self.pages = folder / "pages"
        self.build = folder / "build"
        self.later = folder / "later.txt"
        self.options = options
        self.pages.mkdir()
        for name in FEW.get(options.check) or [path.name for path in options.pages.glob("*.md")]:
            shutil.copy(options.pages / name, self.pages)
        shutil.copy(options.later, self.later)
        self.documents = folder / "documents"
        self.documents.mkdir()
        # The cases change this page.
        for path in options.documents.glob("abi.md"):
            shutil.copy(path, self.documents)
        (self.documents / "uroce").mkdir()
        for path in options.documents.glob("uroce/*.md"):
            shutil.copy(path, self.documents / "uroce")
        self.build.mkdir()
        for name in ("include", "bin"):
            (self.build / name).symlink_to(options.build / name)
        if (options.build / "man").exists():
            shutil.copytree(options.build / "man", self.build / "man")

    def complaints(self, check):
        options = check_man.argparse.Namespace(**vars(self.options))
        options.pages, options.build, options.later = self.pages, self.build, self.later
        options.documents = self.documents
        return "\n".join(check_man.CHECKS[check](check_man.Context(options)))

    def edit(self, page, old, new):
        path = self.pages / f"{page}.md"
        text = path.read_text()
        changed = re.sub(old, new, text, count=1, flags=re.S | re.M)
        assert changed != text, f"{page}: nothing matches {old}"
        path.write_text(changed)

    def reader(self):
        """A program that reads a variable whatever privilege it has."""
        (self.build / "lib").mkdir()
        source = "#include <stdlib.h>\nint main(void) { return !getenv(\"HOME\"); }\n"
        check_man.run([self.options.cc, "-x", "c", "-o", self.build / "lib/reader", "-"], input=source)

    def install(self, name, usage):
        """A program of this name that prints @usage."""
        program = self.build / name
        program.write_text(f"#!/bin/sh\necho '{usage}'\n")
        program.chmod(0o755)
        script = f'file(INSTALL DESTINATION "${{CMAKE_INSTALL_PREFIX}}/bin" TYPE EXECUTABLE FILES "{program}")\n'
        (self.build / "cmake_install.cmake").write_text(script)


# check -> (the change of the copy, the expected complaint of the check)
CASES = {
    "symbols": [
        (lambda c: c.edit("ibv_open_device.3", "ibv_open_device, ibv_close", "ibv_close"), "ibv_open_device has no page"),
        (lambda c: c.edit("ibv_alloc_pd.3", "^ibv_alloc_pd,", "ibv_alloc_pd, ibv_frobnicate,"), "ibv_frobnicate .* not exist"),
        (lambda c: c.edit("ibv_alloc_pd.3", "^ibv_alloc_pd,", "ibv_alloc_pd, ibv_open_device,"), "is in several pages"),
        (lambda c: c.later.write_text("ibv_alloc_pd reason\n"), "ibv_alloc_pd has a page now"),
        (lambda c: c.later.write_text("ibv_frobnicate reason\n"), "ibv_frobnicate of later.txt does not exist"),
        (lambda c: c.later.write_text("ibv_alloc_pd\n"), "ibv_alloc_pd of later.txt has no reason"),
    ],
    "programs": [
        (lambda c: c.install("ibv_frobnicate", ""), "ibv_frobnicate is installed and has no page"),
        (lambda c: c.install("ibv_devinfo", "  -z, --zebra   stripes"), "OPTIONS does not explain --zebra"),
        (lambda c: c.install("ibv_devinfo", "  -z, --zebra   stripes"), "OPTIONS does not explain -z of ibv_devinfo"),
    ],
    "format": [
        (lambda c: c.edit("ibv_alloc_pd.3", "^title: .*?$", "title: other"), "title block: title"),
        (lambda c: c.edit("ibv_alloc_pd.3", "^header: .*?\n", ""), "no header"),
        (lambda c: c.edit("ibv_alloc_pd.3", "^# RETURN VALUE", "# RESULT"), "section RESULT is not one of"),
        (lambda c: c.edit("ibv_alloc_pd.3", "^# RETURN VALUE.*^# ERRORS", "# ERRORS"), "RETURN VALUE is missing"),
        (lambda c: c.edit("ibv_alloc_pd.3", "(^# DESCRIPTION.*)(^# NOTES.*)(^# EXAMPLE)", r"\2\1\3"), "not in the order"),
        (lambda c: c.edit("ibv_alloc_pd.3", "^## Threads", "## Locks"), "no Threads paragraph"),
        (lambda c: c.edit("ibv_alloc_pd.3", r"^\*\*ENOMEM\*\*$", "**ENOMEMORY**"), "ENOMEMORY is no error number"),
        (lambda c: c.edit("ibv_alloc_pd.3", r"\*\*ibv_reg_mr\*\*\(3\)", "**ibv_rag_mr**(3)"), r"refers to ibv_rag_mr\(3\)"),
        (lambda c: c.edit("ibv_alloc_pd.3", "^ibv_alloc_pd, ", ""), "its own name is not"),
    ],
    "synopsis": [
        (lambda c: c.edit("ibv_alloc_pd.3", "^int ibv_dealloc_pd", "void ibv_dealloc_pd"), "SYNOPSIS differs"),
        (lambda c: c.edit("ibv_reg_mr.3", "size_t length, int access", "int length, int access"), "SYNOPSIS differs"),
        (lambda c: c.edit("ibv_poll_cq.3", "int num_entries", "long num_entries"), "SYNOPSIS differs"),
        (lambda c: c.edit("ibv_alloc_pd.3", r"^int ibv_dealloc_pd.*?\n", ""), "ibv_dealloc_pd is not in SYNOPSIS"),
        (lambda c: c.edit("ibv_poll_cq.3", "uint32_t byte_len", "uint64_t byte_len"), "ibv_wc of SYNOPSIS is not the header's"),
        (lambda c: c.edit("ibv_poll_cq.3", r"^\tuint32_t vendor_err;\n", ""), "ibv_wc of SYNOPSIS is not the header's"),
        (lambda c: c.edit("ibv_poll_cq.3", r"^struct ibv_wc \{.*?^\};\n", ""), "ibv_wc is not in SYNOPSIS"),
    ],
    "examples": [
        (lambda c: c.edit("ibv_alloc_pd.3", r"= ibv_dealloc_pd\(pd\)", "= ibv_dealloc_pd(context)"), "does not compile"),
        (lambda c: c.edit("ibv_alloc_pd.3", "^# EXAMPLE.*?^# SEE", "# EXAMPLE\n\nNone.\n\n# SEE"), "EXAMPLE has no C code"),
    ],
    "environment": [
        (lambda c: c.edit("libibverbs.7", r"^\*\*SYSFS_PATH\*\*", "**SYSFS**"), "does not explain SYSFS_PATH"),
        (lambda c: c.edit("libibverbs.7", r"^\*\*SYSFS_PATH\*\*", "**SYSFS_PATH**, **SYSFS**"), "explains SYSFS, which nothing"),
        (lambda c: c.reader(), "reader reads the environment by getenv"),
    ],
    "transitions": [
        (lambda c: c.edit("ibv_modify_qp.3", "PORT QKEY", "PORT"), "UD RESET to INIT: the page has"),
        (lambda c: c.edit("ibv_modify_qp.3", "AV PATH_MTU", "AV SQ_PSN PATH_MTU"), "RC INIT to RTR: the page has"),
        (lambda c: c.edit("ibv_modify_qp.3", r"^\| SQE to RTS.*?\n", ""), "the page has no such transition"),
        (lambda c: c.edit("ibv_modify_qp.3", "RTS to SQD", "RTR to SQD"), "the library no such transition"),
    ],
    "documents": [
        (lambda c: (c.documents / "abi.md").write_text("[x](nowhere.md)\n"), "abi.md: link to nowhere.md"),
        (lambda c: (c.documents / "abi.md").write_text("[x](testing.md#nothing)\n"), "abi.md: link to testing.md#nothing"),
        (lambda c: (c.documents / "abi.md").write_text("# X\n[x](#y)\n"), "abi.md: link to #y"),
        (lambda c: (c.documents / "uroce/udp.md").write_text("[x](abi.md)\n"), "udp.md: link to abi.md"),
        (lambda c: (c.documents / "uroce/udp.md").write_text("`util/nothing.c`\n"), "udp.md: util/nothing.c is neither"),
        (lambda c: (c.documents / "uroce/README.md").write_text("[x](documentation/abi.md)\n"), "README.md: link to documentation"),
        (lambda c: (c.documents / "abi.md").write_text("`util/nothing.c`\n"), "abi.md: util/nothing.c is neither"),
        (lambda c: (c.documents / "abi.md").write_text("`packaging/nowhere/`\n"), "abi.md: packaging/nowhere/ is neither"),
        (lambda c: (c.documents / "abi.md").write_text("`providers/uroce/nowhere/req.c`\n"), "nowhere/req.c is neither"),
        (lambda c: (c.documents / "abi.md").write_text("`nothing_at_all.c`\n"), "there is no file nothing_at_all.c"),
        (lambda c: (c.documents / "abi.md").write_text("`uverbs_write_off()`\n"), "uverbs_write_off is nowhere"),
        (lambda c: (c.documents / "abi.md").write_text("`UVERBS_METHOD_OF_NOBODY`\n"), "UVERBS_METHOD_OF_NOBODY is nowhere"),
        (lambda c: (c.documents / "abi.md").write_text("`--zebra-crossing`\n"), "nothing has the option"),
        (lambda c: (c.documents / "abi.md").write_text("`./dev undo`\n"), "./dev has no word undo"),
        (lambda c: (c.documents / "abi.md").write_text("    ./dev undo\n"), "./dev has no word undo"),
        (lambda c: (c.documents / "abi.md").write_text("    buildlib/run-vm --upside-down 6.1\n"), "run-vm has no option --upside-down"),
        (lambda c: (c.documents / "abi.md").write_text("    rdma-doctor --cure\n"), "rdma-doctor has no option --cure"),
        (lambda c: (c.documents / "abi.md").write_text("`man/symbol-minded`\n"), "man/symbol-minded is neither"),
        (lambda c: (c.documents / "abi.md").write_text("It is the test `kernel-footers`.\n"), "there is no test kernel-footers"),
        (lambda c: (c.documents / "abi.md").write_text("`ctest -R unit/test_nothing`\n"), "no test fits unit/test_nothing"),
        (lambda c: (c.documents / "abi.md").write_text("```c\nint r = uverbs_write_off(1);\n```\n"), "uverbs_write_off of an example"),
        (lambda c: (c.documents / "abi.md").write_text("    tests/hosts/vm/run-nothing 6.1\n"), "tests/hosts/vm/run-nothing does not exist"),
        (lambda c: (c.documents / "testing.md").write_text("| `tests/unit` | x |\n"), "testing.md: the table has no tests/device/"),
        (lambda c: (c.documents / "architecture.md").write_text("| `util/` | x |\n"), "architecture.md: the table has no packaging/"),
        (lambda c: (c.documents / "architecture.md").write_text("| `util/a/` | x |\n| `util/a/` | y |\n"), "has util/a twice"),
        (lambda c: shutil.rmtree(c.documents), "there are no documents"),
    ],
    "built": [
        (lambda c: (c.build / "man/man3/ibv_dealloc_pd.3").unlink(), "man3/ibv_dealloc_pd.3 was not built"),
        (lambda c: (c.build / "man/man3/old.3").write_text(".so man3/older.3\n"), "man3/old.3 belongs to no page"),
        (
            lambda c: (c.build / "man/man3/ibv_dealloc_pd.3").write_text(".so man3/older.3\n"),
            "ibv_dealloc_pd.3 links to man3/older.3",
        ),
    ],
    "index": [
        (lambda c: (c.build / "man/index.db").unlink(), "apropos finds nothing"),
        (lambda c: c.edit("ibv_alloc_pd.3", "^ibv_alloc_pd,", "ibv_alloc_pd, ibv_frobnicate,"), r"not find ibv_frobnicate\(3\)"),
        (lambda c: c.edit("ibv_alloc_pd.3", "^ibv_alloc_pd, ", ""), r"finds ibv_alloc_pd\(3\), which no page has"),
    ],
    "lint": [
        (lambda c: (c.build / "man/man3/ibv_poll_cq.3").write_text(".TH x 3\n.SH NAME\n.nosuchmacro\n"), "nosuchmacro"),
        (lambda c: shutil.rmtree(c.build / "man"), "no pages were built"),
    ],
}  # fmt: skip


def run_case(options, change, expected):
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(options, Path(folder))
        change(copy)
        said = copy.complaints(options.check)
        return None if re.search(expected, said) else f"expected: {expected}\nsaid: {said or 'nothing'}"


def main():
    options = check_man.parse_options()
    results = [run_case(options, change, expected) for change, expected in CASES[options.check]]
    failures = [result for result in results if result]
    # Otherwise a check that always complains would pass.
    failures += [f"on the untouched copy: {run_case(options, lambda copy: None, '^$')}"] if failures else []
    print(*failures, sep="\n", end="\n" if failures else "")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
