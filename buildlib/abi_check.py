#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compare what programs were built against with what this tree gives them.

  layout dump      print the layout of a set of headers: sizes, offsets, types, values
  layout compare   check a set of headers against such a file
  symbols dump     print the exported, versioned symbols of a library
  symbols compare  check a library against such a file
  headers          compile each header alone, as C99 and as C++11; does x.h include all of x/?

A baseline holds facts only, one a line. What this tree has beyond it stands in a file of explained
additions; anything else that differs is an error. Exit status: 0 same, 1 different, 2 cannot run,
77 nothing to compare with on this machine.
"""
import argparse
import fnmatch
import os
import re
import shlex
import subprocess
import sys
import tempfile

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[A-Za-z_]\w*|\d[\w.]*|\.\.\.|\S')
IDENT = re.compile(r'[A-Za-z_]\w*$')
EMULATOR = os.environ.get('ABI_EMULATOR')  # starts a cross compiler's programs, where the kernel cannot


class CannotRun(Exception):
    """The comparison could not be made; the text says why."""


class Skip(Exception):
    """This machine has nothing to compare with; the text says what is missing."""


def run(command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


# ---------------------------------------------------------------- reading headers

def preprocess(cc, include, headers, folder):
    """The tokens, and the macros, that come from `folder`, or from the named headers if it is -."""
    mine = tuple(f'/{h}' for h in headers)
    source = ''.join(f'#include <{h}>\n' for h in headers)
    done = run(cc + ['-E', '-dD', '-w'] + include + ['-x', 'c', '-'], source)
    if done.returncode:
        raise CannotRun(f'{shlex.join(cc)} cannot preprocess the headers:\n{done.stderr}')
    code, macros, inside = [], {}, False
    for line in done.stdout.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            inside = marker[1].endswith(mine) if folder == '-' else f'/{folder}/' in marker[1]
        elif not inside:
            continue
        elif line.startswith('#define '):
            name, params, body = re.match(r'#define (\w+)(\([^)]*\))?\s*(.*)', line).groups()
            macros[name] = (bool(params), body.strip())
        elif line.startswith('#undef '):
            macros.pop(line.split()[1], None)
        elif not line.startswith('#'):
            code.append(line)
    return TOKEN.findall('\n'.join(code)), macros


def closing(tokens, at):
    """Index of the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(tokens)):
        depth += {'(': 1, '{': 1, '[': 1, ')': -1, '}': -1, ']': -1}.get(tokens[i], 0)
        if not depth:
            return i
    raise CannotRun('unbalanced brackets')


def without_attributes(tokens):
    out, i = [], 0
    while i < len(tokens):
        if tokens[i] == '__attribute__':
            i = closing(tokens, i + 1) + 1
        elif tokens[i] == '__extension__':
            i += 1
        else:
            out.append(tokens[i])
            i += 1
    return out


def declarations(tokens):
    """Split into declarations: each a token list without its ; or function body."""
    start = i = 0
    while i < len(tokens):
        if tokens[i] == '{':
            is_body = tokens[i - 1] == ')'
            i = closing(tokens, i)
            if is_body:
                yield tokens[start:tokens.index('{', start)]
                start = i + 1
        elif tokens[i] in '([':
            i = closing(tokens, i)
        elif tokens[i] == ';':
            if i > start:
                yield tokens[start:i]
            start = i + 1
        i += 1


def spell(tokens):
    text = ' '.join(tokens)
    return re.sub(r' ([,)\]])', r'\1', re.sub(r'([(\[*]) ', r'\1', text))


def declared(tokens):
    """Name and type of one declarator: a type is the declaration without the name."""
    for i, token in enumerate(tokens):
        if token == '(':
            at = i + 2 if tokens[i + 1] == '*' else i - 1
            break
        if token == '[':
            at = i - 1
            break
    else:
        at = len(tokens) - 1
    if not IDENT.match(tokens[at]):
        raise CannotRun(f'cannot read the declaration: {spell(tokens)}')
    return tokens[at], spell(tokens[:at] + tokens[at + 1:])


class Api:
    """What a set of headers declares, before the compiler has evaluated it."""

    def __init__(self):
        self.records = []    # "struct x", "union y"
        self.members = []    # (record, path, type)
        self.enums = []      # tags
        self.values = []     # enumerators and macros that are numbers
        self.functions = []  # (name, type, inline?)
        self.defined = []    # other macros: they only have to exist
        self.aliases = []    # (macro, what it stands for)

    def read(self, tokens, macros):
        for decl in declarations(without_attributes(tokens)):
            inline = 'inline' in decl
            decl = [t for t in decl if t not in ('static', 'inline', 'extern', '__inline')]
            if decl[0] == 'enum' and '{' in decl:
                self.read_enum(decl)
            elif decl[0] in ('struct', 'union') and '{' in decl:
                tag = f'{decl[0]} {decl[1]}'
                self.records.append(tag)
                body = decl.index('{')
                self.read_members(tag, '', decl[body + 1:closing(decl, body)])
            elif '(' in decl:
                name, type_ = declared(decl)
                if name not in [f[0] for f in self.functions]:
                    self.functions.append((name, type_, inline))
        tags = {r.split()[1] for r in self.records} | set(self.enums)
        for name, (has_params, body) in macros.items():
            if has_params or not body or body == name or body.startswith(('__attribute__', 'inline')):
                self.defined.append(name)
            elif body in tags or body in [f[0] for f in self.functions]:
                self.aliases.append((name, body))
            else:
                self.values.append(name)
        return self

    def read_enum(self, decl):
        body = decl.index('{')
        if body == 2:
            self.enums.append(decl[1])
        expects_name = True
        for token in decl[body + 1:closing(decl, body)]:
            if expects_name and IDENT.match(token):
                self.values.append(token)
            expects_name = token == ','

    def read_members(self, record, prefix, tokens):
        for decl in declarations(tokens):
            if decl[0] in ('struct', 'union') and '{' in decl:
                body = decl.index('{')
                end = closing(decl, body)
                name = decl[end + 1] if end + 1 < len(decl) else None
                if name:
                    self.members.append((record, prefix + name, None))
                inner = prefix + name + '.' if name else prefix
                self.read_members(record, inner, decl[body + 1:end])
            else:
                name, type_ = declared(decl)
                self.members.append((record, prefix + name, type_))


# ---------------------------------------------------------------- evaluating with the compiler

def output_of(program):
    try:
        return run([program]).stdout
    except OSError:
        if EMULATOR:
            return run([EMULATOR, program]).stdout
        raise


def compile_and_run(cc, include, headers, body, extra=''):
    source = ''.join(f'#include <{h}>\n' for h in ['stddef.h', 'stdint.h', 'stdio.h'] + headers)
    source += extra + 'int main(void)\n{\n' + body + '\treturn 0;\n}\n'
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, 'probe')
        done = run(cc + ['-w', '-O0', '-o', program] + include + ['-x', 'c', '-'], source)
        if done.returncode:
            raise CannotRun(f'{shlex.join(cc)} cannot build the probe:\n{done.stderr}')
        return output_of(program).splitlines()


def layout(cc, include, headers, folder):
    """The layout as {key: value}; keys and values are the two halves of a baseline's line."""
    tokens, macros = preprocess(cc, include, headers, folder)
    api = Api().read(tokens, macros)
    lines, body = {}, ''
    for record in api.records:
        body += (f'\tprintf("{record}|size %zu align %zu\\n", sizeof({record}), '
                 f'_Alignof({record}));\n')
    for record, path, type_ in api.members:
        # An array at the end of a struct that has no size.
        size = '(size_t)0' if type_ and type_.endswith('[]') else f'sizeof((({record} *)0)->{path})'
        body += (f'\tprintf("member {record} {path}|offset %zu size %zu\\n", '
                 f'offsetof({record}, {path}), {size});\n')
        if type_:
            lines[f'type {record} {path}'] = type_
    for tag in api.enums:
        body += f'\tprintf("enum {tag}|size %zu\\n", sizeof(enum {tag}));\n'
    for name in api.values:
        body += f'\tprintf("value {name}|%lld\\n", (long long)({name}));\n'
    for name, type_, inline in api.functions:
        lines[f'{"inline" if inline else "function"} {name}'] = type_
    for name in api.defined:
        lines[f'macro {name}'] = 'defined'
    for name, target in api.aliases:
        lines[f'alias {name}'] = target
    for line in compile_and_run(cc, include, headers, body):
        key, value = line.split('|')
        lines[key] = value
    return lines


def same_types(cc, include, headers, pairs):
    """Which of the (type, type) pairs the compiler takes for the same type."""
    body = ''.join(f'\tprintf("%d\\n", __builtin_types_compatible_p({a}, {b}));\n'
                   for a, b in pairs)
    return [line == '1' for line in compile_and_run(cc, include, headers, body)]


# ---------------------------------------------------------------- files

def read_lines(path):
    with open(path, encoding='ascii') as file:
        for line in file:
            line = line.split('#')[0].rstrip()
            if line:
                yield line


def read_layout(path):
    return dict(line.split(' = ', 1) for line in read_lines(path))


def read_additions(path):
    """{kind: set of keys} of the explained additions."""
    out = {'new': set(), 'grows': set(), 'fronts': set(), 'differs': set(), 'missing': set()}
    for line in read_lines(path) if path else ():
        kind, name = line.split(' ', 1)
        if kind not in out:
            raise CannotRun(f'{path}: {kind} is not one of {", ".join(out)}')
        out[kind].add(name)
    return out


def report(problems, what):
    for problem in problems:
        print(f'  {problem}')
    print(f'{what}: {len(problems)} difference(s)' if problems else f'{what}: same')
    return 1 if problems else 0


# ---------------------------------------------------------------- layout

def moved_as_whole(key, old, new, base, ours, fronts):
    """A member of a struct that grows at its front: as far from the end as it was."""
    kind, *name = key.split()
    struct = ' '.join(name[:2])
    if kind != 'member' or struct not in fronts:
        return False
    added = int(ours[struct].split()[1]) - int(base[struct].split()[1])
    _, old_offset, *old_rest = old.split()
    _, new_offset, *new_rest = new.split()
    return int(new_offset) - int(old_offset) == added and old_rest == new_rest


def grew(old, new):
    """Sizes as in the baseline: larger now, and aligned as before."""
    old_size, new_size = (int(v.split()[1]) for v in (old, new))
    return new_size > old_size and old.split()[2:] == new.split()[2:]


def is_new(key, additions):
    """Is the key explained as new? The type of a member is explained with the member."""
    key = re.sub(r'^type ', 'member ', key)
    return any(fnmatch.fnmatchcase(key, pattern) for pattern in additions['new'])


def find(key, layouts):
    """A function may become inline, and an inline one a function."""
    kind, _, name = key.partition(' ')
    twin = {'inline': 'function', 'function': 'inline'}.get(kind)
    return layouts.get(key, layouts.get(f'{twin} {name}'))


def layout_problems(base, ours, additions, compatible):
    """`compatible` tells of a list of type pairs which ones are the same type."""
    problems, types = [], []
    for key, value in base.items():
        mine = find(key, ours)
        if mine is None:
            problems.append(f'{key}: missing, was {value}')
        elif mine == value or key in additions['differs']:
            continue
        elif key.split()[0] in ('type', 'function', 'inline'):
            types.append((key, value, mine))
        elif moved_as_whole(key, value, mine, base, ours, additions['fronts']):
            continue
        elif key not in additions['grows'] | additions['fronts'] or not grew(value, mine):
            problems.append(f'{key}: is {mine}, was {value}')
    for (key, value, mine), same in zip(types, compatible([t[1:] for t in types])):
        if not same:
            problems.append(f'{key}: is {mine}, was {value}')
    problems += [f'{key}: new, and not among the explained additions' for key in ours
                 if find(key, base) is None and not is_new(key, additions)]
    return problems


def require_compiler(cc):
    try:
        if run(cc + ['-fsyntax-only', '-x', 'c', '-'], '#include <stdio.h>\n').returncode:
            raise Skip(f'{shlex.join(cc)} cannot compile a program here')
    except FileNotFoundError as missing:
        raise Skip(f'{cc[0]} is not installed') from missing


def require_programs(cc):
    """A cross compiler may be there without what its programs need to start."""
    error = None
    try:
        if compile_and_run(cc, [], [], '\tputs("here");\n') == ['here']:
            return
    except (CannotRun, OSError) as failure:
        error = failure
    raise Skip(f'{shlex.join(cc)} cannot make a program that runs here') from error


def command_layout(args):
    cc = shlex.split(args.cc)
    include = [f'-I{i}' for i in args.include]
    require_compiler(cc)
    require_programs(cc)
    if args.installed and not installed(args.installed):
        raise Skip(f'{args.installed} is not installed')
    ours = layout(cc, include, args.headers, args.folder)
    if args.action == 'dump':
        for key, value in ours.items():
            print(f'{key} = {value}')
        return 0
    problems = layout_problems(
        read_layout(args.baseline), ours, read_additions(args.additions),
        lambda pairs: same_types(cc, include, args.headers, pairs))
    return report(problems, f'{" ".join(args.headers)} against {os.path.basename(args.baseline)}')


def installed(spec):
    """Is the package name=version installed? Versions are compared up to the revision."""
    name, version = spec.split('=')
    try:
        done = run(['dpkg-query', '-W', '-f', '${Version}', name])
    except FileNotFoundError:
        return False
    return done.returncode == 0 and re.split(r'[-.]', done.stdout)[0] == version


# ---------------------------------------------------------------- symbols

def symbols(library):
    """{"NODE name": "default function"} of what a library exports; node "none" is no version."""
    done = run(['nm', '-D', '--defined-only', library])
    if done.returncode:
        raise CannotRun(done.stderr)
    out = {}
    for line in done.stdout.splitlines():
        kind, name = line.split()[-2:]
        if kind == 'A':
            continue
        name, default, node = re.match(r'([^@]+)(@@?)?(.*)', name).groups()
        out[f'{node or "none"} {name}'] = (
            f'{"old" if default == "@" else "default"} '
            f'{"function" if kind in "TtWi" else "object"}')
    return out


def is_ours(key, base):
    """Is the name in a private node that the baseline does not know? Then nobody else imports it."""
    node = key.split()[0]
    return 'PRIVATE' in node and not any(known.startswith(f'{node} ') for known in base)


def symbol_problems(base, ours, additions):
    problems = []
    for key, value in base.items():
        absent = f'symbol {key}' in additions['missing']
        if key not in ours and not absent:
            problems.append(f'{key}: missing, was {value}')
        elif key in ours and absent:
            problems.append(f'{key}: is there, and among the explained absences')
        elif key in ours and ours[key] != value:
            problems.append(f'{key}: is {ours[key]}, was {value}')
    problems += [f'{key}: new, and not among the explained additions' for key in ours
                 if key not in base and not is_ours(key, base)
                 and not is_new(f'symbol {key}', additions)]
    return problems


def command_symbols(args):
    if args.action == 'dump':
        for key, value in sorted(symbols(args.library).items()):
            print(f'{key} = {value}')
        return 0
    problems = symbol_problems(read_layout(args.baseline), symbols(args.library),
                               read_additions(args.additions))
    return report(problems, f'{args.library} against {os.path.basename(args.baseline)}')


# ---------------------------------------------------------------- headers

LANGUAGES = (('gcc', ['-x', 'c', '-std=c99'], ['-x', 'c', '-std=gnu99']),
             ('g++', ['-x', 'c++', '-std=c++11'], ['-x', 'c++', '-std=gnu++11']))


def header_problems(folder, header):
    """Compile the header alone, twice in one program. An obsolete one, which warns, is held to less."""
    with open(os.path.join(folder, header), encoding='utf-8') as file:
        obsolete = '#warning' in file.read()
    problems = []
    for compiler, strict, lax in LANGUAGES:
        flags = lax + ['-Wno-cpp'] if obsolete else strict + ['-pedantic']
        command = [compiler, '-Wall', '-Wextra', '-Werror', '-fsyntax-only', f'-I{folder}']
        done = run(command + flags + ['-'], f'#include <{header}>\n' * 2)
        if done.returncode:
            problems.append(f'{header} as {flags[2]}:\n{done.stderr}')
    return problems


def part_problems(folder, headers):
    """A header x.h beside a folder x/ stands for all headers of that folder."""
    problems = []
    for whole in headers:
        parts = [header for header in headers if os.path.dirname(header) == whole[:-len('.h')]]
        if not parts:
            continue
        # -H prints a line for each header that is opened. Dots show its depth.
        done = run(['gcc', '-H', '-fsyntax-only', '-w', f'-I{folder}', '-x', 'c', '-'],
                   f'#include <{whole}>\n')
        opened = {os.path.relpath(line.lstrip('. '), folder)
                  for line in done.stderr.splitlines() if line.startswith('.')}
        problems += [f'{part}: not included by {whole}' for part in parts if part not in opened]
    return problems


def command_headers(args):
    """As installed: with the system's kernel headers, not the tree's, around them."""
    require_compiler(['gcc'])
    require_compiler(['g++', '-x', 'c++'])
    problems = []
    above = os.path.dirname(os.path.abspath(args.folder))
    names = sorted(os.path.relpath(os.path.join(folder, name), above)
                   for folder, _, files in os.walk(args.folder) for name in files if name.endswith('.h'))
    with tempfile.TemporaryDirectory() as stage:
        os.symlink(os.path.abspath(args.folder), os.path.join(stage, os.path.basename(args.folder)))
        for name in names:
            problems += header_problems(stage, name)
        problems += part_problems(stage, names)
    return report(problems, f'{len(names)} headers of {args.folder} alone')


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)

    sub = commands.add_parser('layout')
    sub.add_argument('action', choices=['dump', 'compare'])
    sub.add_argument('headers', nargs='+', help='as in #include <...>')
    sub.add_argument('--include', action='append', default=[], help='as -I')
    sub.add_argument('--folder', default='infiniband', help='whose declarations count; - for the named headers only')
    sub.add_argument('--cc', default='gcc')
    sub.add_argument('--installed', metavar='PACKAGE=MAJOR', help='skip without this package')
    sub.add_argument('--baseline')
    sub.add_argument('--additions')
    sub.set_defaults(command=command_layout)

    sub = commands.add_parser('symbols')
    sub.add_argument('action', choices=['dump', 'compare'])
    sub.add_argument('library')
    sub.add_argument('--baseline')
    sub.add_argument('--additions')
    sub.set_defaults(command=command_symbols)

    sub = commands.add_parser('headers')
    sub.add_argument('folder')
    sub.set_defaults(command=command_headers)

    args = parser.parse_args()
    try:
        return args.command(args)
    except Skip as reason:
        print(f'skipped: {reason}')
        return 77
    except CannotRun as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == '__main__':
    sys.exit(main())
