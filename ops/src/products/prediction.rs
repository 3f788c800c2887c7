//! Plans of products and their predicted times, for users.

use super::plan::MatmulPlan;
use crate::Executor;
use crate::planner::Candidate;
use crate::planner::state::State;
use std::time::Duration;

/// A plan of a product and its predicted time. [`Matmul::plans`](super::Matmul::plans) has an example.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// The plan. Its text names it.
    pub plan: MatmulPlan,
    /// The predicted time of all its launches.
    pub time: Duration,
    /// That of each kind of launch: `copies`, `decomposition`, `kernel`, `transposition`.
    pub parts: Vec<(&'static str, Duration)>,
}

/// The predictions of all candidates, the shortest time first.
pub(super) fn predictions(on: &impl Executor, mut all: Vec<Candidate<MatmulPlan>>) -> Vec<Prediction> {
    all.sort_by(Candidate::by_time);
    let time = |micros: f32| Duration::from_nanos((f64::from(micros) * 1e3) as u64);
    let (model, num_sms) = (State::model_of(on.runtime()), on.num_sms());
    let prediction = |c: Candidate<MatmulPlan>| Prediction {
        plan: c.plan,
        time: time(c.micros),
        parts: c.cost.parts(&model, num_sms).into_iter().map(|(part, micros)| (part, time(micros))).collect(),
    };
    all.into_iter().map(prediction).collect()
}
