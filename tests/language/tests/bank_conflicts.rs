//! Conversions through shared memory have no bank conflicts beyond those of a vector's width.

use tilewright::Runtime;
use tilewright::tile_kernel;
use tilewright_core::{AsSlice, AsSliceMut, emulator, f16};
use tilewright_language_tests::everywhere::Number;

/// Tiles that are stored transposed, square and not, and one by rows of which threads have columns.
#[tile_kernel(types(T = [f32, f16, u8]), tune(warps = [4]), grid = [1])]
fn store_transposed<T: Element>(x: View<T, 2>, w: View<T, 2>, mut y: ViewMut<T, 2>, mut z: ViewMut<T, 2>) {
    y.store([0, 0], trans(x.tile([0, 0], [64, 64])));
    z.store([0, 0], trans(w.tile([0, 0], [32, 128])));
}

fn turned_of<T: Number>()
where
    (T,): store_transposed::Types,
{
    let x: Vec<T> = (0..4096).map(|i| T::of((i * 31 % 101) as f64)).collect();
    for seed in [0, 7] {
        let rt = Runtime::emulator_with(emulator::Options { seed, forbid_bank_conflicts: true, ..Default::default() });
        let (mut y, mut z) = (vec![T::of(0.0); 4096], vec![T::of(0.0); 4096]);
        let call = store_transposed::<T>(
            x.as_slice().as_slice_arg().strided([64, 64], [64, 1]).expect("fits"),
            x.as_slice().as_slice_arg().strided([32, 128], [128, 1]).expect("fits"),
            y.as_mut_slice().as_slice_mut_arg().strided([64, 64], [64, 1]).expect("fits"),
            z.as_mut_slice().as_slice_mut_arg().strided([128, 32], [32, 1]).expect("fits"),
        );
        rt.launch(call).unwrap_or_else(|e| panic!("{}: {e}", T::DTYPE.name()));
        assert!((0..4096).all(|i| y[i] == x[i % 64 * 64 + i / 64]), "{}", T::DTYPE.name());
        assert!((0..4096).all(|i| z[i] == x[i % 32 * 128 + i / 32]), "{}", T::DTYPE.name());
    }
}

#[test]
fn conversions_are_free_of_bank_conflicts() {
    turned_of::<f32>();
    turned_of::<f16>();
    turned_of::<u8>();
}
