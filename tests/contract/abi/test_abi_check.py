#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""usage: test_abi_check.py INCLUDE-FOLDER

Each difference that would break a program is made on purpose and has to be found by abi_check.py.
"""
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
CHECK = os.path.join(HERE, '..', '..', '..', 'buildlib', 'abi_check.py')
HEADERS = ['infiniband/verbs.h', 'infiniband/opcode.h', 'infiniband/sa.h', 'infiniband/tm_types.h']
INCLUDE = ''

SAMPLE = '''
#ifndef SAMPLE_H
#define SAMPLE_H
#define IBV_SAMPLE_LIMIT 7
enum ibv_sample_kind { IBV_SAMPLE_A, IBV_SAMPLE_B = 4 };
union ibv_sample_id {
	unsigned char raw[16];
	struct { unsigned long high; unsigned long low; } half;
};
struct ibv_sample {
	int first;
	short second;
	int (*act)(struct ibv_sample *sample, int how);
	__extension__ union {
		int third;
		unsigned int other;
	};
	union ibv_sample_id id;
};
int ibv_sample_act(struct ibv_sample *sample);
static inline int ibv_sample_one(void) { return 1; }
#endif
'''

# a change of the sample: the old text, the new text, and the key that the check must name
BREAKS = (
    ('\tint first;\n\tshort second;', '\tshort second;\n\tint first;', 'struct ibv_sample first'),
    ('\tshort second;', '\tint second;', 'type struct ibv_sample second'),
    ('\tshort second;', '\tunsigned short second;', 'type struct ibv_sample second'),
    ('\tshort second;', '', 'struct ibv_sample second: missing'),
    ('int how)', 'long how)', 'type struct ibv_sample act'),
    ('unsigned long low;', '', 'member union ibv_sample_id half.low: missing'),
    ('\tunion ibv_sample_id id;', '\tunion ibv_sample_id id;\n\tint more;', 'struct ibv_sample: is'),
    ('IBV_SAMPLE_B = 4', 'IBV_SAMPLE_B = 5', 'value IBV_SAMPLE_B: is 5, was 4'),
    (', IBV_SAMPLE_B = 4', '', 'value IBV_SAMPLE_B: missing'),
    ('LIMIT 7', 'LIMIT 8', 'value IBV_SAMPLE_LIMIT: is 8, was 7'),
    ('ibv_sample_act(struct ibv_sample *sample)', 'ibv_sample_act(const struct ibv_sample *sample)',
     'function ibv_sample_act'),
    ('int ibv_sample_act(struct ibv_sample *sample);', '', 'function ibv_sample_act: missing'),
    ('int ibv_sample_one(void)', 'long ibv_sample_one(void)', 'inline ibv_sample_one'),
    ('enum ibv_sample_kind {', 'enum ibv_sample_kind { IBV_SAMPLE_NEW = 9,',
     'value IBV_SAMPLE_NEW: new'),
)
HARMLESS = (
    ('struct ibv_sample *sample, int how', 'struct ibv_sample *self, int in_which_way'),
    ('IBV_SAMPLE_LIMIT 7', 'IBV_SAMPLE_LIMIT (3 + 4)'),
    ('static inline int ibv_sample_one(void) { return 1; }', 'int ibv_sample_one(void);'),
)

LIBRARY = '''
int ibv_plain(void) { return 0; }
int ibv_changed(void) { return 1; }
int ibv_changed_before(void) { return 2; }
__asm__(".symver ibv_changed_before,ibv_changed@IBVERBS_1.0");
int vendor_one(void) { return 3; }
int vendor_two(void) { return 4; }
int verbs_internal(void) { return 5; }
'''
MAP = ('IBVERBS_1.0 { global: ibv_plain; };\n'
       'IBVERBS_1.1 { global: ibv_changed; } IBVERBS_1.0;\n'
       'IBVERBS_PRIVATE_34 { global: vendor_one; vendor_two; };\n')
OWN_NODE = 'IBVERBS_PRIVATE_101 { global: verbs_*; local: *; };\n'
SYMBOL_BREAKS = (
    ('ibv_plain; };', 'ibv_none; };', 'IBVERBS_1.0 ibv_plain: missing'),
    ('ibv_changed; }', 'ibv_none; }', 'IBVERBS_1.1 ibv_changed: missing'),
    ('ibv_changed; }', 'ibv_changed; ibv_changed_before; }',
     'IBVERBS_1.1 ibv_changed_before: new'),
    ('IBVERBS_1.0 { global: ibv_plain;', 'IBVERBS_1.0 { global: ibv_changed; ibv_plain;',
     'IBVERBS_1.1 ibv_changed: missing'),
    # Others import a private node of the baseline. The library has the whole node, or none of it.
    ('vendor_two; }', '}', 'IBVERBS_PRIVATE_34 vendor_two: missing'),
    ('vendor_two; }', 'vendor_two; ibv_changed_before; }',
     'IBVERBS_PRIVATE_34 ibv_changed_before: new'),
)


def check(*arguments):
    done = subprocess.run([sys.executable, CHECK, *arguments], capture_output=True, text=True,
                          check=False)
    return done.returncode, done.stdout + done.stderr


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = folder.name

    def write(self, name, text):
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='ascii') as file:
            file.write(text)
        return path

    def edited(self, text, old, new):
        self.assertIn(old, text)
        return text.replace(old, new, 1)


class Layout(Folder):
    def setUp(self):
        super().setUp()
        self.write('old/infiniband/sample.h', SAMPLE)
        code, dump = check('layout', 'dump', 'infiniband/sample.h', '--include', self.path + '/old')
        self.assertEqual(code, 0, dump)
        self.baseline = self.write('sample.layout', dump)

    def compare(self, text, *more):
        self.write('new/infiniband/sample.h', text)
        return check('layout', 'compare', 'infiniband/sample.h', '--include', self.path + '/new',
                     '--baseline', self.baseline, *more)

    def test_same(self):
        self.assertEqual(self.compare(SAMPLE)[0], 0)

    def test_breaks(self):
        for old, new, key in BREAKS:
            with self.subTest(change=new or f'without {old}'):
                code, output = self.compare(self.edited(SAMPLE, old, new))
                self.assertEqual(code, 1, output)
                self.assertIn(key, output)

    def test_harmless(self):
        for old, new in HARMLESS:
            with self.subTest(change=new):
                code, output = self.compare(self.edited(SAMPLE, old, new))
                self.assertEqual(code, 0, output)

    def test_additions(self):
        grown = self.edited(SAMPLE, '\tunion ibv_sample_id id;',
                            '\tunion ibv_sample_id id;\n\tint more;')
        explained = self.write('additions', '# why\ngrows struct ibv_sample\n'
                               'new member struct ibv_sample more\n')
        self.assertEqual(self.compare(grown, '--additions', explained)[0], 0)
        # A struct that grows must not move or shrink members.
        for old, new, key in BREAKS[:4]:
            code, output = self.compare(self.edited(grown, old, new), '--additions', explained)
            self.assertEqual(code, 1, output)
            self.assertIn(key, output)

    def test_grows_at_front(self):
        grown = self.edited(SAMPLE, '\tint first;\n\tshort second;',
                            '\tlong more;\n\tint first;\n\tshort second;')
        explained = self.write('additions', 'fronts struct ibv_sample\n'
                               'new member struct ibv_sample more\n')
        self.assertEqual(self.compare(grown, '--additions', explained)[0], 0)
        # Each member keeps its distance from the end, and no member is lost.
        for old, new in (('\tint first;\n\tshort second;', '\tshort second;\n\tint first;'),
                         ('\tunion ibv_sample_id id;', '\tunion ibv_sample_id id;\n\tlong last;'),
                         ('\tshort second;', '')):
            code, output = self.compare(self.edited(grown, old, new), '--additions', explained)
            self.assertEqual(code, 1, output)
            self.assertIn('struct ibv_sample', output)

    def test_broken_header(self):
        code, output = self.compare('struct {')
        self.assertEqual(code, 2, output)

    def test_missing_package(self):
        code, output = self.compare(SAMPLE, '--installed', 'no-such-package=44')
        self.assertEqual(code, 77, output)
        self.assertIn('no-such-package=44 is not installed', output)

    def test_missing_compiler_target(self):
        code, output = self.compare(SAMPLE, '--cc', 'gcc -m12345')
        self.assertEqual(code, 77, output)
        self.assertIn('cannot compile a program here', output)


class NoCompiler(Folder):
    """A machine without the compiler, or without what its programs start with, skips the check."""

    def skips(self, compiler, reason):
        self.write('new/infiniband/sample.h', SAMPLE)
        code, output = check('layout', 'dump', 'infiniband/sample.h', '--include', self.path + '/new', '--cc', compiler)
        self.assertEqual((code, output.strip()), (77, f'skipped: {reason}'))

    def test_none(self):
        self.skips('no-such-gcc', 'no-such-gcc is not installed')

    def test_no_loader(self):
        compiler = 'gcc -Wl,--dynamic-linker=/nowhere/ld.so'
        self.skips(compiler, f'{compiler} cannot make a program that runs here')


class RealLayout(Folder):
    """The checked-in baseline, with one member shifted."""

    def test_shifted_member(self):
        with open(os.path.join(HERE, 'libibverbs-44.layout'), encoding='ascii') as file:
            text = file.read()
        baseline = self.write('shifted', self.edited(
            text, 'member struct ibv_wc byte_len = offset 20', 'member struct ibv_wc byte_len = offset 24'))
        code, output = check('layout', 'compare', *HEADERS, '--include', INCLUDE, '--baseline',
                             baseline, '--additions', os.path.join(HERE, 'libibverbs-additions'))
        self.assertEqual(code, 1, output)
        self.assertIn('member struct ibv_wc byte_len: is offset 20 size 4, was offset 24 size 4',
                      output)
        self.assertIn('1 difference(s)', output)


class Symbols(Folder):
    def build(self, version_map):
        self.write('library.c', LIBRARY)
        self.write('library.map', version_map + OWN_NODE)
        library = os.path.join(self.path, 'library.so')
        subprocess.run(['gcc', '-shared', '-fPIC', '-o', library, self.path + '/library.c',
                        f'-Wl,--version-script={self.path}/library.map'], check=True)
        return library

    def setUp(self):
        super().setUp()
        code, dump = check('symbols', 'dump', self.build(MAP))
        self.assertEqual(code, 0, dump)
        self.assertIn('IBVERBS_1.0 ibv_changed = old function', dump)
        self.assertIn('IBVERBS_1.1 ibv_changed = default function', dump)
        self.assertIn('IBVERBS_PRIVATE_34 vendor_two = default function', dump)
        # The baseline's library does not have the node of this tree.
        self.baseline = self.write('baseline', ''.join(
            line for line in dump.splitlines(True) if 'PRIVATE_101' not in line))

    def test_same(self):
        code, output = check('symbols', 'compare', self.build(MAP), '--baseline', self.baseline)
        self.assertEqual(code, 0, output)

    def test_breaks(self):
        for old, new, key in SYMBOL_BREAKS:
            with self.subTest(change=new):
                library = self.build(self.edited(MAP, old, new))
                code, output = check('symbols', 'compare', library, '--baseline', self.baseline)
                self.assertEqual(code, 1, output)
                self.assertIn(key, output)

    def test_doctored_list(self):
        with open(self.baseline, encoding='ascii') as file:
            text = file.read()
        for old, new in (('1.0 ibv_changed = old', '1.0 ibv_changed = default'),
                         ('ibv_plain', 'ibv_plane')):
            doctored = self.write('doctored', self.edited(text, old, new))
            code, output = check('symbols', 'compare', self.build(MAP), '--baseline', doctored)
            self.assertEqual(code, 1, output)

    def test_explained(self):
        library = self.build(self.edited(MAP, 'ibv_changed; }', 'ibv_changed; ibv_changed_before; }'))
        explained = self.write('additions', 'new symbol IBVERBS_1.1 ibv_changed_before\n')
        code, output = check('symbols', 'compare', library, '--baseline', self.baseline,
                             '--additions', explained)
        self.assertEqual(code, 0, output)


class Headers(Folder):
    def headers(self, text, name='sample.h'):
        self.write(f'infiniband/{name}', text)
        return check('headers', self.path + '/infiniband')

    def test_good(self):
        self.assertEqual(self.headers(SAMPLE)[0], 0)

    def test_bad(self):
        for text in ('uint64_t ibv_needs_stdint;\n', 'int *f(void *p);\nstatic inline int *g(void *p) '
                     '{ return p; }\n', 'struct ibv_empty { };\n', 'struct ibv_unguarded { int a; };\n'):
            with self.subTest(text=text):
                code, output = self.headers(text)
                self.assertEqual(code, 1, output)

    def test_parts(self):
        part = 'struct ibv_part;\nint ibv_part_act(struct ibv_part *part);\n'
        whole = '#include <infiniband/sample/one.h>\n#include <infiniband/sample/two.h>\n'
        self.write('infiniband/sample/one.h', part)
        self.write('infiniband/sample/two.h', part)
        code, output = self.headers(whole)
        self.assertEqual(code, 0, output)
        self.assertIn('3 headers', output)
        code, output = self.headers(whole.splitlines()[0])
        self.assertEqual(code, 1, output)
        self.assertIn('infiniband/sample/two.h: not included by infiniband/sample.h', output)
        self.headers(whole)
        code, output = self.headers('uint64_t ibv_needs_stdint;\n', 'sample/two.h')
        self.assertEqual(code, 1, output)
        self.assertIn('infiniband/sample/two.h as', output)


if __name__ == '__main__':
    INCLUDE = sys.argv.pop(1)
    unittest.main()
