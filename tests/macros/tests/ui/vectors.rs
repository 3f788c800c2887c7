use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn new(y: &mut [f32]) {
    let mut v = Vec::new();
    v.push(1.0);
    store(y, arange(8), v);
}

#[tile_kernel(grid = [1])]
fn by_macro(y: &mut [f32]) {
    let mut v = vec![0.0; 8];
    store(y, arange(8), v);
}

#[tile_kernel(grid = [1])]
fn by_type(y: &mut [f32]) {
    let v: Vec<f32> = zeros::<f32>([8]);
    store(y, arange(8), v);
}

fn main() {}
