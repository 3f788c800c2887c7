use tilewright::tile_kernel;

#[tile_kernel(deterministic, tune(BLOCK = [64]), grid = [cdiv(x.len(), BLOCK)])]
unsafe fn k<const BLOCK: usize>(x: &[f32], y: &mut [f32]) {
    let now = asm("{{ .reg .u64 t; mov.u64 t, %globaltimer; add.u64 {0}, {1}, t; }}", 0u64, |x| x);
    store(y, program_id(0), now.to::<f32>() + sum(load(x, arange(BLOCK))));
}

fn main() {}
