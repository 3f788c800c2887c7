use tilewright::tile_kernel;

#[tile_kernel(grid = [n / B])]
fn k(x: &[f32], y: &mut [f32], n: i32) {
    let i = program_id(0) * 64 + arange(64) + n;
    let v = load(x, i) * scale;
    let w = exp(v) + v;
    let (a, b) = (w, x[0]);
    for k in range(0, a, 8.0) {
        y.push(k);
    }
    if n > 3 {
        store(y, arange(64), expp(w));
        store(y, arange(64), scale);
    }
    store(y, arange(64), load(x, arange(32)));
}

fn main() {}
