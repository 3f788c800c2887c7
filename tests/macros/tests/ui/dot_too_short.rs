use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(a: View<i8, 2>, b: View<i8, 2>, mut c: ViewMut<i32, 2>) {
    let x = a.tile([0, 0], [16, 16]);
    let y = b.tile([0, 0], [16, 16]);
    c.store([0, 0], dot(x, y, zeros::<i32>([16, 16])));
}

fn main() {}
