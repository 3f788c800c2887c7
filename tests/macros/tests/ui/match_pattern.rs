use tilewright::tile_module;

#[tile_module]
mod kernels {
    enum Scheduler {
        Grid,
        Persistent,
    }

    #[tile_kernel(tune(SCHEDULER = [Grid]), grid = [1])]
    fn a_bare_variant<const SCHEDULER: Scheduler>(y: &mut [f32]) {
        match SCHEDULER {
            Grid => store(y, 0, 1.0),
            _ => {}
        }
    }

    #[tile_kernel(tune(SCHEDULER = [Grid]), grid = [1])]
    fn a_guard<const SCHEDULER: Scheduler>(y: &mut [f32], n: usize) {
        match SCHEDULER {
            Scheduler::Grid if n > 1 => store(y, 0, 1.0),
            _ => {}
        }
    }

    #[tile_kernel(tune(SCHEDULER = [Grid]), grid = [1])]
    fn a_float<const SCHEDULER: Scheduler>(y: &mut [f32]) {
        match SCHEDULER {
            f32::INFINITY => store(y, 0, 1.0),
            _ => {}
        }
    }

    #[tile_kernel(tune(SCHEDULER = [Grid]), grid = [1])]
    fn of_an_unknown_enum<const SCHEDULER: Scheduler>(y: &mut [f32]) {
        match SCHEDULER {
            Epilogue::Bias => store(y, 0, 1.0),
            _ => {}
        }
    }

    #[tile_kernel(tune(SCHEDULER = [Grid]), grid = [match SCHEDULER { f32::INFINITY => 1, _ => 2 }])]
    fn a_float_in_a_grid<const SCHEDULER: Scheduler>(y: &mut [f32]) {
        store(y, 0, 1.0);
    }
}

fn main() {}
