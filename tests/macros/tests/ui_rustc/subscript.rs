use tilewright::{tile_kernel, tile_module};

#[tile_kernel(grid = [1])]
fn k(y: &mut [f32]) {
    let i = arange(64);
    store(y, i[:, None] + i[None, :], 1.0);
}

#[tile_module]
mod kernels {
    #[tile_kernel(grid = [1])]
    pub fn chosen(x: &[f32], y: &mut [f32]) {
        store(y, arange(8), tl.where(load(x, arange(8)) > 0.0, 1.0, 2.0));
    }
}

fn main() {
    let _ = k(&mut [0.0f32; 64][..]);
    let _ = kernels::chosen(&[0.0f32; 64][..], &mut [0.0f32; 64][..]);
}
