#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""usage: bindings.py COMPILER INCLUDE-FOLDER BUILDLIB-FOLDER OUTPUT

Write verbs.py: the enums, constants, structs and functions of verbs.h and verbs_more.h for Python's ctypes.

A struct ends before its first member with a type of the C library, for example a mutex. The library allocates such structs,
and a program only reads their first members.
"""
import ast
import os
import re
import shlex
import sys

HEADERS = ['infiniband/verbs.h', 'infiniband/verbs_more.h']

# In C this function is a macro that calls another one with a longer struct. libibverbs-ffi exports it with that struct.
PROTOTYPE_OF = {'ibv_query_port': '___ibv_query_port'}

BASIC = {
    'char': 'c_char', 'int': 'c_int', 'unsigned int': 'c_uint', 'size_t': 'c_size_t', 'ssize_t': 'c_ssize_t',
    'uintptr_t': 'c_size_t', 'bool': 'c_bool', '_Bool': 'c_bool',
    'uint8_t': 'c_uint8', 'uint16_t': 'c_uint16', 'uint32_t': 'c_uint32', 'uint64_t': 'c_uint64',
    '__u8': 'c_uint8', '__u16': 'c_uint16', '__u32': 'c_uint32', '__u64': 'c_uint64', '__s32': 'c_int32',
    '__aligned_u64': 'c_uint64', '__be16': 'c_uint16', '__be32': 'c_uint32', '__be64': 'c_uint64',
}

PROLOGUE = '''\
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The verbs of RDMA for Python: see libibverbs-ffi(7), and the manual page of each function.

Generated from infiniband/verbs.h and verbs_more.h. A function returns what it returns in C: ctypes.get_errno() has the errno.
"""
import ctypes
from ctypes import (POINTER, Structure, Union, c_bool, c_char, c_char_p, c_int, c_int32, c_long, c_size_t, c_ssize_t,
                    c_uint, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p)
from enum import IntEnum

lib = ctypes.CDLL('libibverbs-ffi.so.1', use_errno=True)


class timespec(Structure):
    """Of the C library."""
    _fields_ = [('tv_sec', c_long), ('tv_nsec', c_long)]


def _function(name, result, *arguments):
    """The function of the library, or None if an older library does not have it."""
    function = getattr(lib, name, None)
    if function:
        function.restype, function.argtypes = result, arguments
    return function

'''

EPILOGUE = '''
__all__ = [_name for _name in globals() if _name.lower().startswith(('ibv_', 'ib_', 'mult_', 'mbps_'))]
'''


class Unknown(Exception):
    """A type or a value that Python cannot have."""


class Values:
    """Constants: a C expression of numbers and of other constants is one of Python, without its suffixes."""

    def __init__(self):
        self.known = {}

    def evaluate(self, text):
        text = text.replace('< <', '<<').replace('> >', '>>')
        text = re.sub(r'\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b', r'\1', text)
        try:
            tree = ast.parse(text.strip(), mode='eval')
        except SyntaxError as error:
            raise Unknown(text) from error
        allowed = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Constant, ast.Name, ast.Load, ast.operator, ast.unaryop)
        if not all(isinstance(node, allowed) for node in ast.walk(tree)):
            raise Unknown(text)
        try:
            value = eval(compile(tree, text, 'eval'), {'__builtins__': {}}, self.known)  # pylint: disable=eval-used
        except (NameError, TypeError) as error:
            raise Unknown(text) from error
        if not isinstance(value, int):
            raise Unknown(text)
        return value

    def enumerators(self, tokens):
        """(name, value) of each enumerator between the braces."""
        found, value, entry = [], -1, []
        for token in tokens + [',']:
            if token != ',':
                entry.append(token)
            elif entry:
                value = self.evaluate(' '.join(entry[2:])) if len(entry) > 1 else value + 1
                self.known[entry[0]] = value
                found.append((entry[0], value))
                entry = []
        return found


class Module:
    """The text of verbs.py, in the order of the headers."""

    def __init__(self, abi):
        self.abi, self.values = abi, Values()
        self.enums, self.records, self.whole = {}, {}, {'timespec'}
        self.constants, self.functions, self.aliases = [], [], []

    def read(self, tokens, macros):
        for decl in self.abi.declarations(self.abi.without_attributes(tokens)):
            decl = [token for token in decl if token not in ('static', 'inline', 'extern', '__inline')]
            if decl[0] == 'enum' and '{' in decl:
                self.read_enum(decl)
            elif decl[0] in ('struct', 'union') and '{' in decl:
                self.read_record(decl)
            elif '(' in decl:
                self.functions.append(self.abi.declared(decl))
        for name, (has_params, body) in macros.items():
            if body in self.enums or body in self.records:
                self.aliases.append((name, body))
            elif not has_params and not name.startswith('_'):
                self.read_constant(name, body)

    def read_record(self, decl):
        """Structs of the kernel's commands have other members on 32 bits: programs see them as pointers."""
        body = decl.index('{')
        if not decl[1].startswith('ib_uverbs_'):
            self.records[decl[1]] = (decl[0], decl[body + 1:self.abi.closing(decl, body)])

    def read_constant(self, name, body):
        try:
            self.values.known[name] = self.values.evaluate(body)
            self.constants.append((name, self.values.known[name]))
        except Unknown:
            pass  # no number

    def read_enum(self, decl):
        body = decl.index('{')
        found = self.values.enumerators(decl[body + 1:self.abi.closing(decl, body)])
        if body == 2:
            self.enums[decl[1]] = found
        else:
            self.constants += found

    # ------------------------------------------------------------ types

    def named(self, words):
        """A type without pointers and arrays."""
        words = [word for word in words if word != 'const']
        if words[0] == 'enum':
            found = self.enums.get(words[1], [])
            return 'c_int' if any(value < 0 for _, value in found) else 'c_uint'
        if words[0] in ('struct', 'union'):
            if words[1] in self.whole:
                return words[1]
            raise Unknown(' '.join(words))
        if ' '.join(words) not in BASIC:
            raise Unknown(' '.join(words))
        return BASIC[' '.join(words)]

    def pointer(self, words, stars):
        """A type with so many pointers. What they point to may be incomplete."""
        words = [word for word in words if word != 'const']
        if words == ['void'] or words == ['char']:
            base, stars = ('c_void_p' if words == ['void'] else 'c_char_p'), stars - 1
        elif words[0] in ('struct', 'union'):
            base = words[1] if words[1] in self.records else None
            if not base:
                base, stars = 'c_void_p', stars - 1
        else:
            base = self.named(words)
        return 'POINTER(' * stars + base + ')' * stars

    def translate(self, type_):
        """The type of a member, an argument or a result."""
        if '(' in type_:
            return 'c_void_p'  # a pointer to a function
        type_, *sizes = type_.replace(']', '').split('[')
        stars, words = type_.count('*'), type_.replace('*', ' ').split()
        out = self.pointer(words, stars) if stars else self.named(words)
        for size in reversed(sizes):
            out += f' * {self.length(size)}'
        return out

    def length(self, text):
        return self.values.evaluate(text.replace('/', '//')) if text.strip() else 0

    def argument(self, type_):
        """An array as an argument is a pointer."""
        return self.translate(re.sub(r'\[[^]]*\]', '*', type_))

    # ------------------------------------------------------------ text

    def members(self, name, tokens):
        """The classes of nested structs, the fields, the names of anonymous fields, and whether this is all of them."""
        classes, fields, anonymous = [], [], []
        for decl in self.abi.declarations(tokens):
            if decl[0] in ('struct', 'union') and '{' in decl:
                body = decl.index('{')
                end = self.abi.closing(decl, body)
                field = decl[end + 1] if end + 1 < len(decl) else f'_{len(fields)}'
                if end + 1 == len(decl):
                    anonymous.append(field)
                inner = f'_{name}_{field}'.replace('__', '_')
                text, whole = self.record(inner, decl[0], decl[body + 1:end])
                if not whole:
                    return classes, fields, anonymous, False
                classes += text
                fields.append((field, inner))
                continue
            field, type_ = self.abi.declared(decl)
            try:
                fields.append((field, self.translate(type_)))
            except Unknown:
                return classes, fields, anonymous, False
        return classes, fields, anonymous, True

    def record(self, name, kind, tokens):
        """The lines of a class, after those of the classes inside of it."""
        classes, fields, anonymous, whole = self.members(name, tokens)
        base = 'Structure' if kind == 'struct' else 'Union'
        lines = [*classes, '', '', f'class {name}({base}):']
        if anonymous:
            lines.append(f'    _anonymous_ = {tuple(anonymous)!r}')
        lines += ['    _fields_ = [', *(f'        ({field!r}, {type_}),' for field, type_ in fields), '    ]']
        return lines, whole

    def write_enums(self):
        for name, found in self.enums.items():
            yield f'\n\nclass {name}(IntEnum):'
            yield from (f'    {constant} = {value}' for constant, value in found)
            yield f'\n\nglobals().update({name}.__members__)'
        yield ''
        yield from (f'{name} = {value}' for name, value in self.constants)

    def write_records(self):
        """A struct may point to one that is defined below: its fields are set after all classes exist."""
        late = []
        for name, (kind, tokens) in self.records.items():
            lines, whole = self.record(name, kind, tokens)
            base = 'Structure' if kind == 'struct' else 'Union'
            yield f'\n\nclass {name}({base}):\n    pass'
            if whole:
                self.whole.add(name)
            late.append((name, lines))
        yield ''
        for name, lines in late:
            yield from self.fields_later(name, lines)
        yield ''
        yield from (f'{name} = {target}' for name, target in self.aliases)

    @staticmethod
    def fields_later(name, lines):
        """Turn the class of the name into assignments to the class that exists."""
        at = next(i for i, line in enumerate(lines) if line.startswith(f'class {name}('))
        yield from lines[:at - 2]
        yield ''
        for line in lines[at + 1:]:
            yield f'{name}.{line.strip()}' if line.startswith('    _') else line[4:]

    def write_functions(self):
        types = dict(self.functions)
        for name in dict.fromkeys(name for name, _ in self.functions):
            if name.startswith(('_', 'verbs_')):
                continue
            result, arguments = re.fullmatch(r'(.*?) ?\((.*)\)', types[PROTOTYPE_OF.get(name, name)]).groups()
            words = [repr(name), 'None' if result == 'void' else self.translate(result)]
            for argument in [] if arguments == 'void' else arguments.split(','):
                words.append(self.argument(self.abi.declared(self.abi.TOKEN.findall(argument))[1]))
            yield f'{name} = _function({", ".join(words)})'


def main():
    compiler, include, buildlib, output = sys.argv[1:]
    sys.path.insert(0, buildlib)
    sys.dont_write_bytecode = True
    import abi_check  # pylint: disable=import-outside-toplevel
    module = Module(abi_check)
    module.read(*abi_check.preprocess(shlex.split(compiler), [f'-I{include}'], HEADERS, 'infiniband'))
    lines = [PROLOGUE.rstrip('\n'), *module.write_enums(), *module.write_records(), '\n', *module.write_functions()]
    text = '\n'.join(lines) + '\n' + EPILOGUE
    os.makedirs(os.path.dirname(output), exist_ok=True)
    with open(output, 'w', encoding='ascii') as file:
        file.write(text)


if __name__ == '__main__':
    main()
