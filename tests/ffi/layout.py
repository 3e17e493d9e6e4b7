#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""usage: layout.py INCLUDE-FOLDER

The structs that rc_pingpong.py spells out are those of verbs.h.
"""
import ctypes
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', '..', 'buildlib'))
import abi_check  # noqa: E402
import rc_pingpong  # noqa: E402

# Of this the program names the first members only: the library makes it.
PART = {'ibv_qp'}
# What stands for the unions at the end.
FILLER = {('ibv_send_wr', 'rest'), ('ibv_gid', 'word')}


def main():
    ours = abi_check.layout(['gcc'], [f'-I{sys.argv[1]}'], ['infiniband/verbs.h'], 'infiniband')
    found = []
    for name, type_ in vars(rc_pingpong).items():
        if not isinstance(type_, type) or not issubclass(type_, (ctypes.Structure, ctypes.Union)):
            continue
        if not name.startswith('ibv_'):
            continue
        kind = 'union' if issubclass(type_, ctypes.Union) else 'struct'
        size = f'size {ctypes.sizeof(type_)} align {ctypes.alignment(type_)}'
        if name not in PART and ours.get(f'{kind} {name}') != size:
            found.append(f'{kind} {name}: {size}, should be {ours.get(f"{kind} {name}")}')
        for field, _ in type_._fields_:
            place = f'offset {getattr(type_, field).offset} size {getattr(type_, field).size}'
            if (name, field) not in FILLER and ours.get(f'member {kind} {name} {field}') != place:
                found.append(f'{name}.{field}: {place}, should be {ours.get(f"member {kind} {name} {field}")}')
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
