//! Which sizes a conformance run uses: nothing, one, odd, powers of two and their neighbors, several programs.

/// How much a conformance run covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// For a slow backend: a covering subset.
    Few,
    /// The sizes that every commit runs on the CPU.
    Usual,
    /// Everything, larger arrays included.
    All,
    /// The table of edge values alone.
    EdgeValues,
}

// The last one is the only one for which an array that is read backwards has vectors.
const FEW: &[u64] = &[0, 1, 3, 129, 1025, 4099, 4096];
const USUAL: &[u64] = &[
    0, 1, 2, 3, 7, 31, 32, 33, 127, 128, 129, 511, 512, 513, 1000, 1023, 1024, 1025, 2047, 2048, 2049, 4095, 4097,
    10_007, 65_536, 100_003,
];
const LARGE: &[u64] = &[(1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3_000_001];

const SHAPES_FEW: &[[u64; 2]] = &[[0, 5], [1, 1], [3, 7], [33, 65], [64, 32]];
const SHAPES: &[[u64; 2]] = &[
    [0, 0],
    [0, 5],
    [5, 0],
    [1, 1],
    [1, 1000],
    [1000, 1],
    [3, 7],
    [31, 33],
    [32, 32],
    [33, 31],
    [63, 64],
    [65, 129],
    [64, 128],
    [127, 127],
    [128, 128],
    [200, 300],
    [257, 511],
];
const SHAPES_LARGE: &[[u64; 2]] = &[[1024, 1024], [1000, 1203], [1025, 1023]];

const ROWS_FEW: &[[u64; 2]] = &[[0, 5], [5, 0], [1, 1], [3, 7], [5, 64], [3, 781], [2, 1024], [1, 4097]];
const ROWS: &[[u64; 2]] = &[
    [0, 5],
    [5, 0],
    [1, 1],
    [7, 1],
    [3, 7],
    [17, 63],
    [16, 64],
    [9, 65],
    [5, 255],
    [4, 256],
    [3, 257],
    [33, 512],
    [5, 513],
    [4, 781],
    [4, 1023],
    [4, 1024],
    [3, 1025],
    [3, 2048],
    [2, 4095],
    [2, 4096],
    [2, 4097],
    [2, 8192],
    [2, 12_672],
    [2, 16_385],
    [1, 32_767],
    [2, 32_768],
    [2, 32_769],
    [1, 100_003],
];
const NORMS_FEW: &[[u64; 2]] = &[[0, 5], [5, 0], [1, 1], [3, 7], [5, 64], [1, 4097], [2, 8200]];
const NORMS: &[[u64; 2]] =
    &[[0, 5], [5, 0], [1, 1], [7, 1], [3, 7], [9, 65], [33, 512], [3, 1025], [2, 4096], [2, 17_001]];
const ROWS_LARGE: &[[u64; 2]] = &[[300, 781], [129, 1024], [40, 12_672], [3, 131_072], [2, 1_000_001]];

const CONV_FEW: &[[u64; 2]] = &[[0, 3], [5, 0], [1, 1], [9, 9], [300, 7], [700, 129]];
const CONV: &[[u64; 2]] = &[
    [0, 3],
    [5, 0],
    [1, 1],
    [2, 1],
    [9, 9],
    [100, 1],
    [100, 3],
    [129, 128],
    [1000, 31],
    [1000, 32],
    [1000, 33],
    [3000, 127],
    [3000, 128],
    [3000, 129],
    [5000, 511],
    [5000, 1024],
    [5000, 1025],
    [6000, 2047],
    [6000, 2049],
    [9000, 4099],
];
const CONV_LARGE: &[[u64; 2]] = &[[100_003, 2047], [60_000, 5000]];

const RAINBOW_FEW: &[[u64; 2]] = &[[0, 3], [1, 1], [3, 0], [1025, 2]];
const RAINBOW: &[[u64; 2]] =
    &[[0, 3], [1, 1], [3, 0], [33, 10], [511, 1], [512, 2], [513, 3], [1025, 7], [10_007, 10], [100_003, 2]];
const RAINBOW_LARGE: &[[u64; 2]] = &[[1_000_001, 10]];

const PRODUCTS_FEW: &[[u64; 3]] = &[
    [0, 3, 5],
    [3, 5, 0],
    [1, 1, 1],
    [5, 7, 3],
    [1, 70, 130],
    [70, 1, 40],
    [65, 63, 40],
    [129, 136, 72],
    [17, 64, 1000],
    // Rows that start at multiples of 4 bytes, not of 16.
    [36, 44, 20],
];
const PRODUCTS: &[[u64; 3]] = &[
    [0, 3, 5],
    [3, 0, 5],
    [3, 5, 0],
    [1, 1, 1],
    [5, 7, 3],
    [1, 257, 64],
    [257, 1, 65],
    [16, 8, 64],
    [64, 64, 64],
    [65, 63, 33],
    [127, 129, 40],
    [128, 256, 64],
    [128, 256, 128],
    [129, 257, 65],
    [256, 128, 63],
    [64, 64, 1],
    [130, 70, 200],
    [68, 76, 100],
    [255, 511, 31],
    [300, 208, 520],
    [33, 40, 4099],
    [1, 40, 4099],
    [40, 1, 300],
];
const PRODUCTS_LARGE: &[[u64; 3]] = &[
    [512, 512, 512],
    [1000, 1003, 999],
    [16, 2048, 2048],
    [2048, 2048, 64],
    [1111, 1024, 777],
    [1201, 1033, 1023],
    [1, 4096, 4096],
    [3001, 1, 2000],
];

const BATCHES_FEW: &[[u64; 4]] = &[[0, 3, 4, 5], [2, 3, 4, 0], [3, 5, 7, 9], [2, 65, 72, 40]];
const BATCHES: &[[u64; 4]] = &[
    [0, 3, 4, 5],
    [2, 0, 4, 5],
    [2, 3, 4, 0],
    [1, 1, 1, 1],
    [3, 5, 7, 9],
    [2, 65, 72, 40],
    [5, 64, 64, 64],
    [2, 129, 127, 65],
    [7, 33, 130, 16],
    [1, 200, 300, 100],
];
const BATCHES_LARGE: &[[u64; 4]] = &[[128, 64, 64, 64], [9, 257, 255, 513]];

// Groups, and the rows of all of them.
const GROUPS_FEW: &[[u64; 4]] = &[[0, 3, 4, 5], [3, 0, 4, 5], [2, 9, 4, 0], [3, 70, 72, 40], [2, 131, 9, 24]];
const GROUPS: &[[u64; 4]] = &[
    [0, 3, 4, 5],
    [2, 0, 4, 5],
    [2, 9, 4, 0],
    [1, 1, 1, 1],
    [3, 25, 7, 9],
    [4, 70, 72, 40],
    [5, 300, 264, 64],
    [40, 65, 64, 16],
    [2, 129, 127, 65],
    [1, 200, 300, 100],
];
const GROUPS_LARGE: &[[u64; 4]] = &[[64, 500, 256, 128], [8, 3000, 520, 512]];

// Tokens, rows of a table, columns.
const LOOKUPS_FEW: &[[u64; 3]] = &[[0, 3, 4], [5, 0, 4], [5, 3, 0], [1, 1, 1], [9, 5, 7], [33, 20, 64], [3, 40, 1032]];
const LOOKUPS: &[[u64; 3]] = &[
    [0, 3, 4],
    [5, 0, 4],
    [5, 3, 0],
    [1, 1, 1],
    [9, 5, 7],
    [70, 20, 63],
    [70, 20, 64],
    [33, 1000, 65],
    [33, 300, 256],
    [40, 300, 1000],
    [3, 40, 4097],
];
const LOOKUPS_LARGE: &[[u64; 3]] = &[[1000, 5000, 768], [300, 3000, 4096]];

// Tokens, heads, columns.
const TURNS_FEW: &[[u64; 3]] = &[[0, 3, 4], [2, 3, 0], [1, 1, 1], [3, 2, 7], [33, 3, 64], [4, 9, 128], [4, 1, 300]];
const TURNS: &[[u64; 3]] = &[
    [0, 3, 4],
    [2, 0, 4],
    [2, 3, 0],
    [1, 1, 1],
    [5, 1, 2],
    [6, 2, 7],
    [33, 3, 64],
    [40, 9, 96],
    [17, 8, 128],
    [4, 32, 128],
    [16, 2, 300],
    [3, 5, 514],
];
const TURNS_LARGE: &[[u64; 3]] = &[[1000, 32, 128], [513, 7, 80]];

const ATTENTION_FEW: &[[u64; 4]] = &[
    [0, 3, 4, 8],
    [2, 3, 0, 8],
    [2, 5, 7, 9],
    [2, 65, 200, 64],
    [4, 130, 129, 72],
    [6, 130, 65, 64],
    [6, 130, 65, 64],
    [8, 128, 65, 64],
    [4, 1, 200, 64],
    [8, 3, 300, 128],
    [1, 60, 100, 128],
    [1, 60, 100, 128],
    [1, 70, 300, 64],
];
const ATTENTION: &[[u64; 4]] = &[
    [0, 3, 4, 8],
    [2, 0, 4, 8],
    [2, 3, 0, 8],
    [2, 3, 4, 0],
    [1, 1, 1, 1],
    [2, 5, 7, 9],
    [2, 65, 200, 64],
    [4, 130, 129, 72],
    [2, 200, 65, 40],
    [1, 1, 300, 128],
    [6, 128, 128, 64],
    [2, 257, 384, 128],
    [1, 300, 520, 33],
    [8, 1, 700, 128],
    [8, 1, 130, 64],
    [4, 5, 300, 64],
    [16, 20, 200, 128],
    [1, 60, 100, 128],
    [1, 60, 100, 128],
    [8, 70, 700, 64],
    [1, 70, 300, 64],
];
// Of the fourth to the ninth, and on the emulator of those few with 6 and 8 heads of 128 queries or more, there are
// more blocks of queries than programs stay; from then on keys are shared. Every other one is causal.
const ATTENTION_LARGE: &[[u64; 4]] = &[
    [8, 1024, 1024, 64],
    [4, 1000, 1203, 128],
    [2, 64, 4096, 80],
    [64, 620, 300, 128],
    [128, 512, 256, 128],
    [96, 330, 130, 64],
    [88, 380, 130, 64],
    [96, 330, 130, 64],
    [64, 620, 300, 128],
    [32, 1, 8192, 128],
    [16, 7, 4096, 64],
    [16, 7, 4096, 128],
    [2, 600, 5000, 128],
    [1, 1, 100_000, 128],
    [128, 1, 3000, 100],
    [3, 64, 9000, 60],
];

/// The sizes of one operation.
pub(super) fn of(operation: &str, scope: Scope) -> Vec<Vec<u64>> {
    fn pick<const R: usize>(scope: Scope, few: &[[u64; R]], usual: &[[u64; R]], large: &[[u64; R]]) -> Vec<Vec<u64>> {
        let lists: &[&[[u64; R]]] = match scope {
            Scope::Few => &[few],
            Scope::Usual => &[usual],
            Scope::All => &[usual, large],
            Scope::EdgeValues => &[],
        };
        lists.iter().flat_map(|l| l.iter()).map(|s| s.to_vec()).collect()
    }
    let flat = |l: &[u64]| l.iter().map(|&n| [n]).collect::<Vec<_>>();
    match operation {
        "attention" => pick(scope, ATTENTION_FEW, ATTENTION, ATTENTION_LARGE),
        "batched_matmul" => pick(scope, BATCHES_FEW, BATCHES, BATCHES_LARGE),
        "grouped_matmul" | "grouped_matmul_nt" => pick(scope, GROUPS_FEW, GROUPS, GROUPS_LARGE),
        "gemm" | "matrix_multiplication" => pick(scope, PRODUCTS_FEW, PRODUCTS, PRODUCTS_LARGE),
        name if name.starts_with("matmul") => pick(scope, PRODUCTS_FEW, PRODUCTS, PRODUCTS_LARGE),
        "align_operand"
        | "align_operands"
        | "matrix_copy"
        | "color_inversion"
        | "matrix_transpose"
        | "count_2d_array_element" => pick(scope, SHAPES_FEW, SHAPES, SHAPES_LARGE),
        name if name.contains("_norm") || name.starts_with("cross_entropy") => {
            pick(scope, NORMS_FEW, NORMS, ROWS_LARGE)
        }
        "embedding" | "embedding_backward" => pick(scope, LOOKUPS_FEW, LOOKUPS, LOOKUPS_LARGE),
        name if name.starts_with("rope") => pick(scope, TURNS_FEW, TURNS, TURNS_LARGE),
        "softmax_rows_backward" => pick(scope, NORMS_FEW, NORMS, ROWS_LARGE),
        "softmax_rows" => pick(scope, ROWS_FEW, ROWS, ROWS_LARGE),
        "convolution_1d" => pick(scope, CONV_FEW, CONV, CONV_LARGE),
        "rainbow_table" => pick(scope, RAINBOW_FEW, RAINBOW, RAINBOW_LARGE),
        _ => pick(scope, &flat(FEW), &flat(USUAL), &flat(LARGE)),
    }
}
