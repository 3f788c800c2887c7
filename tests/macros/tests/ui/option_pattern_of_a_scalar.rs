use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(n: f32, y: &mut [f32]) {
    if let Some(n) = n {
        store(y, 0, n);
    }
    match n {
        None => store(y, 0, 1.0),
        _ => store(y, 0, 2.0),
    }
}

fn main() {}
