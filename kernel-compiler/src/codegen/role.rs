//! The part of a program that is generated.

use crate::plan::warp_specialized::Pipeline;

/// The part of a warp-specialized program that is being lowered.
#[derive(Clone, Copy)]
pub(super) enum Role<'a> {
    /// All of a program that is not warp-specialized.
    Whole,
    Producer(&'a Pipeline),
    Consumer(&'a Pipeline),
}

impl<'a> Role<'a> {
    /// The plan of a consumer.
    pub fn consumer(self) -> Option<&'a Pipeline> {
        match self {
            Role::Consumer(p) => Some(p),
            Role::Whole | Role::Producer(_) => None,
        }
    }

    pub fn pipeline(self) -> Option<&'a Pipeline> {
        match self {
            Role::Whole => None,
            Role::Producer(p) | Role::Consumer(p) => Some(p),
        }
    }
}
