use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(a: View<bf16, 2>, mut c: ViewMut<bf16, 2>) {
    let x = a.tile([0, 0], [32, 32]);
    let mut acc = zeros::<bf16>([32, 32]);
    acc = dot(x, x, acc);
    c.store([0, 0], acc);
}

fn main() {}
