"""Writes the tables of edge values: torch's results for NaN, infinities, signed zeros, subnormals, and empty inputs.

    python3 tests/edge_values operations | challenges [--device cuda | cpu] [--output PATH]

The conformance suite compares every backend with the table of operations, a test of `tests` with the one of public
challenges. Without --output the new table replaces the old one. A GPU's results count for operations, and a table
names the device that it was made on. Where this project differs from torch on purpose, a row holds both results and the
reason.
"""

import argparse, json, pathlib
import torch
import challenge_arrays, challenges, embeddings, products, table, vectors

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLES = {
    "operations": (ROOT / "conformance/src/edge_values/table.json", (*vectors.ALL, *embeddings.ALL, *products.ALL)),
    "challenges": (ROOT / "tests/edge_values/challenges.json", (*challenges.ALL, *challenge_arrays.ALL)),
}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("table", choices=TABLES)
    arguments.add_argument("--device", choices=("cuda", "cpu"), default="cuda" if torch.cuda.is_available() else "cpu")
    arguments.add_argument("--output", type=pathlib.Path)
    options = arguments.parse_args()
    torch.set_default_device(options.device)
    path, makers = TABLES[options.table]
    for make in makers:
        make()
    device = torch.cuda.get_device_name() if options.device == "cuda" else "CPU"
    lines = ",\n".join(json.dumps(r) for r in table.ROWS)
    source = json.dumps({"torch": torch.__version__, "device": device})
    output = options.output or path
    output.write_text(f'{{"source": {source}, "rows": [\n{lines}\n]}}\n')
    print(f"{output}: {len(table.ROWS)} rows, torch {torch.__version__} on {device}")


main()
