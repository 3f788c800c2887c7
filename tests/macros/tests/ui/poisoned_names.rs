use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[f32], y: &mut [f32]) {
    fn helper(x: f32) -> f32 {
        x
    }
    let [a, b] = [1.0, 2.0];
    let mut acc = missing;
    acc += helper(a) + b;
    acc = acc * missing;
    store(y, arange(8), acc);
    static_assert!(1 > 2, "a block");
    store(y, arange(8), full([16], 1.0));
}

fn main() {}
