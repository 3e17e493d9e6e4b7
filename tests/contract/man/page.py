# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A manual page as its Markdown source has it."""

import re


class Page:
    """File <name>.<section>.md: title block, then first-level sections in order."""

    def __init__(self, path):
        self.path = path
        self.text = path.read_text()
        self.name, self.section = re.fullmatch(r"(.+)\.(\d)", path.stem).groups()
        self.title, body = self._split_title(self.text)
        self.sections = self._split_sections(body)
        self.names = self._split_names(self.sections.get("NAME", ""))

    def __str__(self):
        return f"{self.name}({self.section})"

    @staticmethod
    def _split_title(text):
        block = re.match(r"---\n(.*?)\n---\n", text, re.S)
        if not block:
            return {}, text
        return dict(re.findall(r"^(\w+): (.+)$", block[1], re.M)), text[block.end() :]

    @staticmethod
    def _split_sections(body):
        """Heading -> text below it; code blocks are no place for headings."""
        sections, current, fenced = {}, None, False
        for line in body.splitlines(keepends=True):
            if line.startswith("```"):
                fenced = not fenced
            heading = None if fenced else re.fullmatch(r"# (.+)\n", line)
            if heading:
                current = heading[1]
                sections[current] = sections.get(current, "")
            elif current:
                sections[current] += line
        return sections

    @staticmethod
    def _split_names(text):
        names, dash, _purpose = " ".join(text.split()).partition(" - ")
        return re.split(r",\s*", names) if dash else []

    def code(self, section):
        return re.findall(r"^```c\n(.*?)^```$", self.sections.get(section, ""), re.S | re.M)

    def references(self, section):
        """(name, section) of each **name**(section)."""
        return re.findall(r"\*\*([\w.-]+)\*\*\((\d)\)", self.sections.get(section, ""))


def read_pages(folder):
    return [Page(path) for path in sorted(folder.glob("*.md"))]
