use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(a: View<i32, 2>, mut c: ViewMut<i32, 2>) {
    let x = a.tile([0, 0], [32, 32]);
    c.store([0, 0], dot(x, x, zeros::<i32>([32, 32])));
}

fn main() {}
