"""Writes the tables of edge values: torch's results for NaN, infinities, signed zeros, subnormals, and empty inputs.

    python3 tests/edge_values operations | challenges [--device cuda | cpu] [--add] [--output PATH]

The conformance suite compares every backend with the table of operations, a test of `tests` with the one of public
challenges. Without --output the new table replaces the old one. With --add the rows of the old one stay as they are,
and each new row names its device where it is another one. A GPU's results count for operations, and a table names the
device that it was made on. Where this project differs from torch on purpose, a row holds both results and the reason.
"""

import argparse, json, pathlib
import torch
import challenge_arrays, challenge_each_input, challenges, each_input, embeddings, products, table, vectors

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLES = {
    "operations": (
        ROOT / "conformance/src/edge_values/table.json",
        (*vectors.ALL, *embeddings.ALL, *products.ALL, *each_input.ALL),
    ),
    "challenges": (
        ROOT / "tests/edge_values/challenges.json",
        (*challenges.ALL, *challenge_arrays.ALL, *challenge_each_input.ALL),
    ),
}


def added(old, source):
    """The rows of a table, and behind them the new ones."""
    keys = "ops", "dtype", "name", "size", "runs"
    known = [[row.get(k) for k in keys] for row in old["rows"]]
    new = [row for row in table.ROWS if [row.get(k) for k in keys] not in known]
    return old["rows"] + [row if source == old["source"] else row | {"source": source} for row in new]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("table", choices=TABLES)
    arguments.add_argument("--device", choices=("cuda", "cpu"), default="cuda" if torch.cuda.is_available() else "cpu")
    arguments.add_argument("--add", action="store_true")
    arguments.add_argument("--output", type=pathlib.Path)
    options = arguments.parse_args()
    torch.set_default_device(options.device)
    path, makers = TABLES[options.table]
    for make in makers:
        make()
    device = torch.cuda.get_device_name() if options.device == "cuda" else "CPU"
    source, rows = {"torch": torch.__version__, "device": device}, table.ROWS
    if options.add:
        old = json.loads(path.read_text())
        rows = added(old, source)
        source = old["source"]
    types = {op: others for op, others in table.TYPES.items() if others}
    lines = ",\n".join(json.dumps(r) for r in rows)
    output = options.output or path
    output.write_text(f'{{"source": {json.dumps(source)}, "types": {json.dumps(types)}, "rows": [\n{lines}\n]}}\n')
    print(f"{output}: {len(rows)} rows, torch {torch.__version__} on {device}")


main()
