use tilewright::tile_module;

#[tile_module]
mod kernels {
    fn f(n: usize, a: f32) -> f32 {
        if n > 1 { if a > 0.0 { return 1.0; } }
        if n > 1 { if a > 0.0 { return 1.0; } }
        if n > 1 { if a > 0.0 { return 1.0; } }
        if n > 1 { if a > 0.0 { return 1.0; } }
        if n > 1 { if a > 0.0 { return 1.0; } }
        if n > 1 { if a > 0.0 { return 1.0; } }
        if n > 1 { if a > 0.0 { return 1.0; } }
        if n > 1 { if a > 0.0 { return 1.0; } }
        if n > 1 { if a > 0.0 { return 1.0; } }
        if n > 1 { if a > 0.0 { return 1.0; } }
        if n > 1 { if a > 0.0 { return 1.0; } }
        if n > 1 { if a > 0.0 { return 1.0; } }
        if n > 1 { if a > 0.0 { return 1.0; } }
        if n > 1 { if a > 0.0 { return 1.0; } }
        if n > 1 { if a > 0.0 { return 1.0; } }
        if n > 1 { if a > 0.0 { return 1.0; } }
        2.0
    }

    #[tile_kernel(grid = [1])]
    fn k(y: &mut [f32], n: usize, a: f32) {
        store(y, 0, f(n, a));
    }
}

fn main() {}
