use tilewright::{kernel::KernelDesc, tile_kernel, tile_module};

#[tile_kernel(types(T = [f32, f16]), tune(B = [64]), grid = [cdiv(x.len(), B)])]
fn scaled<T, const B: usize>(x: &[T], y: &mut [T], n: usize, a: f32) {
    let i = program_id(0) * B + arange(B);
    store(y, i, a * load(x, i).to::<f32>());
}

#[tile_kernel(types(T = [f32]), tune(B = [64]))]
fn no_grid<T, const B: usize>(x: &[T], y: &mut [T]) {
    store(y, arange(B), load(x, arange(B)));
}

#[tile_kernel(grid = [1])]
fn of_a_number(a: f32) {
    let b = a + true;
}

#[tile_kernel(tune(B = [64]))]
fn of_nothing<const B: usize>() {}

#[tile_module]
mod kernels {
    struct Unused;

    fn helper(f: impl Sized) {}

    #[tile_kernel(grid = [1])]
    pub fn unit(y: &mut [f32]) {
        store(y, 0, 1.0);
    }
}

fn generic<T: tilewright::kernel::Element>(x: &[T], y: &mut [T])
where
    (T,): scaled::Types,
{
    let _ = scaled(x, y, 3u32, 2.0);
}

// Constants are evaluated although a kernel has a mistake.
const OF_F16: &KernelDesc = scaled::DESCS[1];
static WITHOUT_GRID: &KernelDesc = no_grid::DESCS[0];

fn main() {
    let (x, mut y) = (vec![1.0f32; 64], vec![0.0f32; 64]);
    let _ = scaled(&x, &mut y, x.len(), 2.0);
    let _ = scaled::<f32>(&x, &mut y, 1usize, Default::default());
    let _ = no_grid(&x, &mut y);
    let _ = kernels::unit(&mut y);
    generic(&x, &mut y);
    let _ = of_a_number(1.0);
    let _ = of_nothing();
    let _: &[&KernelDesc] = scaled::DESCS;
}
