//! The compiler's output for four kernels, stage by stage. A change of it shows up in a review: `INSTA_UPDATE=always
//! cargo test -p tilewright-compiler --test snapshots` writes the new state.

use tilewright_compiler::{Libraries, Stage, show};
use tilewright_compiler::{MmaPath, Variant, Width};

const VECTOR_ADD: &str = "
#[tile_kernel(tune(BLOCK = [256], warps = [2]), grid = [cdiv(c.len(), BLOCK)])]
pub fn vector_add<const BLOCK: usize>(a: &[f32], b: &[f32], c: &mut [f32]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    store(c, i, load(a, i) + load(b, i));
}";

const ROW_SOFTMAX: &str = "
#[tile_kernel(tune(BLOCK = [256], warps = [2]), grid = [rows])]
pub fn row_softmax<const BLOCK: usize>(x: &[f32], y: &mut [f32], rows: usize, cols: usize) {
    let c = arange(BLOCK);
    let v = load(x, program_id(0) * cols + c).mask(c < cols).other(f32::NEG_INFINITY);
    let e = exp(v - max(v));
    store(y, program_id(0) * cols + c, e / sum(e)).mask(c < cols);
}";

const TRANSPOSE: &str = "
#[tile_kernel(tune(TILE = [16], warps = [2]), grid = [cdiv(x.dim(1), TILE), cdiv(x.dim(0), TILE)])]
pub fn transpose<const TILE: usize>(x: View<f32, 2>, mut y: ViewMut<f32, 2>) {
    let (r, c) = (program_id(1) * TILE, program_id(0) * TILE);
    y.store([c, r], trans(x.tile([r, c], [TILE, TILE])));
}";

const LAST_ARRIVER: &str = "
#[tile_kernel(tune(BLOCK = [128], warps = [2]), grid = [partials.len()])]
pub fn last_arriver<const BLOCK: usize>(x: &[f32], partials: &mut [f32], ticket: &mut [u32], y: &mut [f32]) {
    let mut acc = zeros::<f32>([BLOCK]);
    for start in range(program_id(0) * BLOCK, x.len(), num_programs(0) * BLOCK) {
        acc += load(x, start + arange(BLOCK));
    }
    store(partials, program_id(0), sum(acc));
    if atomic_add(ticket, 0, 1) == num_programs(0) as u32 - 1 {
        store(y, 0, sum(load(partials, arange(BLOCK))));
        store(ticket, 0, 0);
    }
}";

fn stages(text: &str, kernel: &str) -> String {
    let stage = |title: &str, aligned, stage| {
        let width = if aligned { Width::Vectors } else { Width::Elements };
        let shown =
            show(text, &Libraries::default(), kernel, None, None, Variant { width, mma: MmaPath::MmaSync }, stage)
                .expect(title);
        format!("==== {title}\n{}\n", shown.trim_end())
    };
    [
        stage("ir", true, Stage::Ir),
        stage("layout, aligned", true, Stage::Layout),
        stage("layout, general", false, Stage::Layout),
        stage("lowered, aligned", true, Stage::Rust),
        stage("lowered, general", false, Stage::Rust),
        stage("cpu", true, Stage::Cpu),
    ]
    .join("\n")
}

macro_rules! snapshots { ($($name:ident: $text:ident),* $(,)?) => { $(
    #[test]
    fn $name() {
        let shown = stages($text, stringify!($name));
        assert_eq!(shown, stages($text, stringify!($name)), "the same text gives the same code");
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(stringify!($name), shown);
        });
    }
)* } }

snapshots! { vector_add: VECTOR_ADD, row_softmax: ROW_SOFTMAX, transpose: TRANSPOSE, last_arriver: LAST_ARRIVER }
