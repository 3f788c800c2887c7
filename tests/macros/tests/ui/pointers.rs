use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn in_safe_kernels(table: &[u64], y: &mut [f32]) {
    store(y, 0, load(load(table, 0) as *const f32));
}

#[tile_kernel(grid = [1])]
unsafe fn of_numbers(x: &[u32], y: &mut [f32]) {
    store(y, 0, load(load(x, 0) as *const f32));
}

#[tile_kernel(grid = [1])]
unsafe fn constant(address: u64) {
    store(address as *const f32, 1.0);
}

#[tile_kernel(grid = [1])]
unsafe fn made_mutable(address: u64) {
    let p = address as *const f32;
    store(p as *mut f32, 1.0);
}

#[tile_kernel(grid = [1])]
unsafe fn of_a_parameter(p: *mut f32) {
    store(p as *mut u32, 1u32);
}

#[tile_kernel(grid = [1])]
unsafe fn another_type(address: u64, other: u64, y: &mut [f32]) {
    let mut p = address as *const f32;
    p = other as *const i32;
    store(y, 0, load(p));
}

#[tile_kernel(grid = [1])]
unsafe fn with_an_index(address: u64, y: &mut [f32]) {
    let p = address as *const f32;
    store(y, 0, load(p, 1));
}

#[tile_kernel(grid = [1])]
unsafe fn view_of_a_slice(x: &[f32], y: &mut [f32]) {
    store(y, 0, sum(view(x, [4], [1]).tile([0], [4])));
}

#[tile_kernel(grid = [1])]
unsafe fn view_of_pointers(table: &[u64], y: &mut [f32]) {
    let p = load(table, arange(4)) as *const f32;
    store(y, 0, sum(p.view([4], [1]).tile([0], [4])));
}

#[tile_kernel(grid = [1])]
unsafe fn strides(p: *const f32, y: &mut [f32]) {
    store(y, 0, sum(view(p, [4, 4], [4]).tile([0, 0], [4, 4])));
}

#[tile_kernel(grid = [1])]
unsafe fn extents(p: *const f32, y: &mut [f32]) {
    store(y, 0, sum(view(p, 4, 1).tile([0], [4])));
}

#[tile_kernel(grid = [1])]
unsafe fn view_that_is_read(p: *const f32) {
    view(p, [4], [1]).store([0], zeros::<f32>([4]));
}

#[tile_kernel(grid = [1])]
unsafe fn tiles_as_extents(p: *const f32, y: &mut [f32]) {
    store(y, 0, sum(view(p, [arange(4)], [1]).tile([0], [4])));
}

fn main() {}
