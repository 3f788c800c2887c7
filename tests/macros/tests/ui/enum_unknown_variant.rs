use tilewright::tile_module;

#[tile_module]
mod kernels {
    enum Scheduler {
        Grid,
        Persistent,
    }

    #[tile_kernel(tune(SCHEDULER = [Persistent]), grid = [1])]
    fn in_a_kernel<const SCHEDULER: Scheduler>(y: &mut [f32]) {
        if SCHEDULER == Scheduler::StreamK {
            store(y, 0, 1.0);
        }
    }

    #[tile_kernel(tune(SCHEDULER = [Persistent]), grid = [1])]
    fn without_its_enum<const SCHEDULER: Scheduler>(y: &mut [f32]) {
        if SCHEDULER == Persistent {
            store(y, 0, 1.0);
        }
    }

    #[tile_kernel(tune(SCHEDULER = [Persistent]), grid = [1])]
    fn in_an_arm_that_is_not_taken<const SCHEDULER: Scheduler>(y: &mut [f32]) {
        match SCHEDULER {
            Scheduler::Persistent => store(y, 0, 1.0),
            Scheduler::Grit => store(y, 0, 2.0),
            _ => {}
        }
    }

    #[tile_kernel(tune(SCHEDULER = [Grid, StreamK]), grid = [1])]
    fn tuned<const SCHEDULER: Scheduler>(y: &mut [f32]) {
        store(y, 0, 1.0);
    }

    #[tile_kernel(kernel(one, SCHEDULER = Scheduler::StreamK), grid = [1])]
    fn given<const SCHEDULER: Scheduler>(y: &mut [f32]) {
        store(y, 0, 1.0);
    }

    #[tile_kernel(tune(SCHEDULER = [Grid]), grid = [if SCHEDULER == Scheduler::StreamK { 1 } else { 2 }])]
    fn in_a_grid<const SCHEDULER: Scheduler>(y: &mut [f32]) {
        store(y, 0, 1.0);
    }
}

fn main() {}
