//! Optional parameters: a parameter that a call leaves out has no code.

use tilewright::{Buffer, Runtime, tile_kernel, tile_module};
use tilewright_core::f16;
use tilewright_language_tests::everywhere::everywhere;

#[tile_module]
mod kernels {
    fn scaled<T>(v: Tile<f32>, scale: Option<T>) -> Tile<f32> {
        match scale {
            Some(scale) => scale.to::<f32>() * v,
            None => v,
        }
    }

    /// `y = act(scale * x + bias)`, with the given parameters.
    #[tile_kernel(
        types(T = [f16]),
        tune(BLOCK = [64], warps = [1]),
        tune(BLOCK = [128], warps = [2]),
        grid = [cdiv(if let Some(n) = n { n } else { y.len() }, BLOCK)],
        requires = [bias.is_none() || if let Some(b) = bias { b.len() > 0 } else { true }],
        emulate = all,
    )]
    pub fn linear<T, const BLOCK: usize>(
        x: &[T],
        scale: Option<f32>,
        bias: Option<&[T]>,
        n: Option<usize>,
        saved: Option<ViewMut<f32, 2>>,
        y: &mut [T],
    ) {
        let i = program_id(0) * BLOCK + arange(BLOCK);
        let mut v = scaled(load(x, i).to::<f32>(), scale);
        if let Some(bias) = bias {
            v += load(bias, i % bias.len()).to::<f32>();
        }
        if let Some(mut saved) = saved {
            saved.store([0, program_id(0) * BLOCK], v.expand(0));
        }
        if scale.is_some() && bias.is_none() {
            v = maximum(v, 0.0);
        }
        match n {
            Some(n) => store(y, i, v.to(y.dtype())).mask(i < n),
            None => store(y, i, v.to(y.dtype())),
        }
    }
}
use kernels::linear;

/// Through a pointer that may be missing.
#[tile_kernel(grid = [1])]
unsafe fn load_optional_pointer(p: Option<*const f32>, y: &mut [f32]) {
    let i = arange(32);
    let v = if let Some(p) = p { load(p.add(i)).mask(i < y.len()) } else { full([32], -1.0) };
    store(y, i, v);
}

#[test]
fn every_combination_computes_what_it_has() {
    let x: Vec<f16> = (0..200).map(|i| f16::from_f32((i % 23) as f32 - 11.0)).collect();
    let bias = [0.5, -2.0, 4.0].map(f16::from_f32);
    assert_eq!(linear::DESCS.len(), 16);
    for (number, desc) in linear::DESCS.iter().enumerate() {
        let has = |bit: usize| number >> bit & 1 == 1;
        let (scale, n) = (has(0).then_some(-2.0f32), has(2).then_some(150usize));
        let with = |name: &str| desc.params.iter().any(|p| p.name == name);
        assert_eq!([with("scale"), with("bias"), with("n"), with("saved")], [has(0), has(1), has(2), has(3)]);
        everywhere(
            desc,
            |rt, options| {
                let mut y = vec![f16::from_f32(99.0); 200];
                let mut saved = Buffer::<f32>::zeros(rt, 200)?;
                let view = has(3).then(|| saved.view_mut([1, 200]).expect("200 elements"));
                let call = linear(&x, scale, has(1).then_some(&bias), n, view, &mut y);
                assert_eq!(call.desc().types, desc.types);
                rt.launch_with(rt.stream(), call, options)?;
                Ok((y, saved.to_vec()?))
            },
            |(y, saved), title| {
                for i in 0..200 {
                    let mut v = x[i].to_f32() * scale.unwrap_or(1.0);
                    v += if has(1) { bias[i % 3].to_f32() } else { 0.0 };
                    if i < n.unwrap_or(200) {
                        assert_eq!(saved[i], if has(3) { v } else { 0.0 }, "{title}: {i}");
                    }
                    let v = if has(0) && !has(1) { v.max(0.0) } else { v };
                    let wanted = if i < n.unwrap_or(200) { v } else { 99.0 };
                    assert_eq!(y[i].to_f32(), wanted, "{title}: {i}");
                }
            },
        );
    }
}

#[test]
fn nothing_is_passed_for_what_is_not_there() {
    let (x, ones) = ([1.0f32; 8], [f16::ONE; 8]);
    for rt in [Runtime::cpu(), Runtime::emulator(2)] {
        let mut y = [0.0f32; 8];
        let mut z = [f16::ZERO; 8];
        let none = linear(&ones, None, None::<&[f16]>, None, None::<tilewright_core::ViewMutArg<f32, 2>>, &mut z);
        assert_eq!((none.words().len(), none.desc().types), (4, "f16"));
        rt.launch(none).expect("it runs");
        assert_eq!(z, ones);
        // SAFETY: the pointer is valid for all elements that the mask leaves.
        rt.launch(unsafe { load_optional_pointer(Some(x.as_ptr()), &mut y[..4]) }).expect("it runs");
        // SAFETY: there is no pointer.
        rt.launch(unsafe { load_optional_pointer(None::<*const f32>, &mut y[4..]) }).expect("it runs");
        assert_eq!(y, [1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0]);
    }
}
