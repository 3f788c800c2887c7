"""Writes the table of edge values: torch's results for NaN, infinities, signed zeros, subnormals, and empty inputs.

    python3 tests/edge_values [--device cuda | cpu] [--output PATH]

The conformance suite compares every backend with this table. Without --output the new table replaces the one of the
conformance suite. A GPU's results count, and the table names the device that it was made on. Where this project differs
from torch on purpose, a row holds both results and the reason.
"""

import argparse, json, pathlib
import torch
import embeddings, products, table, vectors

TABLE = pathlib.Path(__file__).resolve().parents[2] / "conformance/src/edge_values/table.json"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--device", choices=("cuda", "cpu"), default="cuda" if torch.cuda.is_available() else "cpu")
    arguments.add_argument("--output", type=pathlib.Path, default=TABLE)
    options = arguments.parse_args()
    torch.set_default_device(options.device)
    for make in (*vectors.ALL, *embeddings.ALL, *products.ALL):
        make()
    device = torch.cuda.get_device_name() if options.device == "cuda" else "CPU"
    lines = ",\n".join(json.dumps(r) for r in table.ROWS)
    source = json.dumps({"torch": torch.__version__, "device": device})
    options.output.write_text(f'{{"source": {source}, "rows": [\n{lines}\n]}}\n')
    print(f"{options.output}: {len(table.ROWS)} rows, torch {torch.__version__} on {device}")


main()
