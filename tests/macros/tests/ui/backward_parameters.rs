use tilewright::tile_kernel;

#[tile_kernel(backward(z), grid = [1])]
fn unknown(x: &[f32], y: &mut [f32]) {
    store(y, 0, load(x, 0));
}

#[tile_kernel(backward(n), grid = [1])]
fn of_integers(x: &[f32], n: &[i32], y: &mut [f32]) {
    store(y, 0, load(x, load(n, 0)));
}

#[tile_kernel(backward, grid = [1])]
fn nothing_read(n: &[i32], y: &mut [f32]) {
    store(y, 0, load(n, 0) as f32);
}

#[tile_kernel(backward, grid = [1])]
fn narrow(x: &[f32], y: &mut [f8e4m3]) {
    store(y, 0, load(x, 0).to::<f8e4m3>());
}

#[tile_kernel(backward, grid = [1])]
fn name_is_taken(x: &[f32], x_grad: f32, y: &mut [f32]) {
    store(y, 0, load(x, 0) * x_grad);
}

#[tile_kernel(backward, types(T = [f32, i32]), grid = [1])]
fn floats_and_integers<T: Num>(x: &[T], y: &mut [T]) {
    store(y, 0, load(x, 0));
}

#[tile_kernel(backward, tune(ctas = [2], arch = [90]), grid = [1])]
fn of_a_cluster(x: &[f32], y: &mut [f32]) {
    store(y, arange(64), load(x, arange(64)));
}

fn main() {}
