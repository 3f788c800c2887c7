mod bench;
mod programs;
mod tiles;
