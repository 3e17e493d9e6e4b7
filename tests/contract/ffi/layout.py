#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""usage: layout.py INCLUDE-FOLDER FOLDER-OF-VERBS.PY

Compare the generated verbs.py with what the compiler says of verbs.h: sizes and offsets of structs, values of constants,
and the functions. Then change verbs.py in three ways, and see the comparison fail.
"""
import ctypes
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', '..', '..', 'buildlib'))
import abi_check  # noqa: E402

# The library allocates these structs. They have members of the C library's types, and Python has only the members
# in front of them.
PART = {'ibv_context', 'verbs_context', 'ibv_cq', 'ibv_cq_ex', 'ibv_qp', 'ibv_qp_ex', 'ibv_srq', 'ibv_wq'}
# Pointer types that are not addresses.
NO_NUMBER = {'IBV_ALLOCATOR_USE_DEFAULT', '__VERBS_ABI_IS_EXTENDED'}


def members(type_, prefix='', base=0):
    """(path, offset, size) of each member, those of nested structs included."""
    for name, member, *_ in getattr(type_, '_fields_', ()):
        place = getattr(type_, name)
        nested = member.__name__.startswith('_ibv') or member.__name__.startswith('_ib_')
        if name not in getattr(type_, '_anonymous_', ()):
            yield prefix + name, base + place.offset, place.size
            inner = f'{prefix}{name}.'
        else:
            inner = prefix
        if nested:
            yield from members(member, inner, base + place.offset)


def records(verbs):
    for name, type_ in vars(verbs).items():
        if isinstance(type_, type) and issubclass(type_, (ctypes.Structure, ctypes.Union)) and type_.__name__ == name:
            if not name.startswith('_') and name not in ('Structure', 'Union'):
                yield name, 'union' if issubclass(type_, ctypes.Union) else 'struct', type_


def told_by(verbs):
    """{key: value} as abi_check.layout() has them."""
    told = {}
    for name, kind, type_ in records(verbs):
        told[f'{kind} {name}'] = f'size {ctypes.sizeof(type_)} align {ctypes.alignment(type_)}'
        for path, offset, size in members(type_):
            told[f'member {kind} {name} {path}'] = f'offset {offset} size {size}'
    told |= {f'value {name}': str(int(value)) for name, value in vars(verbs).items() if isinstance(value, int)}
    return told


def is_private(kind, record):
    """Structs of the kernel's commands are not in verbs.py."""
    return record.startswith('_') or kind != 'value' and record.startswith('ib_uverbs_')


def problems(ours, verbs, told):
    found = []
    for key, value in ours.items():
        kind, *name = key.split()
        if kind == 'function' and not name[0].startswith(('_', 'verbs_')) and not callable(getattr(verbs, name[0], None)):
            found.append(f'{name[0]}: not in verbs.py')
        if kind not in ('struct', 'union', 'member', 'value'):
            continue
        record = name[1] if kind == 'member' else name[0]
        if told.get(key) == value or record in NO_NUMBER or is_private(kind, record):
            continue
        if record not in PART or kind == 'member' and key in told:
            found.append(f'{key}: {told.get(key)}, should be {value}')
    return found


def main():
    sys.path.insert(0, sys.argv[2])
    import verbs  # pylint: disable=import-outside-toplevel,import-error
    ours = abi_check.layout(['gcc'], [f'-I{sys.argv[1]}'], ['infiniband/verbs.h', 'infiniband/verbs_more.h'], 'infiniband')
    told = told_by(verbs)
    found = problems(ours, verbs, told)
    for line in found:
        print(line, file=sys.stderr)
    for key in ('struct ibv_wc', 'member struct ibv_send_wr wr.rdma.rkey', 'value IBV_QPS_RTS'):
        if not problems(ours, verbs, told | {key: 'wrong'}):
            sys.exit(f'the comparison does not notice a wrong {key}')
    print(f'verbs.py: {len(told)} sizes, offsets and values')
    return 1 if found or len(told) < 1000 else 0


if __name__ == '__main__':
    sys.exit(main())
