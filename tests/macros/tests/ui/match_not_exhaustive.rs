use tilewright::tile_module;

#[tile_module]
mod kernels {
    enum Scheduler {
        Grid,
        Persistent,
        StreamK,
    }

    #[tile_kernel(tune(SCHEDULER = [Grid]), grid = [1])]
    fn of_an_enum<const SCHEDULER: Scheduler>(y: &mut [f32]) {
        match SCHEDULER {
            Scheduler::Grid => store(y, 0, 1.0),
        }
    }

    #[tile_kernel(tune(BIAS = [true]), grid = [1])]
    fn of_a_bool<const BIAS: bool>(y: &mut [f32]) {
        match BIAS {
            true => store(y, 0, 1.0),
        }
    }

    #[tile_kernel(tune(KIND = [1]), grid = [1])]
    fn of_an_integer<const KIND: usize>(y: &mut [f32]) {
        match KIND {
            0 | 1 => store(y, 0, 1.0),
        }
    }

    #[tile_kernel(tune(SCHEDULER = [Grid]), grid = [match SCHEDULER { Scheduler::Grid => 1 }])]
    fn in_a_grid<const SCHEDULER: Scheduler>(y: &mut [f32]) {
        store(y, 0, 1.0);
    }
}

fn main() {}
