mod bench;
mod dots;
mod programs;
mod tiles;
