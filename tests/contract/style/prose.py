# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Sentences of comments and pages, and the patterns that make a reader go back.

A pattern is a hint, not a proof. A sentence is a riddle when it has a strong pattern and another one, or three weak
ones. documentation/style.md says how to write it instead.
"""
import re

VERB = (r"(?:is|are|was|were|be|has|have|had|goes|go|comes|came|come|does|do|did|says|said|gets|got|takes|took|needs|"
        r"wants|asks|waits|can|may|must|will|would|could|lies|stands|sends|receives|holds|arrives|fails|ends|looks|"
        r"reads|writes)")

STRONG = {
    # "Who listens shows it."
    "clause with who": r"(?:^|[.;:,(] |\b(?:and|or|but|of|to|for|by) )[Ww]ho(?:ever|m)? (?!to\b)[\w()`*]+",
    # "What of an entry is not plain."
    "clause with what": rf"(?:^|[.;:] |\b(?:of|and|beside|behind) )[Ww]hat(?:ever)? (?:\w+ ){{0,6}}?{VERB}\b(?!.*\?)",
    # "The lock is the program's."
    "bare genitive": (r"(?:\b(?:is|are|was|of|by|as|to|with|and|or|not|one|some) (?:\w+ ){0,2}?|, )"
                      r"(?:the |its |their |an? )?(?:\w+s'|\w+'s|his|theirs|ours|nobody's)"
                      r"(?=[.,;:)]|$| (?:own|again|alone|at|to|too|until|as|in|on|since|there|now|when|while|for)\b)"),
    # "those that", "one whose"
    "pronoun with clause": r"\b(?:those|the ones|that|one|none|some|others|all) "
                           r"(?:that|which|who|of which|of whom|of what|of those)\b",
    # "Of the device: ..." without a verb
    "no subject": r"^(?:Of|By|With|From|Under|Behind|Beside|To) (?:\w+ ){0,8}?\w+[.;,]?$"
                  r"|^(?:Of|To) (?:the|a|an|these|those|what|which)\b",
    # ", for it has none"
    "for as because": rf", for (?!example\b|instance\b|one\b[,.]|each\b|all\b)(?:\w+ ){{1,6}}?{VERB}\b",
}
WEAK = {
    "pronoun first": r"^(?:It|They|Those|These|One|Some|Others|Each|Both|That|Then|There|So|Such)\b"
                     r"(?! (?:is no|are no|is a|are \d))",
    "where as if": rf"(?:^|[;:,] )[Ww]here (?!\w+ (?:is|are) (?:stored|kept|defined)\b)(?:\w+ ){{1,8}}?{VERB}\b",
    "dim verb": r"\b(?:is|are|was|were|be|been|being) (?:had|said|told|looked (?:at|for)|asked for|waited for|heard|shown|"
                r"made|taken for|there|gone|over|meant|known)\b|\b(?:tells?|says?|hears?|knows?|speaks?) of\b|"
                r"\bto be had\b|\bhas (?:none|nothing|it)\b|\bdoes\.$",
    "nobody acts": r"\b(?:nobody|nothing|none|no one|nowhere)\b",
    "late adverb": r"\b(?:alike|likewise|once more|anew|meanwhile|beforehand|to and fro|in vain|of its own|of their own|"
                   r"of one's own|of old|by itself|by themselves|amid|lest|whose)\b",
    "alone": r"\b\w+ alone\b",
    "colon and list": r"^[^:]{3,60}: (?:\w+ ){0,12}?\w+[,;] .*[;,]",
}
STRONG = {name: re.compile(pattern) for name, pattern in STRONG.items()}
WEAK = {name: re.compile(pattern) for name, pattern in WEAK.items()}

COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', re.S)
LICENCE = re.compile(r"SPDX|[Cc]opyright|COPYRIGHT|[Ll]icen[sc]e|LICEN[SC]E")
END = re.compile(r"[.!?][\"')*`]*$")
ABBREVIATION = re.compile(r"^(?:e\.g|i\.e|etc|vs|vol|cf|No|Dr|[A-Z])\.$")


def riddle(sentence):
    """The patterns of a sentence that is a riddle; an empty list for any other."""
    if len(sentence.split()) < 4:
        return []
    strong = [name for name, pattern in STRONG.items() if pattern.search(sentence)]
    found = strong + [name for name, pattern in WEAK.items() if pattern.search(sentence)]
    return found if (strong and len(found) >= 2) or len(found) >= 3 else []


def sentences_of(paragraph):
    """Cut a paragraph of (line number, text) into sentences, each with the line it begins in."""
    begin, words = 0, []
    for number, text in paragraph:
        for word in text.split():
            if not words:
                begin = number
            words.append(word)
            if END.search(word) and not ABBREVIATION.match(word):
                yield begin, " ".join(words)
                words = []
    if words:
        yield begin, " ".join(words)


def comments(source):
    """The comments of C as (first line number, text); lines of // that follow each other are one."""
    whole = []
    for match in COMMENT.finditer(source):
        if match.group().startswith('"'):
            continue
        begin, end = match.span()
        if whole and match.group().startswith("//") and source[slice(*whole[-1])].startswith("//") \
                and not source[whole[-1][1]:begin].strip():
            begin = whole.pop()[0]
        whole.append((begin, end))
    for begin, end in whole:
        yield source.count("\n", 0, begin) + 1, source[begin:end]


def paragraphs(lines, ends):
    """Lines of (number, text) in paragraphs: ends(text) says which lines stand between two."""
    paragraph = []
    for number, text in lines:
        if ends(text):
            yield paragraph
            paragraph = []
        else:
            paragraph.append((number, text))
    yield paragraph


def c_sentences(source):
    for first, comment in comments(source):
        if LICENCE.search(comment):
            continue
        lines = [(first + i, re.sub(r"\*+/\s*$", "", re.sub(r"^\s*(/\*+|\*+/|\*|//+)", "", text)).strip())
                 for i, text in enumerate(comment.split("\n"))]
        for paragraph in paragraphs(lines, lambda text: not text or re.match(r"@|[-=*_#]{2,}|\\", text)):
            yield from sentences_of(paragraph)


def page_lines(text):
    """Lines of Markdown that are prose, '' between paragraphs; list items begin a paragraph."""
    code = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip().startswith("```"):
            code = not code
            line = ""
        stripped = line.strip()
        if code or line.startswith("    ") and not re.match(r"\s+\S", line[3:]) \
                or stripped.startswith(("#", "%", "---", "![", "<!", "|")):
            yield number, ""
            continue
        item = re.match(r"([-*:]|\d+\.)\s+", stripped)
        if item:
            yield number, ""
        yield number, stripped[item.end():] if item else stripped


def page_cells(text):
    """Cells of tables with eight words or more."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip().startswith("|") and not re.match(r"^[|\s:-]+$", line.strip()):
            for cell in line.strip().strip("|").split("|"):
                if len(cell.split()) >= 8:
                    yield from sentences_of([(number, cell.strip())])


def md_sentences(text):
    for paragraph in paragraphs(page_lines(text), lambda line: not line):
        yield from sentences_of(paragraph)
    yield from page_cells(text)


def file_riddles(path, text):
    """(line number, sentence, patterns) of each riddle in a C file or a page."""
    for number, sentence in (c_sentences if path.endswith((".c", ".h")) else md_sentences)(text):
        patterns = riddle(sentence)
        if patterns:
            yield number, sentence, patterns
