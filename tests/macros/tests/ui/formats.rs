use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[u8], w: &[f32], d: &[f64], y: &mut [f32], z: &mut [u8], n: usize) {
    let i = arange(32);
    let (b, v) = (load(x, i), load(w, i));
    store(y, arange(64), unpack_e2m1(b, 0));
    store(y, arange(64), unpack_e2m1::<f64>(b, 0));
    store(y, arange(64), unpack_e2m1::<f32>(v, 0));
    store(y, arange(64), unpack_e2m1::<f32>(b, 1));
    store(y, arange(48), unpack_e2m1::<f32>(load(x, arange(24)), 0));
    store(z, arange(16), pack_e2m1(b, 0));
    store(z, arange(16), pack_e2m1(v.expand(1), 1));
    store(z, arange(12), pack_e2m1(load(w, arange(24)), 0));
    store(y, i, from_e8m0::<f32>(v));
    store(y, i, from_e8m0::<u32>(b));
    store(y, i, from_e8m0(b));
    store(z, i, to_e8m0(load(d, i)));
}

fn main() {}
