//! Losses: a mean over elements or over rows.

use crate::check::{length, shape};
use crate::kernels::{losses as k, sums};
use crate::queue::{Queue, Workspace};
use tilewright::{AsSlice, AsSliceMut, Result};

/// `loss[0] = mean of (predictions[i] - targets[i])^2`; of nothing, NaN.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) unless both arrays have the same length and `loss` has one element.
///
/// # Examples
/// ```
/// let mut loss = [0.0f32];
/// tilewright_challenges::mean_squared_error(&tilewright::Runtime::cpu(), &[1.0, 2.0], &[1.0, 4.0], &mut loss)?;
/// assert_eq!(loss, [2.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn mean_squared_error<'a>(
    on: &impl Queue,
    predictions: impl AsSlice<'a, f32>,
    targets: impl AsSlice<'a, f32>,
    loss: impl AsSliceMut<'a, f32>,
) -> Result<()> {
    let (p, t, loss) = (predictions.as_slice_arg(), targets.as_slice_arg(), loss.as_slice_mut_arg());
    length("mean_squared_error", "targets", t.len(), &[p.len()])?;
    length("mean_squared_error", "loss", loss.len(), &[1])?;
    let mut w = Workspace::new(on)?;
    let n = p.len() as f32;
    on.launch(sums::sum_of_squared_differences(p, t, 1.0, n, &mut w.words, &mut w.counter, loss))
}

/// `loss[0] = mean over rows of log(sum of exp(logits)) - logits[label]`; of no rows, NaN. A label that is no column
/// makes the loss NaN.
///
/// Shapes: `logits` is `[rows, columns]`, with a label for each row.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) unless `logits` has as many rows as there are labels and `loss` has one
/// element.
///
/// # Examples
/// ```
/// let mut loss = [0.0f32];
/// let logits = [0.0, 0.0, 1000.0, -1000.0];
/// tilewright_challenges::softmax_cross_entropy(&tilewright::Runtime::cpu(), &logits, &[1, 0], &mut loss)?;
/// assert!((loss[0] - 2f32.ln() / 2.0).abs() < 1e-6);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn softmax_cross_entropy<'a>(
    on: &impl Queue,
    logits: impl AsSlice<'a, f32>,
    labels: impl AsSlice<'a, i32>,
    loss: impl AsSliceMut<'a, f32>,
) -> Result<()> {
    let (logits, labels, loss) = (logits.as_slice_arg(), labels.as_slice_arg(), loss.as_slice_mut_arg());
    let op = "softmax_cross_entropy";
    length(op, "loss", loss.len(), &[1])?;
    let columns = logits.len().checked_div(labels.len()).unwrap_or(0);
    shape(op, logits.len() == columns * labels.len(), || {
        format!("logits have {} elements, which are no whole rows for {} labels", logits.len(), labels.len())
    })?;
    let mut w = Workspace::new(on)?;
    on.launch(k::cross_entropy(logits, labels, columns, &mut w.words, &mut w.counter, loss))
}

/// `loss[0] = -mean of min(ratio * advantage, clamp(ratio, 1 - clip, 1 + clip) * advantage)`, where `ratio` is
/// `exp(log_pi - log_pi_old)`; of nothing, NaN.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) unless the three arrays have the same length and `loss` has one element.
///
/// # Examples
/// ```
/// let mut loss = [0.0f32];
/// tilewright_challenges::ppo_clipped_surrogate_loss(
///     &tilewright::Runtime::cpu(), &[2.0, -1.0], &[1.0, 0.0], &[0.0, 0.0], &mut loss, 0.5)?;
/// assert_eq!(loss, [-(1.5 * 2.0 - 1.0) / 2.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn ppo_clipped_surrogate_loss<'a>(
    on: &impl Queue,
    advantages: impl AsSlice<'a, f32>,
    log_pi: impl AsSlice<'a, f32>,
    log_pi_old: impl AsSlice<'a, f32>,
    loss: impl AsSliceMut<'a, f32>,
    clip: f32,
) -> Result<()> {
    let (a, new, old) = (advantages.as_slice_arg(), log_pi.as_slice_arg(), log_pi_old.as_slice_arg());
    let loss = loss.as_slice_mut_arg();
    let op = "ppo_clipped_surrogate_loss";
    length(op, "log_pi", new.len(), &[a.len()])?;
    length(op, "log_pi_old", old.len(), &[a.len()])?;
    length(op, "loss", loss.len(), &[1])?;
    let mut w = Workspace::new(on)?;
    on.launch(k::ppo(a, new, old, clip, &mut w.words, &mut w.counter, loss))
}

/// `loss[0] = -mean of log(sigmoid(beta * ((chosen - rejected) - (chosen_ref - rejected_ref))))`, without overflow; of
/// nothing, NaN.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) unless the four arrays have the same length and `loss` has one element.
///
/// # Examples
/// ```
/// let mut loss = [0.0f32];
/// tilewright_challenges::dpo_sequence_loss(
///     &tilewright::Runtime::cpu(), &[-1000.0], &[0.0], &[0.0], &[0.0], &mut loss, 0.5)?;
/// assert_eq!(loss, [500.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn dpo_sequence_loss<'a>(
    on: &impl Queue,
    chosen: impl AsSlice<'a, f32>,
    rejected: impl AsSlice<'a, f32>,
    chosen_ref: impl AsSlice<'a, f32>,
    rejected_ref: impl AsSlice<'a, f32>,
    loss: impl AsSliceMut<'a, f32>,
    beta: f32,
) -> Result<()> {
    let (chosen, rejected, loss) = (chosen.as_slice_arg(), rejected.as_slice_arg(), loss.as_slice_mut_arg());
    let (chosen_ref, rejected_ref) = (chosen_ref.as_slice_arg(), rejected_ref.as_slice_arg());
    let op = "dpo_sequence_loss";
    length(op, "rejected", rejected.len(), &[chosen.len()])?;
    length(op, "chosen_ref", chosen_ref.len(), &[chosen.len()])?;
    length(op, "rejected_ref", rejected_ref.len(), &[chosen.len()])?;
    length(op, "loss", loss.len(), &[1])?;
    let mut w = Workspace::new(on)?;
    on.launch(k::dpo(chosen, rejected, chosen_ref, rejected_ref, beta, &mut w.words, &mut w.counter, loss))
}

/// `loss[0] = -mean of the clipped surrogate less beta * (exp(d) - d - 1)`, where `d` is `log_ref - log_pi`. The
/// surrogate is that of [`ppo_clipped_surrogate_loss`]. The advantage of a response is its reward less the mean of its
/// group, over the standard deviation of the group (that of the population) and 1e-8. Of nothing the loss is NaN.
///
/// Shapes: `rewards` is `[groups, members]`; the others are `[groups, members, tokens]`.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) where lengths differ from these, or `loss` has not one element.
///
/// # Examples
/// Two responses of one token, with advantages of -1 and 1, that are as probable as before:
/// ```
/// let (same, mut loss) = ([0.0f32, 0.0], [9.0f32]);
/// tilewright_challenges::grpo_surrogate_loss(
///     &tilewright::Runtime::cpu(), &[0.0, 2.0], &same, &same, &same, &mut loss, [1, 2, 1], 0.2, 0.01)?;
/// assert_eq!(loss, [0.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn grpo_surrogate_loss<'a>(
    on: &impl Queue,
    rewards: impl AsSlice<'a, f32>,
    log_pi: impl AsSlice<'a, f32>,
    log_pi_old: impl AsSlice<'a, f32>,
    log_ref: impl AsSlice<'a, f32>,
    loss: impl AsSliceMut<'a, f32>,
    [groups, members, tokens]: [usize; 3],
    clip: f32,
    beta: f32,
) -> Result<()> {
    let (rewards, new, old) = (rewards.as_slice_arg(), log_pi.as_slice_arg(), log_pi_old.as_slice_arg());
    let (reference, loss) = (log_ref.as_slice_arg(), loss.as_slice_mut_arg());
    let op = "grpo_surrogate_loss";
    length(op, "rewards", rewards.len(), &[groups, members])?;
    for (name, n) in [("log_pi", new.len()), ("log_pi_old", old.len()), ("log_ref", reference.len())] {
        length(op, name, n, &[groups, members, tokens])?;
    }
    length(op, "loss", loss.len(), &[1])?;
    let mut advantages = on.stream().scratch::<f32>(groups * members)?;
    on.launch(k::standardized(rewards, &mut advantages, groups, members, 1e-8))?;
    let mut w = Workspace::new(on)?;
    on.launch(k::grpo(&advantages, new, old, reference, tokens, clip, beta, &mut w.words, &mut w.counter, loss))
}
