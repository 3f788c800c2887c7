use tilewright::tile_module;

#[tile_module]
mod kernels {
    enum Scheduler {
        Grid,
        Persistent,
    }

    enum Epilogue {
        Bias,
        Persistent,
    }

    fn scheduled<const SCHEDULER: Scheduler>(y: &mut [f32]) {
        store(y, 0, 1.0);
    }

    #[tile_kernel(grid = [1])]
    fn const_argument(y: &mut [f32]) {
        scheduled::<{ Epilogue::Persistent }>(y);
    }

    #[tile_kernel(tune(SCHEDULER = [Grid]), grid = [1])]
    fn compared<const SCHEDULER: Scheduler>(y: &mut [f32]) {
        if SCHEDULER == Epilogue::Persistent {
            store(y, 0, 1.0);
        }
    }

    #[tile_kernel(tune(SCHEDULER = [Grid]), grid = [1])]
    fn ordered<const SCHEDULER: Scheduler>(y: &mut [f32]) {
        if SCHEDULER < Scheduler::Persistent {
            store(y, 0, 1.0);
        }
    }

    #[tile_kernel(tune(SCHEDULER = [Grid]), grid = [1])]
    fn compared_with_a_scalar<const SCHEDULER: Scheduler>(y: &mut [f32], n: u32) {
        if SCHEDULER == n {
            store(y, 0, 1.0);
        }
    }

    #[tile_kernel(tune(SCHEDULER = [Grid]), grid = [1])]
    fn matched<const SCHEDULER: Scheduler>(y: &mut [f32]) {
        match SCHEDULER {
            Epilogue::Bias => store(y, 0, 1.0),
            _ => {}
        }
    }

    #[tile_kernel(tune(SCHEDULER = [Epilogue::Persistent]), grid = [1])]
    fn tuned<const SCHEDULER: Scheduler>(y: &mut [f32]) {
        store(y, 0, 1.0);
    }

    #[tile_kernel(kernel(one, SCHEDULER = Epilogue::Persistent), grid = [1])]
    fn given<const SCHEDULER: Scheduler>(y: &mut [f32]) {
        store(y, 0, 1.0);
    }

    #[tile_kernel(tune(SCHEDULER = [Grid]), grid = [match SCHEDULER { Epilogue::Bias => 1, _ => 2 }])]
    fn in_a_grid<const SCHEDULER: Scheduler>(y: &mut [f32]) {
        store(y, 0, 1.0);
    }
}

fn main() {}
