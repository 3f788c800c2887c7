//! Each element beside all others.

use crate::check::{counts_in_i32, length, shape};
use crate::kernels::pairs as k;
use crate::queue::Queue;
use tilewright::{AsSlice, AsSliceMut, Result};

/// The index of the nearest other point of each. Of several that are as near, it is the first. Of one point alone it is
/// 0. Distances are sums of squares of f32. A distance of NaN is less than all numbers.
///
/// Shapes: `points` is `[n, 3]`, `nearest` is `[n]`.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) where lengths differ from these, or there are more than 2^31 - 1 points.
///
/// # Examples
/// ```
/// let mut nearest = [9; 3];
/// let points = [0.0f32, 0.0, 0.0, 5.0, 0.0, 0.0, 0.0, 1.0, 0.0];
/// tilewright_challenges::nearest_neighbor(&tilewright::Runtime::cpu(), &points, &mut nearest)?;
/// assert_eq!(nearest, [2, 0, 0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn nearest_neighbor<'a>(
    on: &impl Queue,
    points: impl AsSlice<'a, f32>,
    nearest: impl AsSliceMut<'a, i32>,
) -> Result<()> {
    let (points, nearest) = (points.as_slice_arg(), nearest.as_slice_mut_arg());
    length("nearest_neighbor", "points", points.len(), &[nearest.len(), 3])?;
    counts_in_i32("nearest_neighbor", "the number of points", nearest.len())?;
    on.launch(k::nearest_point(points, nearest))
}

/// A step of a flock: the velocity of an agent comes nearer, by a twentieth, to the mean velocity of the other agents
/// that are nearer than 5, and the agent moves by its new velocity. Without such agents the velocity stays.
///
/// Shapes: `agents` and `next` are `[n, 4]`: place and velocity, `x, y, vx, vy`.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) unless both have the same length, a multiple of 4.
///
/// # Examples
/// ```
/// let mut next = [0.0f32; 8];
/// let agents = [0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 20.0, 0.0];
/// tilewright_challenges::multi_agent_sim(&tilewright::Runtime::cpu(), &agents, &mut next)?;
/// assert_eq!(next, [1.0, 0.0, 1.0, 0.0, 22.0, 0.0, 19.0, 0.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn multi_agent_sim<'a>(
    on: &impl Queue,
    agents: impl AsSlice<'a, f32>,
    next: impl AsSliceMut<'a, f32>,
) -> Result<()> {
    let (agents, next) = (agents.as_slice_arg(), next.as_slice_mut_arg());
    length("multi_agent_sim", "next", next.len(), &[agents.len()])?;
    shape("multi_agent_sim", agents.len().is_multiple_of(4), || {
        format!("agents have {} elements, which are no whole x, y, vx, vy", agents.len())
    })?;
    on.launch(k::flock(agents, next, 5.0, 0.05))
}
