use tilewright::tile_module;

#[tile_module(tiles)]
mod kernels {}

fn main() {}
