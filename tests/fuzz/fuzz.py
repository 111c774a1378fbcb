"""Fuzz the import of capsules and of interface records.

Source: libFuzzer; atheris (https://github.com/google/atheris), which is used if it is installed;
otherwise bytes of the corpus are changed at random.

Usage: ``python tests/fuzz/fuzz.py [--seconds 20] [--seed N] [--plain] [FILE ...]``; files are tried
once each.  The current input is stored in ``tests/fuzz/last``, in case the process crashes.
"""

from __future__ import annotations

import argparse
import mmap
import random
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
LAST = HERE / "last"
LONGEST = 700  # [bytes]
EDGES = (0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 65, 127, 128, 254, 255)


def seeds() -> list[bytes]:
    """Return the corpus."""
    return [path.read_bytes() for path in sorted(CORPUS.iterdir())]


def read(path: Path) -> bytes:
    """Return the bytes of a file; the file of the last input starts with their number."""
    data = path.read_bytes()
    return data[2:][: int.from_bytes(data[:2], "little")] if path.name == LAST.name else data


def changed(data: bytes, others: list[bytes], chance: random.Random) -> bytes:
    """Return bytes that differ from `data` in one to eight places."""
    made = bytearray(data or b"\0")
    for _ in range(chance.randint(1, 8)):
        place, kind = chance.randrange(len(made)), chance.randrange(6)
        if kind == 0:
            made[place] ^= 1 << chance.randrange(8)
        elif kind == 1:
            made[place] = chance.choice(EDGES)
        elif kind == 2:
            made[place : place + 8] = chance.choice((-1, 1, 2**63 - 1, -(2**63), 2**40)).to_bytes(
                8, "little", signed=True
            )
        elif kind == 3:
            other = chance.choice(others)
            made[place:] = other[chance.randrange(len(other) or 1) :]
        elif kind == 4:
            made[place:place] = chance.randbytes(chance.randint(1, 9))
        else:
            del made[place : place + chance.randint(1, 9)]
        made = made or bytearray(1)
    return bytes(made[:LONGEST])


def fuzz_plainly(seconds: float, seed: int) -> int:
    """Try the corpus and random changes of it; return the number of inputs tried."""
    import inputs

    chance, corpus, tried = random.Random(seed), seeds(), 0  # noqa: S311 - no secret
    LAST.write_bytes(bytes(LONGEST + 2))
    with LAST.open("r+b") as file, mmap.mmap(file.fileno(), 0) as last:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            first = chance.choice(corpus)
            data = first if tried < len(corpus) else changed(first, corpus, chance)
            last[:2] = len(data).to_bytes(2, "little")
            last[2 : 2 + len(data)] = data
            inputs.try_one(data)
            tried += 1
    LAST.unlink(missing_ok=True)
    return tried


def fuzz_by_coverage(seconds: float) -> None:
    """Let atheris choose inputs by coverage of Python code; it ends the process."""
    import atheris

    with atheris.instrument_imports(include=["interchange"]):
        import inputs
    options = [f"-max_total_time={seconds:.0f}", f"-max_len={LONGEST}", f"-artifact_prefix={HERE}/"]
    found = tempfile.mkdtemp(prefix="interchange-fuzz-")  # input with new coverage, kept
    print(f"new inputs are put into {found}", flush=True)
    atheris.Setup([sys.argv[0], *options, found, str(CORPUS)], inputs.try_one)
    atheris.Fuzz()


def main() -> None:
    """Fuzz as given by the arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32)
    parser.add_argument("--plain", action="store_true", help="without atheris")
    parser.add_argument("files", nargs="*", type=Path)
    asked = parser.parse_args()
    if asked.files:
        import inputs

        for path in asked.files:
            inputs.try_one(read(path))
        return
    if not asked.plain:
        try:
            fuzz_by_coverage(asked.seconds)
        except ModuleNotFoundError as error:
            if error.name != "atheris":
                raise
    tried = fuzz_plainly(asked.seconds, asked.seed)
    print(f"{tried} inputs in {asked.seconds:g} s, seed {asked.seed}: nothing found")


if __name__ == "__main__":
    main()
