//! Each element beside all others: n² pairs, of which a program has some rows.

use tilewright::tile_module;

pub use all::*;

#[tile_module]
pub mod all {
    /// Rounded before it is added to anything, as in a sum without fused multiply-adds.
    fn square(x: Tile<f32>) -> Tile<f32> {
        fma(x, x, 0.0)
    }

    /// The nearest other point. Of several, it is the first. Distances of NaN come before all, as in a minimum of
    /// torch.
    #[tile_kernel(
        tune(ROWS = [16, 8], LANES = [128], warps = [4]),
        grid = [cdiv(nearest.len(), ROWS)],
    )]
    pub fn nearest_point<const ROWS: usize, const LANES: usize>(points: &[f32], nearest: &mut [i32]) {
        let n = nearest.len();
        let i = program_id(0) * ROWS + arange(ROWS);
        let row = i.expand(1);
        let (x, y, z) = (load(points, 3 * row), load(points, 3 * row + 1), load(points, 3 * row + 2));
        let mut least = full([ROWS, LANES], f32::INFINITY);
        // If all are infinitely far, the first other point.
        let first_other = where_(row == 0, min(1, n - 1), 0).to::<i32>();
        let mut best = zeros::<i32>([ROWS, LANES]) + first_other;
        for start in (0..n).step_by(LANES) {
            let j = (start + arange(LANES)).expand(0);
            let (dx, dy, dz) = (load(points, 3 * j) - x, load(points, 3 * j + 1) - y, load(points, 3 * j + 2) - z);
            let distance = square(dx) + square(dy) + square(dz);
            let distance = where_(isnan(distance), -1.0, distance);
            let is_nearer = (distance < least) & (j < n) & (j != row);
            least = where_(is_nearer, distance, least);
            best = where_(is_nearer, j.to::<i32>(), best);
        }
        let first = min(least, 1).expand(1);
        store(nearest, i, min(where_(least == first, best, i32::MAX), 1));
    }

    /// A step of agents `x, y, vx, vy`: each turns to the mean velocity of the agents nearer than `radius`.
    #[tile_kernel(
        tune(ROWS = [16, 8], LANES = [128], warps = [4]),
        grid = [cdiv(next.len() / 4, ROWS)],
    )]
    pub fn flock<const ROWS: usize, const LANES: usize>(agents: &[f32], next: &mut [f32], radius: f32, share: f32) {
        let n = next.len() / 4;
        let row = (program_id(0) * ROWS + arange(ROWS)).expand(1);
        let (x, y) = (load(agents, 4 * row), load(agents, 4 * row + 1));
        let mut count = zeros::<f32>([ROWS, LANES]);
        let (mut sum_x, mut sum_y) = (zeros::<f32>([ROWS, LANES]), zeros::<f32>([ROWS, LANES]));
        for start in (0..n).step_by(LANES) {
            let j = (start + arange(LANES)).expand(0);
            let (dx, dy) = (load(agents, 4 * j) - x, load(agents, 4 * j + 1) - y);
            let is_near = (square(dx) + square(dy) < radius * radius) & (j < n) & (j != row);
            count += where_(is_near, 1.0, 0.0);
            sum_x += where_(is_near, load(agents, 4 * j + 2), 0.0);
            sum_y += where_(is_near, load(agents, 4 * j + 3), 0.0);
        }
        let near = sum(count, 1).expand(1);
        let (vx, vy) = (load(agents, 4 * row + 2), load(agents, 4 * row + 3));
        let (mean_x, mean_y) = (sum(sum_x, 1).expand(1) / near, sum(sum_y, 1).expand(1) / near);
        // An infinite velocity stays, too: it is not added to a difference of infinities.
        let vx = where_(near > 0.0, vx + share * (mean_x - vx), vx);
        let vy = where_(near > 0.0, vy + share * (mean_y - vy), vy);
        store(next, 4 * row, x + vx);
        store(next, 4 * row + 1, y + vy);
        store(next, 4 * row + 2, vx);
        store(next, 4 * row + 3, vy);
    }
}
