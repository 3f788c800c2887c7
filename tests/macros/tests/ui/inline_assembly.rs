use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn safe(x: &[f32], y: &mut [f32]) {
    store(y, arange(64), asm("neg.f32 {0}, {1};", load(x, arange(64)), |x| -x));
}

#[tile_kernel(grid = [1])]
unsafe fn k(x: &[f32], b: &[u8], y: &mut [f32], n: usize) {
    let i = arange(64);
    let (t, u) = (load(x, i), load(b, i));
    store(y, i, asm("neg.f32 {0}, {1};", t));
    store(y, i, asm(n, t, |x| -x));
    store(y, i, asm("neg.f32 {0}, {1};", t, t));
    store(y, i, asm("neg.f32 {0}, {1};", u, |x| 0.0f32));
    store(y, i, asm("add.f32 {0}, {1}, {2};", (t, t > 0.0), |(a, b)| a));
    store(y, i, asm("add.f32 {0}, {1}, {2};", (t, load(x, arange(32))), |(a, b)| a + b));
    store(y, i, asm("mov.f32 {0}, {1};", (), |()| 1.0));
    store(y, i, asm("neg.f32 {0}, {2};", t, |x| -x));
    store(y, i, asm("neg.f32 {}, {1};", t, |x| -x));
    store(y, i, asm("neg.f32 {0}, {x};", t, |x| -x));
    store(y, i, asm("add.f32 {0}, {1}, {1};", (t, t), |(a, b)| a + b));
    store(y, i, asm("mov.f32 {1}, {1};", t, |x| x));
    store(y, i, asm("{ neg.f32 {0}, {1}; }", t, |x| -x));
    store(y, i, asm("{{ neg.f32 {0}, {1}; }", t, |x| -x));
    store(y, i, asm("L: neg.f32 {0}, {1};", t, |x| -x));
    store(y, i, asm("neg.f32 {0}, {1};", t, |x, y| -x));
    store(y, i, asm("neg.f32 {0}, {1};", t, |x| x > 0.0));
    store(y, i, asm("neg.f32 {0}, {1};", t, |x| t + x));
    store(y, i, asm("neg.f32 {0}, {1};", t, |x| x + sum(t)));
    store(y, i, asm("neg.f32 {0}, {1};", t, |x| x.to::<i32>()));
    store(y, i, inline_asm_elementwise("neg.f32 {0}, {1};", t));
}

fn main() {}
