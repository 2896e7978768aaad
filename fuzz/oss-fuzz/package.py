#!/usr/bin/env python3
"""package.py BUILD OUT: copy the fuzz targets that were built to OUT, each with its seeds, its dictionary
and its options, under the names that OSS-Fuzz looks for."""
import glob
import json
import os
import shutil
import subprocess
import sys
import zipfile

INPUT_BYTES = 4096  # as tools/run-tests has it


def put_seeds(path, folders):
    """A zip archive of the files of the folders; OSS-Fuzz takes their names for nothing."""
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as archive:
        for folder in folders:
            for seed in sorted(glob.glob(os.path.join(folder, '*'))):
                if os.path.isfile(seed) and os.path.getsize(seed) <= INPUT_BYTES:
                    archive.write(seed, f'{os.path.basename(folder)}-{os.path.basename(seed)}')


def main():
    build, out = sys.argv[1:]
    said = subprocess.run(['meson', 'introspect', '--tests', build], stdout=subprocess.PIPE,
                          check=True).stdout
    copied = 0
    for test in json.loads(said):
        program, *folders = test['cmd']
        if not os.path.exists(program):  # PITOT_FUZZ_ONLY
            continue
        name = os.path.join(out, os.path.basename(program))
        shutil.copy(program, name)
        put_seeds(f'{name}_seed_corpus.zip', folders)
        if dictionary := test['env'].get('FUZZ_DICTIONARY'):
            shutil.copy(dictionary, f'{name}.dict')
        with open(f'{name}.options', 'w') as f:
            f.write(f'[libfuzzer]\nmax_len = {INPUT_BYTES}\n')
        copied += 1
    print(f'{copied} targets in {out}')
    return 0 if copied else 1


if __name__ == '__main__':
    sys.exit(main())
