#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""usage: complete.py INCLUDE-FOLDER HEADER-FOLDER... -- LIBRARY MAP

Hold a library for other languages against the public headers of the folders: each inline function, and each macro
that stands in for a function, is in its version script and in the library, and nothing else is. Then the same is
made wrong on purpose and has to be found.
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', '..', '..', 'buildlib'))
import abi_check  # noqa: E402

# Names that belong to the headers: those that begin with an underscore, and these.
OWN = {
    'htonll': 'obsolete: htobe64() of endian.h',
    'ntohll': 'obsolete: be64toh() of endian.h',
    'ibv_ofa_find': 'a step of the functions of ofa_verbs.h',
    'ibv_ofa_keep': 'a step of the functions of ofa_verbs.h',
    'ibv_ofa_open': 'a step of the functions of ofa_verbs.h',
}


def wanted(include, folders):
    names = set()
    for folder in folders:
        kind = os.path.basename(folder)
        for name in sorted(os.listdir(folder)):
            if not name.endswith('.h'):
                continue
            header = f'{kind}/{name}'
            tokens, macros = abi_check.preprocess(['gcc'], [f'-I{include}'], [header], '-' if kind == 'rdma' else kind)
            functions = abi_check.Api().read(tokens, {}).functions
            known = {function for function, _, _ in functions}
            names |= {function for function, _, inline in functions if inline}
            names |= {macro for macro, (has_params, _) in macros.items() if has_params and macro in known}
    return {name for name in names if not name.startswith('_') and name not in OWN}


def listed(text):
    text = re.sub(r'/\*.*?\*/', '', text, flags=re.S)
    return set(re.findall(r'^\s*(\w+);', text, re.M))


def problems(headers, script, library):
    out = [f'{name}: inline in a header, and not in the version script' for name in headers - script]
    out += [f'{name}: in the version script, and inline in no header' for name in script - headers]
    out += [f'{name}: in the version script, and not in the library' for name in script - library]
    return sorted(out + [f'{name}: in the library, and not in the version script' for name in library - script])


def main():
    at = sys.argv.index('--')
    include, *folders = sys.argv[1:at]
    library, path = sys.argv[at + 1:]
    exported = {key.split()[1] for key in abi_check.symbols(library)}
    with open(path, encoding='ascii') as file:
        script = listed(file.read())
    headers = wanted(include, folders)
    found = problems(headers, script, exported)
    for line in found:
        print(line, file=sys.stderr)
    one = {min(script)}
    for wrong in ((headers - one, script, exported), (headers, script - one, exported),
                  (headers, script, exported - one)):
        if not any(min(script) in line for line in problems(*wrong)):
            sys.exit('the comparison does not find what is missing')
    print(f'{os.path.basename(library)}: {len(script)} functions')
    return 1 if found or not script else 0


if __name__ == '__main__':
    sys.exit(main())
